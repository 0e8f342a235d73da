"""`warploom evolve` and `warploom optimize`: the search, its live view, and what it found."""

import signal
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from warploom.cli.evolve_view import watching
from warploom.cli.output import out, paint, print_json, say, short_path, warn_without_sandbox
from warploom.core.errors import BadInputError, WarploomError
from warploom.evolve import EvolutionConfig, EvolutionResult, EvolutionRunner
from warploom.evolve.compose import compose
from warploom.evolve.folder import RunFolder
from warploom.evolve.judge import JUDGE
from warploom.workload.workload import load_target

_CHANGEABLE = ("evolution.", "evolution=", "jobs.", "jobs=")
"""What a resumed run may have otherwise: its budget, and where it is judged."""

_PARTS = ("compute", "exposed", "waiting", "host")
_WORDS = ("compute", "exposed communication", "waiting for other ranks", "device idle")


def run_evolve(
    target: Path,
    overrides: Sequence[str],
    *,
    command: str,
    seed: int | None,
    folder: Path | None,
    resume: bool,
    config_file: Path | None,
    as_json: bool,
) -> int:
    """Search, print what was found; returns 0 where the best program beats the host-driven one.

    Raises:
        BadInputError: an override, the workload or the folder is wrong.
        KeyboardInterrupt: Ctrl-C, or SIGTERM; how to resume was said.
    """
    given = load_target(target, own_judge=True)
    place = folder or Path(f"{given.name}-evolved")
    config = _config(RunFolder(place), overrides, config_file, seed, resume=resume)
    again = f"warploom {command} {short_path(target)} --out {short_path(place)} --resume"
    warn_without_sandbox()
    if not as_json:
        seeds = f"first the seeds: {' and '.join(config.apis)}, by transform"
        first = f"from {given.program.name}" if given.judge else seeds
        say(f"{config.evolution.evaluations} evaluations at most in {short_path(place)}; {first}")
        if config.models.names:
            say(f"models: {', '.join(config.models.asked)}, {_caps(config)} at most")
    try:
        with _ended_in_order(), watching(not as_json) as (on_progress, on_status):
            runner = EvolutionRunner(config, on_progress=on_progress, on_status=on_status)
            result = runner.run(target, place, seed=seed, resume=resume)
    except (KeyboardInterrupt, WarploomError) as error:
        if RunFolder(place).exists and not isinstance(error, BadInputError):
            say(f"what was judged is kept, go on with: {again}")
        raise
    if as_json:
        print_json(result.to_json())
    else:
        print_result(result)
    return 0 if result.improved else 1


@contextmanager
def _ended_in_order() -> Generator[None]:
    """Take SIGTERM, and SIGHUP unless it is ignored, for Ctrl-C: a cluster's jobs are cancelled.

    They come from a closed terminal, a service manager, and a cluster that ends our own job.
    """
    taken = (signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in taken}
    for number, how in before.items():
        if how is signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number, how in before.items():
            signal.signal(number, how)


def _caps(config: EvolutionConfig) -> str:
    """Return the caps on what models may use."""
    caps = (
        (config.evolution.max_dollars, "${:g}"), (config.models.max_tokens, "{} tokens"),
        (config.models.max_requests, "{} calls"),
    )  # fmt: skip
    return ", ".join(text.format(value) for value, text in caps if value is not None)


def _config(
    folder: RunFolder,
    overrides: Sequence[str],
    config_file: Path | None,
    seed: int | None,
    *,
    resume: bool,
) -> EvolutionConfig:
    """Return the configuration; a resumed run keeps its own, but for its budget."""
    if not resume:
        return compose(overrides, file=config_file)
    if seed is not None or config_file is not None:
        raise BadInputError("a resumed run has its seed and its configuration already")
    odd = [item for item in overrides if not item.startswith(_CHANGEABLE)]
    if odd:
        raise BadInputError(
            f"a resumed run takes only keys of evolution and jobs, got {odd[0]!r}",
            hint="start a new run for another search",
        )
    folder.facts()  # says so where there is no run
    return compose(overrides, base=folder.config())


def print_result(result: EvolutionResult) -> None:
    """Print what a run came to, on one screen."""
    best = result.best
    if result.time_source == JUDGE:
        _print_scores(result)
        return
    kind = f"{result.time_source} on {result.topology}" if result.topology else result.time_source
    out(f"times: milliseconds of {result.scored}, {kind}")
    if result.baseline_ms is not None:
        out(f"  host-driven            {result.baseline_ms:9.4f}")
    for name, time in result.seed_ms.items():
        shown = "   failed" if time is None else f"{time:9.4f}"
        out(f"  seed {name:<17} {shown}{_times(result.baseline_ms, time)}")
    for name, why in result.left_out.items():
        out(f"  no seed {name}: {why}")
    time = best.outcome.time_ms
    out(f"  best, number {best.number:<9} {time or 0:9.4f}{_times(result.baseline_ms, time)}")
    for lever, (before, after) in best.changed.items():
        out(f"    {lever}: {before or '-'} -> {after or '-'}")
    metrics = best.outcome.public
    if all(f"{part}_ms" in metrics for part in _PARTS):
        told = [
            f"{word} {metrics[f'{part}_ms']:.4f}" for part, word in zip(_PARTS, _WORDS, strict=True)
        ]
        out(f"  its slowest rank (ms): {', '.join(told)}")
    _print_search(result)
    good = (result.speedup or 0.0) > 1.0
    word = paint("faster", "ok") if good else paint("not faster", "warning")
    out(f"{word} than the host-driven program: {result.speedup or 0.0:.2f} times as fast, {kind}")
    _print_files(result)


def _print_scores(result: EvolutionResult) -> None:
    """Print what a run came to where the workload's own judge gives scores."""
    best = result.best
    out("scores: those of the workload's own judge, higher is better")
    for name, score in result.seed_scores.items():
        out(f"  {name:<22} {'failed' if score is None else f'{score:.6g}'}")
    out(f"  best, number {best.number:<9} {best.outcome.score:.6g}")
    for name, value in best.outcome.public.items():
        out(f"    {name}: {value:.6g}")
    _print_search(result)
    word = paint("better", "ok") if result.improved else paint("not better", "warning")
    out(f"{word} than the program that it began with")
    _print_files(result)


def _print_search(result: EvolutionResult) -> None:
    failures = ", ".join(f"{kind} {count}" for kind, count in sorted(result.failures.items()))
    out(
        f"{result.evaluations} evaluations, {result.correct} correct"
        f"{f' (failures: {failures})' if failures else ''}, {result.confirmations} second "
        f"judgments, {result.rejected} turned away as known, {result.seconds:.0f} s, "
        f"${result.cost:.2f}"
    )
    for name, use in result.models.items():
        out(f"  {name}: {use.attempts} attempts, {use.correct} correct, ${use.cost:.4f}")
    out(f"ended: {result.stopped}")


def _print_files(result: EvolutionResult) -> None:
    best = result.best
    for name, path in (
        ("program", best.program), ("diff", best.diff), ("report", result.folder / "README.md"),
    ):  # fmt: skip
        out(f"  {name:<8} {short_path(path)}")
    sys.stdout.flush()


def _times(base: float | None, time: float | None) -> str:
    return f"  {base / time:5.2f} times as fast" if base and time else ""
