"""The report as compact text, for a reader (a person or a model) without the source at hand."""

from collections.abc import Callable, Iterable, Sequence

from warploom.source.records import (
    CallSite,
    Collective,
    Function,
    Launch,
    ReportData,
)


def render_report(report: ReportData) -> str:
    """Return every fact of the report, one line each, with `file:line` where it is not the main."""
    place = _Place(report)
    parts = [
        [f"# {report.file}"],
        _overview(report, place),
        _section("Warnings", [f"{place(w)} {w.kind}: {w.message}" for w in report.warnings]),
        _section("NCCL data calls", _collectives(report, place)),
        _section("Groups", [_group(report, place, at) for at in range(len(report.groups))]),
        _section("Kernel launches", [_launch(launch, place) for launch in report.launches]),
        _section("Kernels and device functions", _functions(report, place)),
        _section("Communicators", _communicators(report, place)),
        _section("Windows and device communicators", _device(report, place)),
        _section("Allocations", _allocations(report, place)),
        _section("Copies and fills", _copies(report, place)),
        _section("Results read back", _readbacks(report, place)),
        _section("Streams and events", _streams(report, place)),
        _section("Synchronization", [f"{place(s)} {s.call}({s.target})" for s in report.syncs]),
        _section("Host functions", _host(report, place)),
    ]
    return "\n".join(line for part in parts for line in part) + "\n"


class _Place:
    """Prints where a record stands: the line, and the file unless it is the main one."""

    def __init__(self, report: ReportData) -> None:
        self.main = report.file

    def __call__(self, record: object) -> str:
        file, line = getattr(record, "file", self.main), getattr(record, "line", 0)
        return f"L{line}" if file == self.main else f"{file}:{line}"


Placer = Callable[[object], str]


def _section(title: str, lines: Iterable[str]) -> list[str]:
    listed = list(lines)
    marked = [line if line.startswith("  ") else f"- {line}" for line in listed]
    return ["", f"## {title}", *marked] if listed else []


def _overview(report: ReportData, place: Placer) -> list[str]:
    setup = report.setup
    lines = [f"Ranks: {setup.style}: {setup.reason}."]
    if report.main is not None:
        lines.append(f"main: {place(report.main)} to L{report.main.end_line}.")
    else:
        lines.append("main: none found.")
    if len(report.files) > 1:
        lines.append(f"Also read: {', '.join(report.files[1:])}.")
    return lines + [
        f"Skipped in {skipped.file}: lines {', '.join(map(str, skipped.lines))}."
        for skipped in report.skipped
    ]


def _roots(names: Sequence[str], written: str | None) -> str:
    other = [n for n in names if n != written]
    return f" (memory of {', '.join(other)})" if other else ""


def _context(site: CallSite) -> str:
    parts = [f"in {site.function}"] if site.function else []
    parts += ["loop"] if site.in_loop else []
    parts += [f"#{c}" for c in site.conditions]
    return f" [{', '.join(parts)}]" if parts else ""


def _collective(call: Collective, place: Placer) -> str:
    parts = [f"{place(call)} {call.name}"]
    if call.send is not None:
        parts.append(f"send={call.send}{_roots(call.send_roots, call.send)}")
    if call.recv is not None and call.name != "ncclBcast":
        parts.append(f"recv={call.recv}{_roots(call.recv_roots, call.recv)}")
    named = (
        ("count", call.count), ("dtype", call.dtype), ("op", call.op), ("root", call.root),
        ("peer", call.peer), ("window", call.window), ("offset", call.window_offset),
        ("signal", call.signal), ("comm", call.comm), ("stream", call.stream),
    )  # fmt: skip
    parts += [f"{name}={value}" for name, value in named if value is not None]
    if call.group is not None:
        parts.append(f"group={call.group}")
    if call.in_place:
        parts.append("in place")
    return " ".join(parts) + _context(call.site)


def _collectives(report: ReportData, place: Placer) -> list[str]:
    lines: list[str] = []
    for call in report.collectives:
        lines.append(_collective(call, place))
        for role, verb in (("producer", "made by"), ("consumer", "used by")):
            uses = [u for u in call.flow if u.role == role]
            if uses:
                said = "; ".join(f"{u.name} ({u.buffer}, {place(u)})" for u in uses)
                lines.append(f"  - {verb} {said}")
    return lines


def _group(report: ReportData, place: Placer, at: int) -> str:
    group = report.groups[at]
    end = f"L{group.end_line}" if group.end_line is not None else "no end found"
    calls = ", ".join(f"L{line}" for line in group.collectives) or "no data calls"
    return f"{place(group)} to {end}: group {group.id} with {calls}"


