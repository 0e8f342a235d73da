"""`warploom analyze`."""

from collections.abc import Sequence
from pathlib import Path

from warploom.cli.options import parse_defines
from warploom.cli.output import out, print_json
from warploom.core.records import to_json
from warploom.evaluate.survey import analyze_program
from warploom.source import AnalysisReport


def run_analyze(
    file: Path, defines: Sequence[str], includes: Sequence[Path], *, as_json: bool, for_llm: bool
) -> int:
    """Analyze one file and print what was found; returns the exit code."""
    report = analyze_program(file, parse_defines(defines), includes)
    if as_json:
        print_json(to_json(report))
    elif for_llm:
        out(report.format_for_llm())
    else:
        _print(report)
    return 0


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
        "allocations", [(a.line, f"{a.name}: {a.call}({a.bytes})") for a in report.allocations]
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
    _section("synchronisation", [(s.line, f"{s.call} ({s.kind})") for s in report.syncs])
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
