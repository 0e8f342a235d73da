"""Puts the parts of the analysis together into one report."""

from collections.abc import Iterator

from tree_sitter import Node

from warploom.source import records as r
from warploom.source.analysis import api
from warploom.source.analysis.access import KernelAccess
from warploom.source.analysis.builders import Context
from warploom.source.analysis.collect import collect
from warploom.source.analysis.dataflow import Flow, Neighbors
from warploom.source.analysis.effects import Effects
from warploom.source.analysis.functions import describe_functions
from warploom.source.analysis.groups import find_groups
from warploom.source.analysis.places import Place
from warploom.source.analysis.program import Program, text_of
from warploom.source.analysis.setup import describe_setup
from warploom.source.analysis.sites import Call, declaration_of, find_calls, site_of
from warploom.source.analysis.trace import Trace, build_trace
from warploom.source.analysis.warnings import find_warnings, ignored_statuses
from warploom.source.report import AnalysisReport
from warploom.source.syntax import SourceFile


def assemble(program: Program, files: tuple[SourceFile, ...]) -> AnalysisReport:
    """Analyze an indexed program."""
    trace = build_trace(program)
    access = KernelAccess(program)
    effects = Effects(trace, access)
    neighbors = Neighbors(effects, trace.places)
    lines: dict[Place, set[int]] = _allocation_lines(trace)

    def resolve(call: Call, node: Node) -> tuple[r.Buffer, ...]:
        return tuple(_buffer(trace, place, lines) for place in trace.roots(call, node))

    def made_by(call: Call, pointer: Node) -> tuple[r.HelperCall, ...]:
        return tuple(_helper_calls(trace, call, pointer))

    context = Context(program, resolve, made_by)
    calls = find_calls(program)
    ignored = ignored_statuses(program, calls)
    found = collect(context, calls)
    numbers, groups = find_groups(trace)
    collectives = tuple(
        _collective(context, call, numbers.get(call.node.id), _flow(trace, neighbors, call))
        for call in found.collectives
    )
    functions = describe_functions(program, access)
    main = next((f for f in functions if f.name == "main" and f.kind == "host"), None)
    return AnalysisReport(
        file=str(files[0].path),
        files=tuple(str(f.path) for f in files),
        main=main,
        setup=describe_setup(trace, found.communicators),
        collectives=collectives,
        groups=groups,
        functions=functions,
        kernels=tuple(f for f in functions if f.kind == "global"),
        warnings=find_warnings(trace, effects, calls, ignored, files),
        ignored_statuses=ignored,
        skipped=tuple(r.SkippedLines(str(f.path), f.skipped) for f in files if f.skipped),
        communicators=tuple(found.communicators),
        allocations=tuple(found.allocations),
        frees=tuple(found.frees),
        launches=tuple(launch for _, launch in found.launches),
        copies=tuple(copy for _, copy in found.copies),
        readbacks=tuple(found.readbacks),
        arrivals=tuple(found.arrivals),
        streams=tuple(found.streams),
        events=tuple(found.events),
        syncs=tuple(found.syncs),
        windows=tuple(found.windows),
        device_communicators=tuple(found.device_communicators),
    )


def _allocation_lines(trace: Trace) -> dict[Place, set[int]]:
    found: dict[Place, set[int]] = {}
    for step in trace.steps:
        signature = api.ALLOCATIONS.get(step.call.name)
        pointer = step.call.arg(signature.pointer) if signature else None
        if pointer is None:
            continue
        for place in trace.places.roots_of(pointer, step.instance):
            found.setdefault(place, set()).add(step.call.line)
    return found


def _buffer(trace: Trace, place: Place, lines: dict[Place, set[int]]) -> r.Buffer:
    owner = place.owner
    declared = None if isinstance(owner, str) else declaration_of(owner)
    return r.Buffer(trace.places.label(place), tuple(sorted(lines.get(place, ()))), declared)


def _flow(trace: Trace, neighbors: Neighbors, call: Call) -> Flow:
    flow = Flow()
    for step in trace.by_call.get(call.node.id, ()):
        neighbors.of(step, flow)
    return flow


def _helper_calls(trace: Trace, call: Call, pointer: Node) -> Iterator[r.HelperCall]:
    """Yield the calls of the program's own functions through which an allocation is made."""
    seen: set[tuple[int, str]] = set()
    for step in trace.by_call.get(call.node.id, ()):
        for root in trace.places.roots_of(pointer, step.instance):
            taker = trace.places.taker(root)
            inner = step.instance
            while inner.caller is not None and inner.caller is not taker.instance:
                if taker.instance is None:  # a global variable: the nearest call
                    break
                inner = inner.caller
            site, caller = inner.site, inner.caller
            if site is None or caller is None or taker.instance is step.instance:
                continue
            if (site.id, taker.name) not in seen:
                seen.add((site.id, taker.name))
                file = caller.function.file
                yield r.HelperCall(
                    taker.name, str(file.path), file.line_of(site.start_byte), text_of(site)
                )


def _collective(context: Context, call: Call, group: int | None, flow: Flow) -> r.Collective:
    at = api.COLLECTIVES[call.name]
    send, recv = call.arg(at.send), call.arg(at.recv)
    sent = context.resolve(call, send) if send is not None else ()
    received = context.resolve(call, recv) if recv is not None else ()
    return r.Collective(
        name=call.name,
        file=call.path,
        line=call.line,
        send=call.text(at.send),
        recv=call.text(at.recv),
        count=call.text(at.count),
        dtype=call.text(at.dtype),
        op=call.text(at.op),
        root=call.text(at.root),
        peer=call.text(at.peer),
        comm=call.text(at.comm),
        stream=call.text(at.stream),
        group=group,
        producers=flow.names("producer"),
        consumers=flow.names("consumer"),
        send_roots=tuple(dict.fromkeys(b.name for b in sent)),
        recv_roots=tuple(dict.fromkeys(b.name for b in received)),
        in_place=send is not None and call.text(at.send) == call.text(at.recv),
        window=call.text(at.window),
        window_offset=call.text(at.offset),
        signal=call.text(at.signal),
        flow=tuple(flow.uses),
        send_buffers=sent,
        recv_buffers=received,
        site=site_of(context.program, call),
    )
