"""`warploom analyze`."""

from collections.abc import Sequence
from pathlib import Path

from warploom.cli.output import out, print_json
from warploom.cli.run_options import RunChoices, parse_defines
from warploom.core.records import to_json
from warploom.evaluation.survey import analyze_program, analyzed, nccl_version
from warploom.propose.design_space import DesignSpace, design_space
from warploom.source import AnalysisReport
from warploom.workload.workload import load_target


def run_analyze(
    target: Path, defines: Sequence[str], includes: Sequence[Path], *, as_json: bool, for_llm: bool
) -> int:
    """Analyze a file or a workload's program and print what was found; returns the exit code."""
    macros = parse_defines(defines)
    if target.is_dir() or target.suffix == ".toml":
        workload = load_target(target).with_overrides(defines=macros, include_dirs=includes)
        target, macros, includes = workload.program, workload.defines, workload.include_dirs
    report = analyze_program(target, macros, includes)
    if as_json:
        print_json(to_json(report))
    elif for_llm:
        out(report.format_for_llm())
    else:
        _print(report)
    return 0


def run_design_space(target: Path, choices: RunChoices, *, as_json: bool) -> int:
    """Print what is open to choose for each host collective; returns the exit code."""
    workload = choices.apply(target)
    space = design_space(
        analyzed(workload)[1],
        ranks=workload.shape.ranks,
        lsa_size=workload.shape.lsa_size,
        nccl=nccl_version(workload),
        apis=workload.api,
    )
    if as_json:
        print_json(space.to_json())
    else:
        _print_space(space)
    return 0


def _print_space(space: DesignSpace) -> None:
    out(f"{space.ranks} ranks, {space.lsa_size} of them share memory, NCCL {space.nccl} rules")
    if not space.collectives:
        out("no host collective: there is nothing to choose")
    for call in space.collectives:
        out(f"\n{call.file}:{call.line}: {call.name}")
        for dimension, choices in call.choices.items():
            for choice in choices:
                mark = "  " if choice.allowed else "x "
                out(f"  {dimension:<11} {mark}{choice.value:<14} {choice.reason}")


def _print(report: AnalysisReport) -> None:
    out(f"{report.file}: set-up {report.setup.style} ({report.setup.reason})")
    _section(
        "collectives",
        [
            (
                c.line,
                f"{c.name} {c.send or '-'} -> {c.recv or '-'}, {c.count} x {c.dtype}"
                + (f", from {', '.join(c.producers)}" if c.producers else "")
                + (f", to {', '.join(c.consumers)}" if c.consumers else ""),
            )
            for c in report.collectives
        ],
    )
    _section(
        "device communication",
        [
            (f.line, f"{f.name}: {', '.join(f.device_api)}")
            for f in report.functions
            if f.device_api
        ],
    )
    _section(
        "allocations",
        [
            (line, text)
            for a in report.allocations
            for line, text in (
                (a.line, f"{a.name}: {a.call}({a.bytes})"),
                *((call.line, f"  {call.name}, by {call.text}") for call in a.calls),
            )
        ],
    )
    _section(
        "launches",
        [
            (k.line, f"{k.kernel}<<<{k.grid}, {k.block}, {k.shared}, {k.stream}>>>")
            for k in report.launches
        ],
    )
    _section(
        "read-backs", [(r.line, f"{r.device} -> {r.host} ({r.bytes})") for r in report.readbacks]
    )
    _section("synchronization", [(s.line, f"{s.call} ({s.kind})") for s in report.syncs])
    _section("warnings", [(w.line, f"{w.message} [{w.kind}]") for w in report.warnings])
    for skipped in report.skipped:
        ranges = ", ".join(str(item) for item in skipped.lines)
        if ranges:
            out(f"not read: {skipped.file}, lines {ranges}")


def _section(title: str, rows: Sequence[tuple[int, str]]) -> None:
    if rows:
        out(f"\n{title}")
        for line, text in rows:
            out(f"  {line:>5}  {text}")
