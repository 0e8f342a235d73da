"""Warns where a timer does not measure the work."""

from collections.abc import Iterator

from tree_sitter import Node

from warploom.source.analysis import api
from warploom.source.analysis.effects import Effects
from warploom.source.analysis.naming import base_name
from warploom.source.analysis.places import Instance
from warploom.source.analysis.program import Program, Variable, callee_of, child, text_of
from warploom.source.analysis.slices import Dependences
from warploom.source.analysis.trace import Step, Trace
from warploom.source.records import Warn

_CLOCKS = frozenset(
    {"MPI_Wtime", "now", "clock", "gettimeofday", "clock_gettime", "omp_get_wtime", "times"}
)
_BY_POINTER = {"gettimeofday": 0, "clock_gettime": 1}
_HELPER_CALLS = 4
_WAITS = frozenset({"cudaMemcpy", "cudaMemcpyFromSymbol", "cudaFree", "cudaMemcpy2D"})


class TimerChecks:
    """Finds the timed regions, and what the device does inside of them."""

    def __init__(self, trace: Trace, effects: Effects, dependences: Dependences) -> None:
        self.trace = trace
        self.program: Program = trace.program
        self.dependences = dependences
        self.work = [s for s in trace.steps if _is_work(s)]
        opaque = {e.step.index for e in effects.all if e.kind in ("call", "library")}
        # What is called through a pointer or a functor may launch too.
        self.hidden = opaque | {
            s.index for s in trace.steps if self.program.lookup_callee(s.call.node) is not None
        }
        self.waits = [s for s in trace.steps if _is_wait(s)]

    def outside(self) -> Iterator[Warn]:
        """Yield a warning for each timer that stops early, or has no device work inside."""
        if not self.work:
            return
        found = dict.fromkeys([*self._wall_clocks(), *self._events()])
        empty = [w for w in found if w.message.startswith("no device work")]
        yield from (w for w in found if w not in empty)
        # A program may well time its host code too: only if no timer sees the device, say so.
        if empty and len(empty) == len(self._regions):
            yield empty[0]

    @property
    def _regions(self) -> list[tuple[Step, Step]]:
        return [*self._clock_regions(), *self._event_regions()]

    def _clock_regions(self) -> list[tuple[Step, Step]]:
        reads: dict[Variable, list[Step]] = {}
        bare: dict[int, Step] = {}
        for step in self.trace.steps:
            if step.call.name in _CLOCKS:
                node, instance = _outermost(step)
                bare[node.id] = step
                variable = self._holder(step, node, instance)
                if variable is not None:
                    reads.setdefault(variable, []).append(step)
        found: list[tuple[Step, Step]] = []
        for function in self.program.functions:
            for node in function.file.nodes("binary_expression", within=function.body):
                operator = child(node, "operator")
                left, right = child(node, "left"), child(node, "right")
                if operator is None or text_of(operator) != "-" or left is None or right is None:
                    continue
                for stop in self._reads_of(left, reads, bare):
                    starts = [s for s in self._reads_of(right, reads, bare) if s.index < stop.index]
                    if starts:
                        found.append((max(starts, key=lambda s: s.index), stop))
        return list(dict.fromkeys(found))

    def _reads_of(
        self, node: Node, reads: dict[Variable, list[Step]], bare: dict[int, Step]
    ) -> list[Step]:
        """Return the clock reads that an operand holds: by variable, or the call itself."""
        if node.type == "binary_expression":
            return []
        found: list[Step] = []
        stack = [node]
        while stack:
            inner = stack.pop()
            if inner.id in bare:
                found.append(bare[inner.id])
            elif inner.type == "identifier":
                variable = self.program.lookup(inner)
                found += reads.get(variable, []) if variable is not None else []
            stack.extend(inner.children)
        return found

    def _holder(self, step: Step, node: Node, instance: Instance) -> Variable | None:
        """Return the variable that takes a clock read."""
        call = step.call
        if instance is step.instance and call.name in _BY_POINTER:
            held = call.arg(_BY_POINTER[call.name])
            slot = self.dependences.slot(held) if held is not None else None
            return slot[0] if slot else None
        for outer in self.program.ancestors(node):
            held = None
            if outer.type == "init_declarator":
                held = child(outer, "declarator")
            elif outer.type == "assignment_expression":
                held = child(outer, "left")
            elif outer.type.endswith("_statement"):
                return None
            if held is not None:
                slot = self.dependences.slot(held)
                return slot[0] if slot else None
        return None

    def _wall_clocks(self) -> Iterator[Warn]:
        for start, stop in self._clock_regions():
            inside = [s for s in self.work if start.index < s.index < stop.index]
            if not inside and any(start.index < at < stop.index for at in self.hidden):
                continue
            if not inside:
                yield _warn(stop, f"no device work lies between the clock reads of lines "
                            f"{_line(start)} and {_line(stop)}")  # fmt: skip
            elif not any(inside[-1].index < w.index < stop.index for w in self.waits):
                yield _warn(
                    stop,
                    f"the clock is read before the work of line {inside[-1].call.line} is known to "
                    "be finished: no synchronization stands between",
                )

    def _event_regions(self) -> list[tuple[Step, Step]]:
        found: list[tuple[Step, Step]] = []
        for step in self.trace.steps:
            if step.call.name != api.EVENT_ELAPSED or len(step.call.args) < 3:
                continue
            first, second = (self._record(step, at) for at in (1, 2))
            if first is not None and second is not None and first.index < second.index:
                found.append((first, second))
        return found

    def _record(self, elapsed: Step, at: int) -> Step | None:
        """Return the last record, before an elapsed-time call, of the event that it names."""
        name = base_name(elapsed.call.args[at])
        records = [
            s
            for s in self.trace.steps
            if s.call.name in api.EVENT_RECORDS
            and s.index < elapsed.index
            and s.call.args
            and base_name(s.call.args[0]) == name
        ]
        return records[-1] if records else None

    def _events(self) -> Iterator[Warn]:
        for start, stop in self._event_regions():
            inside = [s for s in self.work if start.index < s.index < stop.index]
            if not inside and any(start.index < at < stop.index for at in self.hidden):
                continue
            if not inside:
                yield _warn(stop, f"no device work lies between the event records of lines "
                            f"{_line(start)} and {_line(stop)}")  # fmt: skip
                continue
            waited = any(
                w.index > stop.index and w.call.name != "cudaStreamWaitEvent"
                for w in self.waits
                if w.entry == stop.entry
            )
            if not waited:
                yield _warn(stop, "the time is asked for, but nothing waits for the stop event")


def _outermost(step: Step) -> tuple[Node, Instance]:
    """Return the call that reads the clock: a small helper that returns the time counts as one."""
    node, instance = step.call.node, step.instance
    while instance.caller is not None and instance.site is not None:
        function = instance.function
        returns_value = any(n.named_children for n in function.returns)
        if not returns_value or len(function.calls) > _HELPER_CALLS:
            break
        node, instance = instance.site, instance.caller
    return node, instance


def _warn(step: Step, message: str) -> Warn:
    file = _outermost(step)[1].function.file
    return Warn("timer_outside_work", str(file.path), _line(step), message)


def _line(step: Step) -> int:
    node, instance = _outermost(step)
    return instance.function.file.line_of(node.start_byte)


def _is_work(step: Step) -> bool:
    call = step.call
    return (
        call.launch is not None
        or call.name in api.LAUNCHES
        or call.name in api.COLLECTIVES
        or call.name == "cudaGraphLaunch"
        or (call.name in api.COPIES and "Async" in call.name)
    )


def _is_wait(step: Step) -> bool:
    name, _ = callee_of(step.call.node)
    return api.SYNCS.get(name) in api.HOST_WAITS_DEVICE or name in _WAITS
