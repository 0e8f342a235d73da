"""Collects the records of a program, in source order, from its calls."""

from dataclasses import dataclass, field

from tree_sitter import Node

from warploom.source import records as r
from warploom.source.analysis import api, builders
from warploom.source.analysis.builders import Context
from warploom.source.analysis.levels import expression_variable
from warploom.source.analysis.naming import base_name
from warploom.source.analysis.program import text_of
from warploom.source.analysis.sites import Call, site_of

_HOST_KINDS = frozenset({"pinned", "mapped"})


@dataclass(slots=True)
class Collected:
    """Records by kind; the calls of collectives, launches and copies stay beside theirs."""

    collectives: list[Call] = field(default_factory=list[Call])
    groups: list[Call] = field(default_factory=list[Call])
    allocations: list[r.Allocation] = field(default_factory=list[r.Allocation])
    frees: list[r.Free] = field(default_factory=list[r.Free])
    launches: list[tuple[Call, r.Launch]] = field(default_factory=list[tuple[Call, r.Launch]])
    copies: list[tuple[Call, r.Copy]] = field(default_factory=list[tuple[Call, r.Copy]])
    readbacks: list[r.Readback] = field(default_factory=list[r.Readback])
    arrivals: list[r.Readback] = field(default_factory=list[r.Readback])
    streams: list[r.Stream] = field(default_factory=list[r.Stream])
    events: list[r.Event] = field(default_factory=list[r.Event])
    syncs: list[r.Sync] = field(default_factory=list[r.Sync])
    communicators: list[r.Communicator] = field(default_factory=list[r.Communicator])
    windows: list[r.Window] = field(default_factory=list[r.Window])
    device_communicators: list[r.DeviceCommunicator] = field(
        default_factory=list[r.DeviceCommunicator]
    )


def collect(context: Context, calls: list[Call]) -> Collected:
    """Sort the calls of a program into records."""
    found = Collected()
    destroyed = _destroyed(calls)
    on_devices = _on_devices(context, calls)
    for call in calls:
        if call.launch is not None or call.name in api.LAUNCHES:
            launch = builders.build_launch(context, call)
            if launch is not None:
                found.launches.append((call, launch))
        elif call.name in api.COLLECTIVES:
            found.collectives.append(call)
        elif call.name in api.GROUP_CALLS:
            found.groups.append(call)
        elif call.name in api.COPIES:
            _copy(context, call, on_devices, found)
        elif call.name in api.MPI_RECEIVES:
            found.arrivals += builders.build_arrivals(context, call)
        elif call.name in api.ALLOCATIONS:
            allocation = builders.build_allocation(context, call)
            if allocation is not None:
                found.allocations.append(allocation)
        elif call.name in api.FREES:
            found.frees.append(builders.build_free(context, call))
        else:
            _handle(context, call, found, destroyed)
    return found


def _copy(context: Context, call: Call, on_devices: frozenset[str], found: Collected) -> None:
    copy = builders.build_copy(context, call)
    if copy is None:
        return
    found.copies.append((call, copy))
    if copy.direction == "device_to_host" or (
        copy.direction == "default"
        and (_is_host(context, call) or _leaves_device(copy, on_devices))
    ):
        found.readbacks.append(builders.build_readback(context, call, copy))


def _is_host(context: Context, call: Call) -> bool:
    """Tell whether the destination of a `cudaMemcpyDefault` is host memory, from its owner."""
    node = call.arg(api.COPIES[call.name].dst)
    variable = expression_variable(context.program, node) if node is not None else None
    if variable is None:
        return False
    return "vector" in variable.type or bool(variable.dims) or variable.pointers == 0


def _leaves_device(copy: r.Copy, on_devices: frozenset[str]) -> bool:
    """Tell whether a `cudaMemcpyDefault` takes memory of a device to what is none."""
    return not on_devices.isdisjoint(copy.src_roots) and on_devices.isdisjoint(copy.dst_roots)


def _on_devices(context: Context, calls: list[Call]) -> frozenset[str]:
    """Return the names of the buffers that are allocated on devices."""
    signatures = [(c, api.ALLOCATIONS[c.name]) for c in calls if c.name in api.ALLOCATIONS]
    return frozenset(
        name
        for call, signature in signatures
        if signature.kind not in _HOST_KINDS
        for name in context.names(call, call.arg(signature.pointer))
    )


def _destroyed(calls: list[Call]) -> dict[str, list[int]]:
    """Return, by name, the lines where streams and communicators end."""
    found: dict[str, list[int]] = {}
    for call in calls:
        node = call.arg(0)
        if node is not None and call.name in api.COMM_DESTROYS | api.STREAM_DESTROYS:
            found.setdefault(base_name(node), []).append(call.line)
    return found


def _name(node: Node | None) -> str:
    return base_name(node) if node is not None else ""


def _handle(
    context: Context, call: Call, found: Collected, destroyed: dict[str, list[int]]
) -> None:
    """Record a call that makes, uses or waits for a handle."""
    site = site_of(context.program, call)
    where = (call.path, call.line)
    first = _name(call.arg(0))
    if call.name in api.STREAM_CREATES:
        ends = tuple(destroyed.get(first, ()))
        found.streams.append(r.Stream(first, call.name, *where, ends, site))
    elif call.name in api.SYNCS:
        kind = api.SYNCS[call.name]
        target = call.text(1 if kind == "stream_wait_event" else 0) or ""
        found.syncs.append(r.Sync(call.name, kind, target, *where, site))
        if kind in ("event", "stream_wait_event"):
            stream = call.text(0) if kind == "stream_wait_event" else None
            found.events.append(r.Event(target, "wait", stream, *where, site))
    elif call.name in api.EVENT_CREATES | api.EVENT_DESTROYS:
        action = "create" if call.name in api.EVENT_CREATES else "destroy"
        found.events.append(r.Event(first, action, None, *where, site))
    elif call.name in api.EVENT_RECORDS:
        stream = call.text(1) or "0"
        found.events.append(r.Event(first, "record", stream, *where, site))
    elif call.name == api.EVENT_ELAPSED:
        both = f"{call.text(1) or ''}, {call.text(2) or ''}"
        found.events.append(r.Event(both, "elapsed", None, *where, site))
    elif call.name in api.COMM_CREATES:
        at = api.COMM_CREATES[call.name]
        name = _name(call.arg(at["comm"]))
        found.communicators.append(
            r.Communicator(
                name=name,
                call=call.name,
                file=call.path,
                line=call.line,
                rank=call.text(at.get("rank")),
                nranks=call.text(at.get("nranks")),
                unique_id=call.text(at.get("id")),
                destroyed=tuple(destroyed.get(name, ())),
                site=site,
            )
        )
    else:
        _device_side(context, call, found, site)


def _device_side(context: Context, call: Call, found: Collected, site: r.CallSite) -> None:
    """Record windows and device communicators."""
    if call.name == api.WINDOW_REGISTER and len(call.args) >= 4:
        buffer = call.args[1]
        found.windows.append(
            r.Window(
                name=base_name(call.args[3]),
                buffer=text_of(buffer),
                bytes=call.text(2) or "",
                comm=call.text(0) or "",
                flags=call.text(4) or "0",
                file=call.path,
                line=call.line,
                roots=context.names(call, buffer),
                site=site,
            )
        )
    elif call.name == api.DEVCOMM_CREATE and len(call.args) >= 3:
        found.device_communicators.append(
            r.DeviceCommunicator(
                name=base_name(call.args[2]),
                comm=call.text(0) or "",
                requirements=call.text(1) or "",
                file=call.path,
                line=call.line,
                site=site,
            )
        )
