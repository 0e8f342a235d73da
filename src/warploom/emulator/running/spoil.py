"""Spoil runs: what a run alters of what moves between ranks, of inputs, and of memory."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Stops:
    """Where a program repeats its work: `parts` times after point `point` (counted from 1).

    `calls` are those that each process queues in one part.
    """

    point: int
    parts: int
    calls: tuple[int, ...]

    def __str__(self) -> str:
        """Return the option of the run (behavior/iterations.h)."""
        return f"{self.point}:{self.parts}:" + ",".join(map(str, self.calls))


@dataclass(frozen=True, slots=True)
class Spoil:
    """What a spoil run alters.

    `what` says what moves between ranks is altered, as behavior/spoil.h has it, once `since` events
    have been recorded. `poison` alters at that many records of events what iterations should
    compute anew; `scramble` instead what they carry over, when it is read (`only_counts`: nothing
    is altered there, and the same is counted). With `versions`, MiB to keep that in, each read-back
    tells what lay there at earlier points and at `stops`, where the program repeats its work.
    `points` are the records of each process that count for this, `meet` has all processes wait at
    these, and with `strict` what kernels wrote before the first communication is altered as well.
    With `take_back` (behavior/versions.h; it needs `versions`) memory becomes at one point what it
    was at several moments before, and the program goes on with that. `inputs` alters inputs of
    single ranks (behavior/inputs.h), and `turns` those of all ranks between iterations, where
    memory is altered (behavior/turned_inputs.h).
    """

    what: str = ""
    since: int = 0
    poison: int = 0
    scramble: bool = False
    only_counts: bool = False
    versions: int = 0
    stops: Stops | None = None
    points: Mapping[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])
    meet: bool = False
    strict: bool = False
    take_back: str = ""
    inputs: str = ""
    turns: str = ""

    def settings(self) -> Iterator[tuple[str, object]]:
        """Yield the lines of the runtime's configuration."""
        yield "spoil", self.what
        yield "spoil_from", self.since
        yield "poison", self.poison
        yield "scramble", int(self.scramble)
        yield "only_counts", int(self.only_counts)
        yield "versions", self.versions
        if self.stops is not None:
            yield "stops", self.stops
        yield "meet", int(self.meet)
        yield "strict", int(self.strict)
        if self.take_back:
            yield "take_back", self.take_back
        if self.inputs:
            yield "inputs", self.inputs
        if self.turns:
            yield "turns", self.turns
        for process, numbers in self.points.items():
            yield "points", f"{process}:" + ",".join(map(str, numbers))
