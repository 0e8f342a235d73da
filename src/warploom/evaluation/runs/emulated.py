"""Emulated runs: several of them in order, and the verdict over all."""

from collections.abc import Callable, Iterable, Sequence

from warploom.backends.emulated import findings_of
from warploom.core.records import Verdict
from warploom.emulator import EmulatorBuild, EmulatorRun, RunOptions, run, run_many
from warploom.evaluation.merged_findings import merge
from warploom.evaluation.runs.plan import ProgressCallback, counter, worker_count


def ended(outcome: EmulatorRun) -> bool:
    """Whether the emulator itself came to its end, whatever it concluded."""
    return outcome.state in ("finished", "deadlock", "stopped") and not outcome.unsupported


def run_plan(
    program: EmulatorBuild,
    options: Sequence[RunOptions],
    go_on: Callable[[EmulatorRun], bool],
    *,
    stage: str,
    jobs: int | None,
    on_progress: ProgressCallback,
) -> list[EmulatorRun]:
    """Run the first of `options`, and the others where `go_on` says so of the first.

    The first runs alone, so that what is reported does not depend on which of several ends first.
    """
    finished = counter(stage, len(options), on_progress)
    first = run(program, options[0])
    finished(first)
    if len(options) == 1 or not go_on(first):
        return [first]
    return [first, *run_all(program, options[1:], jobs=jobs, on_done=finished)]


_DRY_BATCHES = 2  # further batches without a new finding after which a check stops
_BASE_BATCHES = 2  # batches that are always made


def run_batches(
    program: EmulatorBuild,
    batches: Sequence[Sequence[RunOptions]],
    *,
    jobs: int | None,
    on_progress: ProgressCallback,
) -> list[EmulatorRun]:
    """Run batch after batch, until two further ones show nothing new.

    The first batch is one run; where the emulator cannot end it, no other is made.
    """
    finished = counter("run", sum(map(len, batches)), on_progress)
    first = run(program, batches[0][0])
    finished(first)
    outcomes = [first]
    if not ended(first):
        return outcomes
    dry = 0
    for number, batch in enumerate(batches[1:], 1):
        known = _distinct(outcomes)
        outcomes += run_all(program, batch, jobs=jobs, on_done=finished)
        dry = dry + 1 if number >= _BASE_BATCHES and _distinct(outcomes) == known else 0
        if dry == _DRY_BATCHES:
            break
    return outcomes


def _distinct(outcomes: Iterable[EmulatorRun]) -> int:
    return len(merge(map(findings_of, outcomes)))


def run_all(
    program: EmulatorBuild,
    options: Sequence[RunOptions],
    *,
    jobs: int | None,
    on_done: Callable[[EmulatorRun], None],
) -> list[EmulatorRun]:
    """Run all of `options`, several at a time; results keep the order."""
    workers = worker_count(jobs, len(options))
    outcomes = run_many(program, options, workers=workers, on_done=on_done)
    return [outcome for outcome in outcomes if outcome is not None]


_WORST_FIRST = (Verdict.UNSUPPORTED, Verdict.DEADLOCK, Verdict.DEFECT, Verdict.FAILED)


def overall(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict over several runs: the worst one."""
    seen = set(verdicts)
    return next((verdict for verdict in _WORST_FIRST if verdict in seen), Verdict.OK)
