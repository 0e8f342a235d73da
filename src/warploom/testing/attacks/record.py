"""What an attack is, and what became of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from warploom.core.records import Json, to_json

ROOT = Path(__file__).parents[4]
FOLDER = ROOT / "tests" / "attacks"
PROGRAMS = FOLDER / "programs"
HOST_DRIVEN = ROOT / "examples" / "moe"
"""The workload of the modes eval-free and agent."""
FRAMED = PROGRAMS / "framed"
"""The workload of the mode eval-framed: a transformed program with mutable regions."""


class Mode(StrEnum):
    """How a program reaches the judge.

    `eval-free`: the whole text is the candidate's. `eval-framed`: it contributes regions only.
    `agent`: it is the answer of a coding agent in a transform. `check`: it is checked as it is.
    `rules`: an example is transformed by the rules, which is honest.
    """

    EVAL_FREE = "eval-free"
    EVAL_FRAMED = "eval-framed"
    AGENT = "agent"
    CHECK = "check"
    RULES = "rules"


class Expected(StrEnum):
    """What a judge that holds makes of a program.

    `caught`: it does not pass. `ok`: it passes, for it is honest. `found`: a check finds its defect
    with `-D BUG=1`, and nothing without. `no-gain`: it does not pass, or passes with the time of
    the honest program. `no-leak`: the planted secret shows nowhere, whatever the verdict.
    `open`: known not to be held; docs/security.md says so.
    """

    CAUGHT = "caught"
    OK = "ok"
    FOUND = "found"
    NO_GAIN = "no-gain"
    NO_LEAK = "no-leak"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Attack:
    """One program for the judge.

    `text` makes the program's text. `kind` is the class of attack, "honest" for a control that must
    pass and "control" for a plain defect that any judge finds. `row` names the row of the list of
    known cheats that it plays, "" where it plays none. `ranks` and `defines` are for `check`.
    """

    name: str
    kind: str
    modes: tuple[Mode, ...]
    expected: Expected
    text: Callable[[], str] = field(compare=False)
    row: str = ""
    ranks: int | None = None
    defines: Mapping[str, str] = field(default_factory=dict[str, str])


class Outcome(StrEnum):
    """How a play ended: `error` says nothing of the judge, only that the play went wrong."""

    CAUGHT = "caught"
    PASSED = "passed"
    FOOLED = "FOOLED"
    ACCUSED = "ACCUSED"
    OPEN = "not held"
    ERROR = "ERROR"


BAD = (Outcome.FOOLED, Outcome.ACCUSED, Outcome.ERROR)
"""The outcomes after which the command fails."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the judge said: whether the program passed, and who spoke first against it.

    `mechanism` is the kind of the first finding, `stage` where it was made; `message` its words.
    `speedup` is the modelled time of the honest program over this one's, where it was asked for.
    `problem` says why there is no verdict, "" where there is one.
    """

    passed: bool
    mechanism: str = ""
    stage: str = ""
    message: str = ""
    speedup: float | None = None
    leaked: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Played:
    """One attack in one mode."""

    name: str
    kind: str
    mode: Mode
    expected: Expected
    outcome: Outcome
    answer: Answer
    seconds: float
    setting: str = ""

    def to_json(self) -> Json:
        """Return plain JSON values."""
        return to_json(self)


def outcome_of(expected: Expected, answer: Answer, *, gain: float = 1.03) -> Outcome:
    """Say what `answer` means for an attack of which `expected` was asked."""
    if answer.problem:
        return Outcome.ACCUSED if expected is Expected.OK else Outcome.ERROR
    if answer.leaked:
        return Outcome.FOOLED
    if expected is Expected.OK:
        return Outcome.PASSED if answer.passed else Outcome.ACCUSED
    if expected is Expected.NO_LEAK:
        return Outcome.CAUGHT
    if not answer.passed:
        return Outcome.CAUGHT
    if expected is Expected.NO_GAIN and answer.speedup is not None and answer.speedup < gain:
        return Outcome.CAUGHT
    return Outcome.OPEN if expected is Expected.OPEN else Outcome.FOOLED
