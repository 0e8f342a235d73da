"""The kinds of finding: each one's name, severity, class, cure, and whether it has a page.

`finding_kinds.txt` is the one list. The runtime's names (`emulator/runtime/report/finding_kinds.h`)
are written from it by `python -m warploom.testing.finding_kinds`; the pages are in docs/findings,
of which docs/findings.md is the index.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from warploom.core.records import Severity


class KindClass(StrEnum):
    """What a kind of finding is about."""

    RACE = "race"  # accesses or messages that nothing orders
    MISUSE = "misuse"  # a call or an object against its rules
    MEMORY = "memory"  # an access that the memory does not allow
    FAILURE = "failure"  # the program does not come to its end, or says that it failed
    CAUSE = "cause"  # what other findings may come of: told before them
    LEGALITY = "legality"  # text that a candidate may not have
    RESULT = "result"  # a candidate computes or does something else than the trusted program
    DOUBT = "doubt"  # the verdict says less than it seems to


@dataclass(frozen=True, slots=True)
class FindingKind:
    """One kind. `severity` is the usual one; what is only suspected is told as a warning.

    `has_page`: `warploom explain NAME` prints its page, and the cure there is tested.
    """

    name: str
    severity: Severity
    kind_class: KindClass
    cure: str
    has_page: bool


_TABLE = Path(__file__).with_name("finding_kinds.txt")


def _read(line: str) -> FindingKind:
    name, kind_class, severity, page, cure = line.split(maxsplit=4)
    return FindingKind(name, Severity(severity), KindClass(kind_class), cure, page == "page")


KINDS: Mapping[str, FindingKind] = {
    kind.name: kind
    for kind in map(_read, _TABLE.read_text().splitlines()[2:])  # behind its comment
}
"""All kinds by name, in the order of the table."""


def of_class(kind_class: KindClass) -> frozenset[str]:
    """Return the names of a class's kinds."""
    return frozenset(kind.name for kind in KINDS.values() if kind.kind_class is kind_class)