def _launch(launch: Launch, place: Placer) -> str:
    template = f"<{launch.template_arguments}>" if launch.template_arguments else ""
    how = "" if launch.api == "<<<>>>" else f" by {launch.api}"
    how += " cooperative" if launch.cooperative else ""
    arguments = ", ".join(
        f"{text}{_roots(roots, text)}"
        for text, roots in zip(launch.arguments, launch.roots, strict=True)
    )
    return (
        f"{place(launch)} {launch.kernel}{template}({arguments}) grid={launch.grid} "
        f"block={launch.block} shared={launch.shared} stream={launch.stream}{how}"
        f"{_context(launch.site)}"
    )


def _signature(function: Function) -> str:
    said: list[str] = []
    for parameter in function.parameters:
        mode = ("r" if parameter.reads else "") + ("w" if parameter.writes else "")
        said.append(f"{parameter.type}{f' [{mode}]' if mode else ''}")
    return f"{function.name}({', '.join(said)})"


def _functions(report: ReportData, place: Placer) -> list[str]:
    lines: list[str] = []
    for function in report.functions:
        if function.kind in ("global", "device"):
            device = f" uses {', '.join(function.device_api)}" if function.device_api else ""
            lines.append(
                f"{place(function)} to L{function.end_line} __{function.kind}__ "
                f"{_signature(function)}{device}"
            )
    return lines


def _host(report: ReportData, place: Placer) -> list[str]:
    return [
        f"{place(f)} to L{f.end_line} {_signature(f)}"
        for f in report.functions
        if f.kind in ("host", "macro") and not f.name.startswith("lambda@")
    ]


def _ends(lines: Sequence[int]) -> str:
    return f", ends {', '.join(f'L{line}' for line in lines)}" if lines else ", never destroyed"


def _communicators(report: ReportData, place: Placer) -> list[str]:
    lines: list[str] = []
    for comm in report.communicators:
        rank = f" rank={comm.rank}" if comm.rank is not None else ""
        ranks = f" nranks={comm.nranks}" if comm.nranks is not None else ""
        lines.append(f"{place(comm)} {comm.name} by {comm.call}{rank}{ranks}"
                     f"{_ends(comm.destroyed)}{_context(comm.site)}")  # fmt: skip
    return lines


def _device(report: ReportData, place: Placer) -> list[str]:
    lines = [
        f"{place(w)} window {w.name} over {w.buffer}{_roots(w.roots, w.buffer)}, {w.bytes} bytes, "
        f"comm={w.comm} flags={w.flags}"
        for w in report.windows
    ]
    return lines + [
        f"{place(d)} device communicator {d.name} of {d.comm}, requirements {d.requirements}"
        for d in report.device_communicators
    ]


def _allocations(report: ReportData, place: Placer) -> list[str]:
    lines: list[str] = []
    for a in report.allocations:
        lines.append(
            f"{place(a)} {a.name}{_roots(a.roots, a.name)}: {a.call}, {a.bytes} bytes"
            f"{f' of {a.element}' if a.element else ''}{_context(a.site)}"
        )
        lines += [f"{place(call)}   {call.name}, by {call.text}" for call in a.calls]
    return lines + [f"{place(f)} {f.call}({f.name}){_roots(f.roots, f.name)}" for f in report.frees]


def _copies(report: ReportData, place: Placer) -> list[str]:
    return [
        f"{place(c)} {c.call} {c.direction}: {c.dst}{_roots(c.dst_roots, c.dst)}"
        + (f" <- {c.src}{_roots(c.src_roots, c.src)}" if c.src is not None else "")
        + f", {c.bytes} bytes"
        + (f", stream={c.stream}" if c.stream is not None else "")
        for c in report.copies
    ]


def _readbacks(report: ReportData, place: Placer) -> list[str]:
    return [
        f"{place(b)} {b.device}{_roots(b.device_roots, b.device)} -> {b.host}, {b.bytes} bytes"
        f"{f' of {b.dtype}' if b.dtype else ''}"
        for b in report.readbacks
    ]


def _streams(report: ReportData, place: Placer) -> list[str]:
    lines = [f"{place(s)} {s.name} by {s.call}{_ends(s.destroyed)}" for s in report.streams]
    for event in report.events:
        stream = f" on {event.stream}" if event.stream is not None else ""
        lines.append(f"{place(event)} event {event.name}: {event.action}{stream}")
    return lines
