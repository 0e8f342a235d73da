"""What the rules cannot transform: each reason with its line."""

from collections.abc import Iterator

from warploom.core.errors import Refusal, RefusedError
from warploom.propose.rules.captures import capture_refusals
from warploom.propose.rules.lexing import find_mentions
from warploom.propose.rules.managed import managed_refusals
from warploom.propose.rules.prelude import (
    CREATIONS,
    LAUNCHERS,
    MEMORY,
    NAMESPACE,
    REDUCTIONS,
)
from warploom.source import AnalysisReport, SourceFile, parse_source
from warploom.source.records import Collective

_NOT_REDUCED = frozenset({"ncclFloat8e4m3", "ncclFloat8e5m2"})
_KINDS = {
    "pitched": "pitched memory",
    "pinned": "host memory",
    "mapped": "a device view of host memory",
    "array": "a CUDA array",
}
_MEMORY = ("cudaMalloc", "cudaFree", *(name for calls in MEMORY.values() for name in calls))
_CALLS = {
    "ncclDevCommCreate": "a device communicator of the program's own, beside the rules' one: leave "
    "it out",
    "ncclCommRevoke": "a communicator that is revoked: end it with ncclCommDestroy",
}


def require_transformable(analysis: AnalysisReport, text: str) -> None:
    """Raise RefusedError with every reason why the rules cannot transform this program."""
    refuse(tuple(dict.fromkeys(_all(analysis, text))))


def refuse(found: tuple[Refusal, ...]) -> None:
    """Raise RefusedError that tells all of `found`, if there is any."""
    if found:
        raise RefusedError.of(found)


def _all(analysis: AnalysisReport, text: str) -> Iterator[Refusal]:
    source = parse_source(text, analysis.file)
    yield from _setup(analysis)
    for collective in analysis.collectives:
        yield from _collective(analysis, collective)
        yield from _memory(analysis, collective, source)
    yield from capture_refusals(source, analysis)
    yield from _text(analysis, source.text)


def _setup(analysis: AnalysisReport) -> Iterator[Refusal]:
    file = analysis.file
    if not analysis.communicators:
        line = analysis.collectives[0].line if analysis.collectives else 1
        reason = "the communicator is not created in this program's own files: make and end it here"
        yield Refusal(reason, file, line)
    for communicator in analysis.communicators:
        if communicator.call not in CREATIONS:
            known = ", ".join(CREATIONS)
            reason = f"{communicator.call}: communicators can be made by {known}"
            yield Refusal(reason, communicator.file, communicator.line)
        elif communicator.file != file:
            reason = "a communicator made in a header: put it into the program"
            yield Refusal(reason, communicator.file, communicator.line)


def _collective(analysis: AnalysisReport, item: Collective) -> Iterator[Refusal]:
    if item.file != analysis.file:
        yield Refusal("communication in a header: put it into the program", item.file, item.line)
    if item.name not in LAUNCHERS:
        yield Refusal(f"{item.name} has no device-initiated form here", item.file, item.line)
        return
    if item.name not in REDUCTIONS:
        return
    # Other names may be the program's own, macros or variables: the layer looks at their values.
    if item.dtype in _NOT_REDUCED:
        yield Refusal(f"reductions of {item.dtype} are not generated", item.file, item.line)


def _memory(analysis: AnalysisReport, item: Collective, source: SourceFile) -> Iterator[Refusal]:
    by_line = {a.line: a for a in analysis.allocations if a.file == analysis.file}
    for buffer in (*item.send_buffers, *item.recv_buffers):
        for line in buffer.allocations:
            allocation = by_line.get(line)
            if allocation is not None and allocation.kind == "managed":
                yield from managed_refusals(source, analysis, allocation)
            if allocation is not None and allocation.kind in _KINDS:
                kind = _KINDS[allocation.kind]
                reason = f"{buffer.name} is {kind} and cannot be in a window: use cudaMalloc"
                yield Refusal(reason, allocation.file, allocation.line)


def _text(analysis: AnalysisReport, text: bytes) -> Iterator[Refusal]:
    for mention in find_mentions(text, (*LAUNCHERS, *_MEMORY, *_CALLS)):
        if mention.name in _CALLS:
            if mention.called:
                yield Refusal(_CALLS[mention.name], analysis.file, mention.line)
        elif not mention.called:
            reason = f"{mention.name} is used without being called: its calls cannot be found"
            yield Refusal(reason, analysis.file, mention.line)
    for mention in find_mentions(text, (NAMESPACE,)):
        yield Refusal(f"the name {NAMESPACE} is taken by the program", analysis.file, mention.line)
