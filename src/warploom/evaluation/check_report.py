"""The record of what a check concluded, on whatever backend."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from warploom.backends import EMULATOR, NO_TIME
from warploom.core.records import Json, Verdict, to_json
from warploom.evaluation.merged_findings import MergedFinding
from warploom.evaluation.records import OutputComparison
from warploom.evaluation.runs.plan import Effort
from warploom.evaluation.runs.record import RunRecord

TAIL = 4000
"""Characters of the program's output that a report keeps."""


@dataclass(frozen=True, slots=True)
class TimedInterval:
    """One interval that the program takes, in milliseconds.

    `line` is where it was taken. Of each run counts the slowest rank; `median`, `low` and `high`
    are over the runs.
    """

    file: str | None
    line: int | None
    occurrence: int
    median: float
    low: float
    high: float
    runs: int


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What `check` concluded.

    `printed_verdict` is what the program said of itself (PASS, FAIL or empty): recorded, not
    believed. `planned` runs were intended; fewer `runs` were made where the first could not end, or
    where a thorough check found nothing new any more. `effort` is None for a replay, whose findings
    have a trace. `output` is the end of what the first failing run (or else the first) printed.

    A backend that steers nothing has its read-backs compared: `expected` says against what,
    "emulator" or why not. A clean verdict says then that these runs, on these `devices`, showed
    nothing; the emulator's says more. `time_source` says what `times` are worth: "measured",
    "modelled", "own-network" where what was sent went over a network of ours, whose speed says
    nothing of a card's, and "none" without times. `shared`: several ranks had one device.
    """

    verdict: Verdict
    effort: Effort | None
    findings: tuple[MergedFinding, ...]
    runs: tuple[RunRecord, ...]
    planned: int
    program: Path
    ranks: int
    lsa_size: int | None
    node_size: int | None
    nccl: str
    processes: str
    defines: Mapping[str, str]
    args: tuple[str, ...]
    printed_verdict: str
    output: str
    sandbox: str
    build_seconds: float
    seconds: float
    backend: str = EMULATOR
    devices: tuple[str, ...] = ()
    shared: bool = False
    own_network: bool = False
    comparisons: tuple[OutputComparison, ...] = ()
    expected: str = ""
    times: tuple[TimedInterval, ...] = ()
    time_source: str = NO_TIME

    @property
    def exit_code(self) -> int:
        """0 nothing found and the program succeeded; 1 not good; 3 not supported here."""
        return {Verdict.OK: 0, Verdict.UNSUPPORTED: 3}.get(self.verdict, 1)

    def to_json(self) -> dict[str, Json]:
        """Return the report as plain JSON values; `findings` are flat objects."""
        data = to_json({name: getattr(self, name) for name in self.__slots__ if name != "findings"})
        assert isinstance(data, dict)
        return {
            "verdict": str(self.verdict),
            "findings": [item.to_json() for item in self.findings],
            **data,
        }
