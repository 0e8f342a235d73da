"""How one read-back differs from the reference's, and what to do about it."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warploom.emulator import CHUNK_BYTES

if TYPE_CHECKING:  # loads NumPy, which a check of one program does not need
    from warploom.evaluation.compare.outputs import Key


@dataclass(frozen=True, slots=True)
class Worst:
    """The element that misses its tolerance most; `index` counts elements of the read-back."""

    index: int
    expected: float
    got: float
    error: float
    tolerance: float


RESULT_CURES = {
    "missing_result": "have the host read that result back as the reference does at this line: "
    "from memory of the same name, as many times and in the same order",
    "extra_result": "take this read-back out, or into the reference as well: only what both make "
    "can be compared",
    "resized_result": "read back as many elements as the reference does",
    "elsewhere_result": "read the result back in the same place of the program as the reference",
    "wrong_result": "compute what the reference computes from the same inputs; where only the "
    "order of additions differs, the workload's tolerances say how far off a value may be",
}
"""What to do about a result that is not the reference's, by the kind of its finding."""
MISSING = "missing_result"
"""The kind of finding whose line is one of the reference, as the program has none."""


def kind_of_problem(problem: str) -> str:
    """Return the kind of the finding about a difference's problem."""
    return "wrong_result" if problem == "differs" else f"{problem}_result"


@dataclass(frozen=True, slots=True)
class Difference:
    """How one read-back fares against the reference's.

    `problem` is empty where it matches; otherwise one of `missing`, `extra`, `resized`,
    `differs`, `elsewhere` (read by other code than in the trusted program).
    `mismatched` of `elements` are out of tolerance; `worst` names the worst of them.
    """

    key: "Key"
    dtype: str
    problem: str
    elements: int
    mismatched: int = 0
    worst: Worst | None = None
    max_error: float = 0.0
    file: str | None = None
    line: int | None = None

    def describe(self) -> str:
        """Say in one sentence what is wrong."""
        what = f"rank {self.key.rank}: {self._subject()}"
        if self.problem == "missing":
            what_else = "its host reads there what devices stored"
            return f"{what} is missing: the reference {what_else if self.key.part else 'makes it'}"
        if self.problem == "resized" and self.key.part:
            return f"{what} is shorter: the host reads less of what devices stored there"
        if self.problem == "elsewhere":
            return (
                f"{what} is read here, and in the reference elsewhere: what the program goes on "
                "with may be something else"
            )
        if self.problem == "extra":
            return f"{what} is one that the reference does not make"
        if self.problem == "resized":
            return f"{what} has another size than the reference's {self.elements} elements"
        worst = self.worst
        if worst is None:
            return f"{what} matches"
        text = (
            f"{what} differs in {self.mismatched} of {self.elements} elements; worst: element "
            f"{worst.index} is {worst.got:.9g}, expected {worst.expected:.9g}"
        )
        if not (math.isfinite(worst.got) and math.isfinite(worst.expected)):
            return text  # no number says how far that is off
        return f"{text} (error {worst.error:.3g}, tolerance {worst.tolerance:.3g})"

    def _subject(self) -> str:
        key = self.key
        if key.part is None:
            return f"read-back {key.occurrence + 1} of {key.buffer or 'an unnamed copy'}"
        which, chunk = key.part
        where = f", from byte {chunk * CHUNK_BYTES} on" if chunk else ""
        number = f" (allocation {which + 1} of this name)" if which else ""
        name = key.buffer or "unnamed memory of both sides"
        return f"value {key.occurrence + 1} that the host reads in {name}{number}{where}"
