"""What reports keep of runs, whichever backend made them."""

from dataclasses import dataclass

from warploom.backends import Run
from warploom.backends.emulated import exit_codes
from warploom.core.records import RunSpec, Verdict
from warploom.emulator import EmulatorRun


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What one run did.

    `timing` is how the network behaved; "": nobody steered it. `exit_codes` are the processes' in
    order of rank (None: it did not end), `seconds` is wall time. `tool` is the one above it, or "";
    `note` says why its silence proves nothing, `foreign` how many of its reports were about code
    that is not the user's. `nodes` are the machines of its ranks, where there are several.
    """

    seed: int
    timing: str
    verdict: Verdict
    state: str
    exit_codes: tuple[int | None, ...]
    seconds: float
    readbacks: int = 0
    tool: str = ""
    foreign: int = 0
    note: str = ""
    nodes: tuple[str, ...] = ()


def record(spec: RunSpec, outcome: EmulatorRun) -> RunRecord:
    """Return what a report keeps of one emulated run."""
    return RunRecord(
        seed=spec.seed,
        timing=spec.timing,
        verdict=outcome.verdict,
        state=str(outcome.state),
        exit_codes=exit_codes(outcome),
        seconds=outcome.seconds,
        readbacks=len(outcome.readbacks),
    )


def record_of(run: Run) -> RunRecord:
    """Return what a report keeps of a run of any backend."""
    return RunRecord(
        seed=run.order.seed,
        timing=run.order.timing,
        verdict=run.verdict,
        state=run.state,
        exit_codes=run.exit_codes,
        seconds=run.seconds,
        readbacks=len(run.readbacks),
        tool=run.order.tool,
        foreign=run.foreign,
        note=run.note,
        nodes=run.nodes,
    )
