"""Merges the findings of many runs, so that one defect is told once."""

import re
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from warploom.core.finding_kinds import KindClass, of_class
from warploom.core.records import Finding, Json, Severity, SourceLocation, to_json

# What other findings may come of, an error or not: it is told before them.
_CAUSES = of_class(KindClass.CAUSE)

_OURS = re.compile(rf"{re.escape(tempfile.gettempdir())}/warploom-[\w.-]+/")


@dataclass(frozen=True, slots=True)
class MergedFinding:
    """A finding, as the first run showed it, and in how many runs it was seen."""

    finding: Finding
    runs: int = 1

    def to_json(self) -> dict[str, Json]:
        """Return the finding's fields and `runs`, flat."""
        fields = to_json(self.finding)
        assert isinstance(fields, dict)
        return {**fields, "runs": self.runs}


def merge(runs: Iterable[Iterable[Finding]]) -> tuple[MergedFinding, ...]:
    """Merge findings of equal kind, file, line and kernel; errors first, then as seen.

    Before the errors come what these may come of: a call that the sandbox refuses, a wait that was
    over early. What comes of one such place is one entry, as the first run showed it.
    Findings without a line are told apart by their message too.
    """
    seen: dict[tuple[object, ...], MergedFinding] = {}
    for findings in runs:
        counted: set[tuple[object, ...]] = set()
        for finding in findings:
            key = _identity(finding)
            if key not in seen:
                seen[key] = MergedFinding(finding, 0)
            if key not in counted:
                counted.add(key)
                seen[key] = replace(seen[key], runs=seen[key].runs + 1)
    return tuple(sorted(seen.values(), key=lambda item: _order(item.finding)))


def _order(finding: Finding) -> int:
    if finding.kind in _CAUSES:
        return 0
    return 1 if finding.severity == Severity.ERROR else 2


def _identity(finding: Finding) -> tuple[object, ...]:
    if finding.cause is not None:
        return ("consequence", finding.severity, finding.cause.file, finding.cause.line)
    if finding.line is None:
        return (finding.kind, finding.severity, finding.kernel, finding.message)
    return (finding.kind, finding.severity, finding.file, finding.line, finding.kernel)


def renamed(finding: Finding, names: Mapping[str, str], folder: Path) -> Finding:
    """Return `finding` without paths of ours: copies in `folder` have the `names` of what they are.

    Its places, its words and its trace are looked at. What else lies there, or in a folder
    of another step of ours, has its plain name.
    """
    ordered = sorted(names.items(), key=lambda item: -len(item[0]))

    def text(words: str) -> str:
        for path, name in ordered:
            words = words.replace(path, name)
        return _OURS.sub("", words.replace(f"{folder}/", ""))

    def place(at: SourceLocation | None) -> SourceLocation | None:
        return None if at is None else replace(at, file=text(at.file))

    return replace(
        finding,
        message=text(finding.message),
        hint=text(finding.hint),
        file=None if finding.file is None else text(finding.file),
        other=place(finding.other),
        cause=place(finding.cause),
        trace=tuple(
            replace(event, file=None if event.file is None else text(event.file))
            for event in finding.trace
        ),
    )
