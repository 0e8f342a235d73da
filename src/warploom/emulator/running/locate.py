"""Findings of the runtime, and what led to them, as records with places in the user's files."""

from collections.abc import Iterator

from warploom.core.records import Finding, RunSpec, Severity, TraceEvent
from warploom.emulator.running.report import (
    RawEvent,
    RawFinding,
    RawInterval,
    RawReadback,
    RawUnsupported,
)
from warploom.emulator.running.symbolize import Symbolizer


def stacks_of(
    item: RawFinding | RawReadback | RawUnsupported | RawInterval,
) -> Iterator[tuple[int, ...]]:
    """Return every stack of `item` that needs a place."""
    yield item.frames
    if isinstance(item, RawReadback):
        yield from item.takers
    if isinstance(item, RawFinding):
        yield item.other_frames
        yield item.later_frames
        yield item.cause_frames
        for event in item.trace:
            yield event.frames


def locate_finding(raw: RawFinding, symbols: Symbolizer, run: RunSpec) -> Finding:
    """Return `raw` with its places; `symbols` has seen its stacks."""
    place = symbols.locate(raw.frames)
    return Finding(
        kind=raw.kind,
        severity=Severity.WARNING if raw.severity == "warning" else Severity.ERROR,
        message=raw.message,
        hint=raw.hint,
        file=place.file if place else None,
        line=place.line if place else None,
        rank=raw.rank,
        kernel=raw.kernel,
        block=raw.block,
        thread=raw.thread,
        other=symbols.locate(raw.other_frames),
        seed=run.seed,
        timing=run.timing,
        cause=symbols.locate(raw.cause_frames),
        trace=tuple(_locate_event(event, symbols) for event in raw.trace),
    )


def _locate_event(raw: RawEvent, symbols: Symbolizer) -> TraceEvent:
    place = symbols.locate(raw.frames)
    return TraceEvent(
        seq=raw.seq,
        rank=raw.rank,
        text=raw.text,
        kernel=raw.kernel,
        block=raw.block,
        thread=raw.thread,
        file=place.file if place else None,
        line=place.line if place else None,
    )
