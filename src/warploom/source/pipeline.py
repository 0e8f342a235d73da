"""Which parts of a program are its kernels and its pipeline, and which are not to be touched."""

import re
from dataclasses import dataclass

from tree_sitter import Node

from warploom.source.analysis.program import callee_of, child, launch_shape, text_of
from warploom.source.records import Function, Launch, ReportData, Span
from warploom.source.syntax import SourceFile

_LOOPS = frozenset({"for_statement", "while_statement", "do_statement", "for_range_loop"})
_FRAME_CALLS = re.compile(
    r"^(printf|fprintf|puts|fputs|fwrite|fread|fopen|exit|abort|assert|malloc|calloc|free|"
    r"MPI_\w+|cuda(Malloc|Free|HostAlloc|SetDevice|GetDevice|StreamCreate|StreamDestroy|"
    r"EventCreate|EventDestroy|EventElapsedTime|DeviceReset)\w*|"
    r"ncclMem\w+|ncclComm(Init|Destroy|Abort|Finalize|Split|Register|Deregister|Window)\w*|"
    r"ncclDevComm\w+|ncclGetUniqueId|now|clock|clock_gettime|gettimeofday|omp_get_wtime)$"
)
_CHECK_KERNEL = re.compile(r"(?i)(verif|valid|check|compar|reference|expected|golden)")
_SETUP_KERNEL = re.compile(r"(?i)(^|_)(init|fill|seed|rand|gen|setup|poison)|(Init|Fill|Rand)")


@dataclass(frozen=True, slots=True)
class Stages:
    """Byte ranges of the kernels that take part and of the pipeline, each in source order."""

    kernels: tuple[Span, ...]
    pipeline: tuple[Span, ...]


def pipeline_spans(file: SourceFile, analysis: ReportData) -> Stages:
    """Return the ranges in the main file that may be changed by a candidate."""
    finder = _Finder(file, analysis)
    runs: list[Span] = []
    for function in analysis.functions:
        if function.kind == "host" and function.file == analysis.file:
            node = file.root.descendant_for_byte_range(function.body.start, function.body.end)
            if node is not None and node.type == "compound_statement":
                runs += finder.runs(node)
    ordered = sorted(set(runs))
    # A lambda is a function of its own inside of another: keep the outer range only.
    outer = [
        s
        for s in ordered
        if not any(o != s and o.start <= s.start and s.end <= o.end for o in ordered)
    ]
    return Stages(_kernels(file, analysis, outer), tuple(outer))


def is_setup_launch(launch: Launch, kernels: tuple[Function, ...]) -> bool:
    """Tell whether a launch makes input data: its kernel reads no buffer, and is named so."""
    kernel = next((k for k in kernels if k.name == launch.kernel), None)
    reads = kernel is None or any(p.reads for p in kernel.parameters)
    return not reads and bool(_SETUP_KERNEL.search(launch.kernel))


