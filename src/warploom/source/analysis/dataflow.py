"""Who makes what a collective sends, and who uses what it receives."""

from dataclasses import dataclass, field

from warploom.source.analysis.effects import Effect, Effects
from warploom.source.analysis.places import Place, Places
from warploom.source.analysis.trace import Control, Step
from warploom.source.records import BufferUse

_NAMED = ("kernel", "copy", "fill", "library", "call")


@dataclass(slots=True)
class Flow:
    """The neighbors of one collective, each once, in source order of discovery."""

    uses: dict[BufferUse, None] = field(default_factory=dict[BufferUse, None])

    def names(self, role: str) -> tuple[str, ...]:
        """Return the names of kernels, copies, fills and opaque calls in a role."""
        found = {u.name: None for u in self.uses if u.role == role and u.kind in _NAMED}
        return tuple(found)


class Neighbors:
    """Answers, for a collective's step, which other steps its buffers come from and go to."""

    def __init__(self, effects: Effects, places: Places) -> None:
        self._places = places
        self._by_place: dict[Place, list[Effect]] = {}
        self._by_step: dict[int, list[Effect]] = {}
        for effect in effects.all:
            self._by_place.setdefault(effect.place, []).append(effect)
            self._by_step.setdefault(effect.step.index, []).append(effect)

    def of(self, step: Step, flow: Flow) -> None:
        """Add the producers and consumers of one collective to `flow`."""
        own = self._by_step.get(step.index, [])
        for mine in own:
            for other in self._by_place[mine.place]:
                if other.step is step or other.kind == "mpi":
                    continue
                if mine.reads and other.writes and self._reaches(other, mine):
                    self._add(flow, "producer", other)
                if mine.writes and other.reads and self._reaches(mine, other):
                    self._add(flow, "consumer", other)

    def _add(self, flow: Flow, role: str, effect: Effect) -> None:
        call = effect.step.call
        use = BufferUse(
            role, effect.kind, effect.name, self._places.label(effect.place), call.path, call.line
        )
        flow.uses[use] = None

    def _reaches(self, writer: Effect, reader: Effect) -> bool:
        """Tell whether what `writer` leaves in the buffer can still be there for `reader`."""
        first, last = writer.step, reader.step
        if first.entry != last.entry or exclusive(first.control, last.control):
            return False
        if first.index < last.index and not self._killed(writer, reader, wraps=False):
            return True
        return bool(_common_loops(first.control, last.control)) and not self._killed(
            writer, reader, wraps=True
        )

    def _killed(self, writer: Effect, reader: Effect, *, wraps: bool) -> bool:
        low, high = writer.step.index, reader.step.index
        shared = set(writer.step.control) | set(reader.step.control)
        loops = _common_loops(writer.step.control, reader.step.control)
        for other in self._by_place[writer.place]:
            at = other.step.index
            if wraps:
                between = (at > low or at < high) and bool(loops & set(other.step.control))
            else:
                between = low < at < high
            if not (between and other.whole) or other.step in (writer.step, reader.step):
                continue
            # A repeat of the same call (warm-up, then timed) leaves the same kind of data; an
            # in-place call passes on what was there.
            if other.name in (writer.name, reader.name) or self._reads(other):
                continue
            branches = {c for c in other.step.control if c[0] == "branch"}
            if branches <= shared:
                return True
        return False

    def _reads(self, effect: Effect) -> bool:
        return any(e.reads and e.place == effect.place for e in self._by_step[effect.step.index])


def _common_loops(first: Control, second: Control) -> set[tuple[str, int, int, str]]:
    return {c for c in first if c[0] == "loop"} & {c for c in second if c[0] == "loop"}


def exclusive(first: Control, second: Control) -> bool:
    """Tell whether two steps stand in different arms of one branch that no loop repeats."""
    arms = {c[1:3]: c[3] for c in second if c[0] == "branch"}
    for at, entry in enumerate(first):
        if entry[0] == "branch" and arms.get(entry[1:3], entry[3]) != entry[3]:
            return not any(c[0] == "loop" and c in second for c in first[:at])
    return False
