"""Findings over a whole run: which kinds, how often, at which lines, in which programs."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from warploom.core.records import Json
from warploom.reports.queries.details import ShownFinding, finding_of


@dataclass(frozen=True, slots=True)
class FoundKind:
    """One kind of finding in a run: how many findings, in how many programs, one of them whole.

    `programs` are the first of `programs_total`; the example is finding `example_at` of its
    program, counted from 1.
    """

    kind: str
    severity: str
    findings: int
    programs: list[int]
    example: ShownFinding
    example_program: int
    example_at: int
    programs_total: int


def found_in(rows: Sequence[Any], most: int = 30) -> list[FoundKind]:
    """Return findings by kind, the commonest first; rows are (id, number, findings)."""
    kinds: dict[tuple[str, str], list[tuple[int, int, Mapping[str, Json]]]] = defaultdict(list)
    for _, number, findings in rows:
        for at, item in enumerate(findings, 1):
            key = (str(item.get("severity", "error")), str(item.get("kind", "")))
            kinds[key].append((number, at, item))
    found: list[FoundKind] = []
    for items in kinds.values():
        numbers = list(dict.fromkeys(number for number, _, _ in items))
        example = finding_of(items[0][2], "")
        found.append(FoundKind(example.kind, example.severity, len(items), numbers[:most], example,
                               items[0][0], items[0][1], len(numbers)))  # fmt: skip
    return sorted(found, key=lambda one: (one.severity, -len(one.programs), one.kind))
