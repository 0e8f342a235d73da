"""How a program's ranks come to be."""

from warploom.source.analysis.trace import Step, Trace
from warploom.source.records import Communicator, Setup

_RANK_CALLS = ("ncclCommInitRank", "ncclCommInitRankConfig", "ncclCommInitRankScalable")


def describe_setup(trace: Trace, communicators: list[Communicator]) -> Setup:
    """Return the set-up style, with the lines that show it."""
    names = {step.call.name for step in trace.steps}
    uses_mpi = bool(names & {"MPI_Init", "MPI_Init_thread"})
    through_file = _id_through_file(trace)
    ranks = [c for c in communicators if c.call in _RANK_CALLS]
    all_at_once = [c for c in communicators if c.call == "ncclCommInitAll"]
    in_thread = [c for c in ranks if _in_thread(trace, c)]
    lines = tuple(c.line for c in communicators)
    style, reason = "none", "no communicator is created"
    if all_at_once:
        style = "init_all"
        reason = "one process creates the communicators of all devices with ncclCommInitAll"
    elif in_thread:
        style, reason = "threads", "each host thread creates the communicator of its device"
    elif ranks and uses_mpi and any(_repeats(trace, c) for c in ranks):
        style, reason = "mpi_multi_device", "each MPI process creates several communicators"
    elif ranks and uses_mpi:
        style, reason = "mpi", "each MPI process creates one communicator"
    elif ranks and through_file:
        style, reason = "file", "the unique id goes from process to process through a file"
    elif ranks and any(_repeats(trace, c) for c in ranks):
        style, reason = "single_process", "one process creates a communicator per device in a loop"
    elif communicators:
        style, reason = "unknown", "communicators are created in a way that has no name here"
    return Setup(style, reason, uses_mpi, bool(trace.threads), through_file, lines)


def _steps(trace: Trace, communicator: Communicator) -> list[Step]:
    return [
        s
        for s in trace.steps
        if s.call.line == communicator.line and s.call.path == communicator.file
    ]


def _in_thread(trace: Trace, communicator: Communicator) -> bool:
    return any(
        outer.thread for step in _steps(trace, communicator) for outer in step.instance.chain()
    )


def _repeats(trace: Trace, communicator: Communicator) -> bool:
    """Tell whether one thread of control creates it several times, also through a helper."""
    return any(entry[0] == "loop" for step in _steps(trace, communicator) for entry in step.control)


def _id_through_file(trace: Trace) -> bool:
    """Tell whether something that looks like a unique id is written to or read from a file."""
    for step in trace.steps:
        name = step.call.name
        if name in ("fread", "fwrite", "write", "read"):
            first = step.call.args[0:2]
            written = " ".join((n.text or b"").decode("utf-8", "replace") for n in first)
            if "id" in written.lower():
                return True
    return False
