"""Who judges the corpus: our own `check`, or any command that prints the same JSON."""

import json
import os
import shlex
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from warploom.core.errors import BadInputError, ToolFailedError
from warploom.core.records import Finding, Limits, Severity, Verdict
from warploom.evaluation.check import check
from warploom.evaluation.merged_findings import MergedFinding
from warploom.evaluation.runs.plan import Effort
from warploom.testing.corpus_files import Entry
from warploom.workload.workload import Workload

LIMITS = Limits(seconds=60.0, memory_mb=8192, output_mb=4)
_COMMAND_SECONDS = 600.0


class Judgment(Protocol):
    """What is needed of a report: its verdict and its findings."""

    @property
    def verdict(self) -> Verdict:
        """What was concluded about the program."""
        ...

    @property
    def findings(self) -> Sequence[MergedFinding]:
        """All findings, warnings included."""
        ...

    @property
    def seconds(self) -> float:
        """How long it took."""
        ...


class Checker(Protocol):
    """Judges one entry."""

    def __call__(self, entry: Entry) -> Judgment:
        """Judge the program as the entry's setting and defect say."""
        ...


@dataclass(frozen=True, slots=True)
class OwnChecker:
    """`warploom.check` with random networks at `seeds` seeds; None: the effort's."""

    seeds: int | None = 3
    effort: Effort = Effort.NORMAL

    def __call__(self, entry: Entry) -> Judgment:
        """Check the entry's program.

        Raises:
            WarploomError: the program cannot be built or run.
        """
        workload = Workload.from_program(
            entry.program,
            ranks=entry.setting.ranks,
            lsa_size=entry.setting.lsa_size,
            nccl=entry.setting.nccl,
            defines=entry.defines,
            limits=LIMITS,
        )
        return check(workload, effort=self.effort, seeds=self.seeds)


@dataclass(frozen=True, slots=True)
class CommandReport:
    """What a command said of one entry."""

    verdict: Verdict
    findings: tuple[MergedFinding, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class CommandChecker:
    """A command that takes the arguments of `warploom check` and prints its JSON.

    It is called as `COMMAND PROGRAM --ranks N [--lsa-size N] --nccl VERSION [-D NAME=1] --json` and
    must print one object with `verdict` (ok, defect, failed, deadlock, unsupported) and `findings`,
    a list of objects with `kind`, `severity` (error, warning), `file` and `line`; both may be null.
    """

    command: str

    def __call__(self, entry: Entry) -> Judgment:
        """Run the command on the entry's program.

        Raises:
            BadInputError: the command is empty.
            ToolFailedError: it cannot be run, does not end, or prints something else.
        """
        started = time.monotonic()
        words = [*shlex.split(self.command), *_arguments(entry)]
        if len(words) == len(_arguments(entry)):
            raise BadInputError("the checker's command must not be empty")
        try:
            done = subprocess.run(
                words, capture_output=True, text=True, timeout=_COMMAND_SECONDS, check=False
            )
            report = _parse(done.stdout)
        except (OSError, subprocess.TimeoutExpired, ValueError) as error:
            raise ToolFailedError(
                f"{words[0]} must print the JSON of `warploom check` for {entry.name}, but: {error}"
            ) from error
        return CommandReport(*report, time.monotonic() - started)


def _arguments(entry: Entry) -> list[str]:
    setting = entry.setting
    lsa = [] if setting.lsa_size is None else ["--lsa-size", str(setting.lsa_size)]
    defines = [word for name, value in entry.defines.items() for word in ("-D", f"{name}={value}")]
    ranks = ["--ranks", str(setting.ranks), *lsa, "--nccl", setting.nccl]
    return [os.fspath(entry.program), *ranks, *defines, "--json"]


def _parse(text: str) -> tuple[Verdict, tuple[MergedFinding, ...]]:
    """Read a report; whatever it lacks is a ValueError."""
    data: Any = json.loads(text)
    try:
        findings = tuple(
            MergedFinding(
                Finding(
                    kind=str(item["kind"]),
                    severity=Severity(item["severity"]),
                    message="",
                    file=None if item.get("file") is None else str(Path(item["file"])),
                    line=None if item.get("line") is None else int(item["line"]),
                )
            )
            for item in data["findings"]
        )
        return Verdict(data["verdict"]), findings
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"the report lacks {error}") from error