class _Finder:
    """Splits statement lists into runs of pipeline statements."""

    def __init__(self, file: SourceFile, analysis: ReportData) -> None:
        self.file = file
        here = analysis.file
        setup = [
            launch.site.call
            for launch in analysis.launches
            if is_setup_launch(launch, analysis.kernels) or _CHECK_KERNEL.search(launch.kernel)
        ]
        work = [s.site.call for s in analysis.launches if s.file == here]
        work = [s for s in work if s not in setup]
        work += [c.site.call for c in analysis.collectives if c.file == here]
        work += [g.start.call for g in analysis.groups if g.file == here]
        work += [g.end.call for g in analysis.groups if g.file == here and g.end is not None]
        frame = [*setup, *(b.site.call for b in analysis.readbacks if b.file == here)]
        frame += [
            c.site.call
            for c in analysis.copies
            if c.file == here and c.direction == "host_to_device"
        ]
        # An event whose time is asked for is a timer; any other one orders streams.
        timers = {n for e in analysis.events if e.action == "elapsed" for n in e.name.split(", ")}
        frame += [
            e.site.call
            for e in analysis.events
            if e.file == here and e.action in ("record", "wait") and e.name in timers
        ]
        self.work = {(s.start, s.end) for s in work}
        self.frame = {(s.start, s.end) for s in frame}

    def has_work(self, node: Node) -> bool:
        """Tell whether a statement launches or communicates."""
        return any(node.start_byte <= a and b <= node.end_byte for a, b in self.work)

    def has_frame(self, node: Node) -> bool:
        """Tell whether a statement does what a candidate must not touch."""
        if any(node.start_byte <= a and b <= node.end_byte for a, b in self.frame):
            return True
        if node.type == "return_statement":
            return True
        for inner in self.file.nodes("call_expression", "return_statement", within=node):
            if inner.type == "return_statement" or self._outputs(inner):
                return True
        return any(
            text_of(n) in ("std::cout", "std::cerr", "cout", "cerr")
            for n in self.file.nodes("identifier", "qualified_identifier", within=node)
        )

    def _outputs(self, call: Node) -> bool:
        return launch_shape(call) is None and bool(_FRAME_CALLS.match(callee_of(call)[0]))

    def runs(self, body: Node) -> list[Span]:
        """Return the ranges of pipeline statements in a statement list and in those below."""
        found: list[Span] = []
        current: list[Node] = []
        last_work = 0
        items = [n for n in body.named_children if n.type != "comment"]
        for item in items:
            works = self.has_work(item)
            opened = works and (self.has_frame(item) or self.repeats(item))
            if opened or (not works and self.has_frame(item)):
                found += self._close(current, last_work)
                current, last_work = [], 0
                if opened:
                    found += self.inside(item)
            elif works or current:
                current.append(item)
                last_work = len(current) if works else last_work
        return found + self._close(current, last_work)

    def _close(self, items: list[Node], count: int) -> list[Span]:
        """Return the run up to its last working statement: what follows (a wait) is frame."""
        return [Span(items[0].start_byte, items[count - 1].end_byte)] if count else []

    def inside(self, node: Node) -> list[Span]:
        """Return the runs in the statement lists just below a statement."""
        found: list[Span] = []
        stack = list(reversed(node.children))
        while stack:
            inner = stack.pop()
            if inner.type == "compound_statement":
                found += self.runs(inner)
            else:
                stack.extend(reversed(inner.children))
        return found

    def repeats(self, node: Node) -> bool:
        """Tell whether a loop only repeats its body: its counter is used nowhere inside."""
        body, names = child(node, "body"), set[str]()
        if node.type not in _LOOPS or body is None or body.type != "compound_statement":
            return False
        initial = child(node, "initializer")
        if initial is None:
            return False
        for declared in self.file.nodes("init_declarator", within=initial):
            name = child(declared, "declarator")
            if name is not None:
                names.add(text_of(name))
        used = {text_of(n) for n in self.file.nodes("identifier", within=body)}
        return bool(names) and not names & used


def _kernels(file: SourceFile, analysis: ReportData, pipeline: list[Span]) -> tuple[Span, ...]:
    """Return the definitions that the pipeline's launches run, neighbors joined."""
    names = {
        launch.kernel
        for launch in analysis.launches
        if any(s.start <= launch.site.call.start < s.end for s in pipeline)
    }
    device = {f.name: f for f in analysis.functions if f.kind in ("global", "device")}
    waiting = list(names)
    while waiting:
        function = device.get(waiting.pop())
        for callee in function.calls if function else ():
            if callee in device and callee not in names:
                names.add(callee)
                waiting.append(callee)
    spans = sorted(
        f.span
        for f in analysis.functions
        if f.name in names and f.kind in ("global", "device") and f.file == analysis.file
    )
    joined: list[Span] = []
    for span in spans:
        between = file.slice(joined[-1].end, span.start) if joined else "x"
        bare = re.sub(r"//[^\n]*|/\*.*?\*/", "", between, flags=re.DOTALL)
        if joined and not bare.strip():
            joined[-1] = Span(joined[-1].start, span.end)
        else:
            joined.append(span)
    return tuple(joined)
