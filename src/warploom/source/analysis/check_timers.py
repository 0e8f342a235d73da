"""Warns where a timer does not measure the work."""

from collections.abc import Iterator

from tree_sitter import Node

from warploom.source.analysis import api
from warploom.source.analysis.effects import Effects
from warploom.source.analysis.naming import base_name
from warploom.source.analysis.program import Program, Variable, callee_of, child, text_of
from warploom.source.analysis.slices import Dependences
from warploom.source.analysis.trace import Step, Trace
from warploom.source.records import Warn

_CLOCKS = frozenset(
    {"MPI_Wtime", "now", "clock", "gettimeofday", "clock_gettime", "omp_get_wtime", "times"}
)
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
                bare[step.call.node.id] = step
                variable = self._holder(step)
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

    def _holder(self, step: Step) -> Variable | None:
        """Return the variable that takes a clock read, through a helper that returns it."""
        call = step.call
        if call.name in ("gettimeofday", "clock_gettime"):
            node = call.arg(0 if call.name == "gettimeofday" else 1)
            slot = self.dependences.slot(node) if node is not None else None
            return slot[0] if slot and slot[0].function is step.instance.function else None
        node, instance = call.node, step.instance
        while True:
            for outer in self.program.ancestors(node):
                if outer.type == "init_declarator":
                    held = child(outer, "declarator")
                    return self.program.lookup(held) if held is not None else None
                if outer.type == "assignment_expression":
                    held = child(outer, "left")
                    slot = self.dependences.slot(held) if held is not None else None
                    return slot[0] if slot else None
                if outer.type == "return_statement":
                    break
                if outer.type.endswith("_statement"):
                    return None
            if instance.caller is None or instance.site is None:
                return None
            node, instance = instance.site, instance.caller

    def _wall_clocks(self) -> Iterator[Warn]:
        for start, stop in self._clock_regions():
            inside = [s for s in self.work if start.index < s.index < stop.index]
            if not inside and any(start.index < at < stop.index for at in self.hidden):
                continue
            if not inside:
                yield _warn(stop, f"no device work lies between the clock reads of lines "
                            f"{start.call.line} and {stop.call.line}")  # fmt: skip
            elif not any(inside[-1].index < w.index < stop.index for w in self.waits):
                yield _warn(
                    stop,
                    f"the clock is read before the work of line {inside[-1].call.line} is known to "
                    "be finished: no synchronisation stands between",
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
                            f"{start.call.line} and {stop.call.line}")  # fmt: skip
                continue
            waited = any(
                w.index > stop.index and w.call.name != "cudaStreamWaitEvent"
                for w in self.waits
                if w.entry == stop.entry
            )
            if not waited:
                yield _warn(stop, "the time is asked for, but nothing waits for the stop event")


def _warn(step: Step, message: str) -> Warn:
    return Warn("timer_outside_work", step.call.path, step.call.line, message)


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
