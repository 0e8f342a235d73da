"""One emulated run: its options, what a report keeps of it, and the verdict over many."""

from collections.abc import Iterable
from dataclasses import dataclass

from warploom.core.records import RunSpec, Timing, Verdict
from warploom.emulator import EmulatorRun, RunOptions
from warploom.evaluate.workload import Workload


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What one run did.

    `exit_codes` are the ranks' in order (None: the rank did not end), `seconds` is wall time.
    """

    seed: int
    timing: Timing
    verdict: Verdict
    state: str
    exit_codes: tuple[int | None, ...]
    seconds: float


def run_options(
    workload: Workload, spec: RunSpec, processes: str, *, race: bool = True
) -> RunOptions:
    """Return how to run `workload` once; `processes` is "per_rank" or "single"."""
    return RunOptions(
        ranks=workload.ranks,
        lsa_size=workload.lsa_size,
        run=spec,
        args=workload.args_for(spec.seed),
        limits=workload.limits,
        race=race,
        processes="single" if processes == "single" else "per_rank",
    )


def ended(outcome: EmulatorRun) -> bool:
    """Whether the emulator itself came to its end, whatever it concluded."""
    return outcome.state in ("finished", "deadlock") and not outcome.unsupported


def record(spec: RunSpec, outcome: EmulatorRun) -> RunRecord:
    """Return what a report keeps of one run."""
    return RunRecord(
        seed=spec.seed,
        timing=spec.timing,
        verdict=outcome.verdict,
        state=str(outcome.state),
        exit_codes=tuple(outcome.exit_codes),
        seconds=outcome.seconds,
    )


_WORST_FIRST = (Verdict.UNSUPPORTED, Verdict.DEADLOCK, Verdict.DEFECT, Verdict.FAILED)


def overall(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict over several runs: the worst one."""
    seen = set(verdicts)
    return next((verdict for verdict in _WORST_FIRST if verdict in seen), Verdict.OK)
