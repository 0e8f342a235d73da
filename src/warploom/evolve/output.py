"""Writes what people look at: the best program, its diff, and the report. Whole files or nothing.

best/NAME        the best program so far
best/STEM.diff   against the seed that it descends from
report.json      what `--json` prints
README.md        what is faster, why, and how to run it
"""

import contextlib
import shlex
from collections.abc import Mapping
from pathlib import Path

from warploom.core.jsontext import write_json
from warploom.evolve.islands import Housekeeping
from warploom.evolve.result import Best, EvolutionResult
from warploom.evolve.search import Search
from warploom.source import unified_diff
from warploom.workload.workload import Workload

_PARTS = {
    "compute_ms": "compute",
    "exposed_ms": "exposed communication",
    "waiting_ms": "waiting for other ranks",
    "host_ms": "device idle",
}


def write_best(folder: Path, search: Search, house: Housekeeping, name: str) -> Best:
    """Write the champion's text and its diff into `folder`/best; return what is known of it."""
    found = house.champion
    assert found is not None, "there is a champion once a seed is judged"
    number, outcome = found
    seed = search.seed_of(number)
    before, after = search.database.get(seed), search.database.get(number)
    place = folder / "best"
    place.mkdir(exist_ok=True)
    program, diff = place / name, place / f"{Path(name).stem}.diff"
    _write(program, after.code)
    _write(diff, unified_diff(before.code, after.code, name=name))
    ours, theirs = after.lineage.directives, before.lineage.directives
    changed = {
        lever: (theirs.get(lever, ""), ours.get(lever, ""))
        for lever in sorted({*ours, *theirs})
        if ours.get(lever) != theirs.get(lever)
    }
    seed_name = before.lineage.changes[0] if before.lineage.changes else str(seed)
    return Best(
        number, search.api_of(number), seed, seed_name, outcome, dict(ours), changed, program, diff
    )


def write_report(result: EvolutionResult, task: Workload, target: str) -> None:
    """Write report.json and README.md into the run's folder."""
    write_json(result.folder / "report.json", result.to_json())
    _write(result.folder / "README.md", "\n".join(_readme(result, task, target)) + "\n")


def _readme(result: EvolutionResult, task: Workload, target: str) -> list[str]:
    if task.judge:
        return _score_readme(result, task)
    best, kind = result.best, result.time_source
    time = best.outcome.time_ms or 0.0
    machine = f" on {result.topology}" if result.topology else ""
    lines = [
        f"# {task.name}: what the search found",
        "",
        f"Times are {kind}{machine}, of {result.scored}, in milliseconds. Those of the best "
        "program and the host-driven one are from a judgment with inputs that the search did "
        "not have.",
        "",
        "| program | ms | times as fast as host-driven |",
        "|---|---|---|",
    ]
    base = result.baseline_ms
    rows: list[tuple[str, float | None]] = [(f"host-driven `{task.program.name}`", base)]
    rows += [(f"seed `{name}`, by transform", ms) for name, ms in result.seed_ms.items()]
    rows.append((f"best, number {best.number}", time))
    for what, ms in rows:
        speed = f"{base / ms:.2f}" if base and ms else "-"
        lines.append(f"| {what} | {'failed' if ms is None else f'{ms:.4f}'} | {speed} |")
    if base and time and time >= base:
        lines += [
            "",
            "**Nothing that was tried is faster than the host-driven program.**",
        ]
    lines += ["", "## Why", "", *_why(result), "", "## The search", "", *_how(result), ""]
    return [*lines, "## How to run it", "", *_commands(result, task, target)]


