"""Findings over a whole run: which kinds, how often, at which lines, in which programs."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from warploom.core.records import Json
from warploom.reports.queries.details import ShownFinding, finding_of


@dataclass(frozen=True, slots=True)
class FoundKind:
    """One kind of finding in a run: how many findings, in how many programs, one of them whole."""

    kind: str
    severity: str
    findings: int
    programs: list[int]
    example: ShownFinding
    example_program: int


def found_in(rows: Sequence[Any], most: int = 30) -> list[FoundKind]:
    """Return findings by kind, the commonest first; rows are (id, number, findings)."""
    kinds: dict[tuple[str, str], list[tuple[int, Mapping[str, Json]]]] = defaultdict(list)
    for _, number, findings in rows:
        for item in findings:
            key = (str(item.get("severity", "error")), str(item.get("kind", "")))
            kinds[key].append((number, item))
    found: list[FoundKind] = []
    for items in kinds.values():
        numbers = list(dict.fromkeys(number for number, _ in items))
        example = finding_of(items[0][1], "")
        found.append(FoundKind(example.kind, example.severity, len(items), numbers[:most], example,
                               items[0][0]))  # fmt: skip
    return sorted(found, key=lambda one: (one.severity, -len(one.programs), one.kind))
