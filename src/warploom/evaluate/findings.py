"""Merges the findings of many runs, so that one defect is told once."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from warploom.core.records import Finding, Json, Severity, to_json

# What other findings may come of, an error or not: it is told before them.
_CAUSES = frozenset({"process_refused", "reference-defect", "reference-unsteady"})


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

    Before the errors come warnings of what these may come of: a call that the sandbox refuses.
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
    if finding.line is None:
        return (finding.kind, finding.severity, finding.kernel, finding.message)
    return (finding.kind, finding.severity, finding.file, finding.line, finding.kernel)