def _score_readme(result: EvolutionResult, task: Workload) -> list[str]:
    """Return the report where the workload's own judge gives scores."""
    best = result.best
    rows = [(f"`{name}`", score) for name, score in result.seed_scores.items()]
    rows.append((f"best, number {best.number}", best.outcome.score))
    lines = [
        f"# {task.name}: what the search found",
        "",
        "Scores are those of the workload's own judge; higher is better. That of the best program "
        "is from a second judgment.",
        "",
        "| program | score |",
        "|---|---|",
        *(f"| {what} | {'failed' if score is None else f'{score:.6g}'} |" for what, score in rows),
        "",
    ]
    metrics = ", ".join(f"{name} {value:.6g}" for name, value in best.outcome.public.items())
    lines += [*([f"Its metrics: {metrics}.", ""] if metrics else [])]
    lines += [f"The whole change is in `best/{best.diff.name}`.", "", "## The search", ""]
    command = shlex.join((*task.judge, "--program_path", str(best.program), "--results_dir", "DIR"))
    lines += [*_how(result), "", "## How to judge it again", "", f"In `{task.root}`:", ""]
    return [*lines, "```console", command, "```"]


def _why(result: EvolutionResult) -> list[str]:
    best = result.best
    if not best.changed:
        lines = ["No change to the seed made it faster."]
    else:
        lines = [f"Against the seed `{best.seed_name}` these directives changed:", ""]
        lines += ["| lever | before | after |", "|---|---|---|"]
        lines += [
            f"| {lever} | {before or '-'} | {after or '-'} |"
            for lever, (before, after) in best.changed.items()
        ]
    parts = _breakdown(best.outcome.public)
    if parts:
        lines += ["", f"The slowest rank's time now: {', '.join(parts)}."]
    return [*lines, "", f"The whole change is in `best/{best.diff.name}`."]


def _breakdown(metrics: Mapping[str, float]) -> list[str]:
    return [f"{word} {metrics[name]:.4f} ms" for name, word in _PARTS.items() if name in metrics]


def _how(result: EvolutionResult) -> list[str]:
    failures = ", ".join(f"{kind} {count}" for kind, count in sorted(result.failures.items()))
    models = [
        f"- `{name}`: {use.attempts} attempts, {use.judged} judged, {use.correct} correct, "
        f"${use.cost:.4f}"
        for name, use in result.models.items()
    ]
    return [
        f"{result.evaluations} evaluations, {result.correct} correct, failures: "
        f"{failures or 'none'}; {result.confirmations} second judgments; {result.islands} "
        f"islands; {result.rejected} proposals turned away as known; {result.seconds:.0f} s; "
        f"${result.cost:.2f}. It ended because {result.stopped}.",
        "",
        *models,
        *([""] if models else []),
        "`warploom inspect` on this folder shows more; `programs.db` holds every program.",
    ]


def _commands(result: EvolutionResult, task: Workload, target: str) -> list[str]:
    name = f"best/{result.best.program.name}"
    measured = result.time_source == "measured"
    task = task.at_practical_sizes() if measured else task
    lines = [
        "Judge it again, with fresh secret inputs:",
        "",
        "```console",
        f"warploom eval {name} {target}" + (" --backend cuda" if measured else "") + (
            f" --topology {result.topology}" if result.topology else ""
        ),
        "```",
        "",
        "Build it where CUDA, NCCL 2.28 or newer (with its device API) and MPI are, with the GPUs' "
        "own architecture, and start one process per rank:",
        "",
        "```console",
    ]  # fmt: skip
    macros = "".join(f" -D{n}={v}" if v else f" -D{n}" for n, v in task.defines.items())
    includes = "".join(f" -I{path}" for path in (*task.include_dirs, task.program.parent))
    more = "".join(f" {path}" for path in task.sources)
    arguments = " ".join(task.args_for(1))
    lines += [
        f"nvcc -std=c++17 -O3 -arch=native{macros}{includes} {name}{more} -o program -lnccl -lmpi",
        f"mpirun -n {task.shape.ranks} ./program {arguments}".rstrip(),
        "```",
    ]
    if measured:
        return lines
    return [*lines, "", "Whether a modelled gain is a real one, only the GPUs can say."]


def _write(path: Path, text: str) -> None:
    fresh = path.with_name(f".{path.name}.new")
    try:
        fresh.write_bytes(text.encode("utf-8", "surrogateescape"))
        fresh.replace(path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            fresh.unlink()
