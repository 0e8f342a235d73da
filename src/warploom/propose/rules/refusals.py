"""What the rules cannot transform: each reason with its line."""

from collections.abc import Iterator

from warploom.core.errors import Refusal, RefusedError
from warploom.propose.rules.lexing import find_mentions
from warploom.propose.rules.prelude import LAUNCHERS, NAMESPACE, REDUCTIONS, reducible_type
from warploom.source import AnalysisReport
from warploom.source.records import Collective

_STYLES = {
    "init_all": "one process drives all devices: every rank must be a process of its own",
    "single_process": "one process drives all devices: every rank must be a process of its own",
    "threads": "a thread for each device: every rank must be a process of its own",
    "mpi_multi_device": "several devices in one process: every rank must be a process of its own",
}
_COMMUNICATORS = frozenset({"ncclCommInitRank", "ncclCommInitRankConfig"})
_OPERATORS = frozenset({"ncclSum", "ncclProd", "ncclMax", "ncclMin", "ncclAvg"})
_KINDS = {
    "managed": "managed memory",
    "async": "stream-ordered memory",
    "pitched": "pitched memory",
    "pinned": "host memory",
    "mapped": "a device view of host memory",
    "array": "a CUDA array",
}
_MEMORY = ("cudaMalloc", "cudaFree", "ncclMemAlloc", "ncclMemFree")
_CALLS = {
    "ncclRedOpCreatePreMulSum": "a reduction operator of the program's own",
    "cudaStreamBeginCapture": "stream capture: a graph would replay launches that must be counted",
    "ncclCommWindowRegister": "windows of the program's own, beside those that the rules make",
    "ncclDevCommCreate": "a device communicator of the program's own, beside the rules' one",
    "ncclCommRevoke": "a communicator that is revoked",
}


def require_transformable(analysis: AnalysisReport, text: str) -> None:
    """Raise RefusedError with every reason why the rules cannot transform this program."""
    refuse(tuple(dict.fromkeys(_all(analysis, text))))


def refuse(found: tuple[Refusal, ...]) -> None:
    """Raise RefusedError that tells all of `found`, if there is any."""
    if not found:
        return
    ordered = tuple(sorted(found, key=lambda item: (item.file, item.line)))
    lines = "".join(f"\n  {item.file}:{item.line}: {item.reason}" for item in ordered[1:])
    more = f"; and {len(ordered) - 1} more:{lines}" if lines else ""
    raise RefusedError(f"beyond the rules: {ordered[0].reason}{more}", ordered)


def _all(analysis: AnalysisReport, text: str) -> Iterator[Refusal]:
    yield from _setup(analysis)
    for collective in analysis.collectives:
        yield from _collective(analysis, collective)
        yield from _memory(analysis, collective)
    yield from _text(analysis, text.encode("utf-8", "surrogateescape"))


def _setup(analysis: AnalysisReport) -> Iterator[Refusal]:
    file, setup = analysis.file, analysis.setup
    first = setup.lines[0] if setup.lines else 1
    if setup.style in _STYLES:
        yield Refusal(_STYLES[setup.style], file, first)
        return
    if setup.uses_threads:
        yield Refusal("host threads: the rules cannot tell who communicates when", file, first)
    if not analysis.communicators:
        line = analysis.collectives[0].line if analysis.collectives else 1
        yield Refusal("the communicator is not created in this program's own files", file, line)
    for index, communicator in enumerate(analysis.communicators):
        if communicator.call not in _COMMUNICATORS:
            reason = f"{communicator.call}: only ncclCommInitRank's communicators can be replaced"
            yield Refusal(reason, communicator.file, communicator.line)
        elif communicator.site.in_loop:
            yield Refusal("communicators made in a loop", communicator.file, communicator.line)
        elif index > 0:
            yield Refusal("more than one communicator", communicator.file, communicator.line)
        elif communicator.file != file:
            yield Refusal("a communicator made in a header", communicator.file, communicator.line)


def _collective(analysis: AnalysisReport, item: Collective) -> Iterator[Refusal]:
    if item.file != analysis.file:
        yield Refusal("communication in a header: put it into the program", item.file, item.line)
    if item.name not in LAUNCHERS:
        yield Refusal(f"{item.name} has no device-initiated form here", item.file, item.line)
        return
    if item.name not in REDUCTIONS:
        return
    operator, dtype = item.op or "", item.dtype or ""
    if operator.startswith("nccl") and operator not in _OPERATORS:
        yield Refusal(f"{operator} is no built-in operator", item.file, item.line)
    if dtype.startswith("nccl") and reducible_type(dtype) is None:
        yield Refusal(f"reductions of {dtype} are not generated", item.file, item.line)


def _memory(analysis: AnalysisReport, item: Collective) -> Iterator[Refusal]:
    by_line = {a.line: a for a in analysis.allocations if a.file == analysis.file}
    for buffer in (*item.send_buffers, *item.recv_buffers):
        for line in buffer.allocations:
            allocation = by_line.get(line)
            if allocation is not None and allocation.kind in _KINDS:
                reason = f"{buffer.name} is {_KINDS[allocation.kind]} and cannot be in a window"
                yield Refusal(reason, allocation.file, allocation.line)


def _text(analysis: AnalysisReport, text: bytes) -> Iterator[Refusal]:
    for mention in find_mentions(text, (*LAUNCHERS, *_MEMORY, *_CALLS)):
        if mention.name in _CALLS:
            if mention.called:
                yield Refusal(_CALLS[mention.name], analysis.file, mention.line)
        elif not mention.called:
            reason = f"{mention.name} is used without being called: its calls cannot be found"
            yield Refusal(reason, analysis.file, mention.line)
    for mention in find_mentions(text, ("blocking",)):
        rest = text[mention.end : mention.end + 8].replace(b" ", b"")
        if rest.startswith(b"=0"):
            yield Refusal("a non-blocking communicator", analysis.file, mention.line)
    for mention in find_mentions(text, (NAMESPACE,)):
        yield Refusal(f"the name {NAMESPACE} is taken by the program", analysis.file, mention.line)
