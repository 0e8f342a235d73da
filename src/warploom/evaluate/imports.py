"""What a built program asks of the system's libraries: the second look after the token rules.

A name that was hidden from the token rules (by a macro of a system header, or a function pointer)
still shows up among the symbols that the shared object takes from elsewhere.
"""

from collections.abc import Set

from warploom.core.records import Finding, Severity
from warploom.evaluate.refusals import FORBIDDEN, FORBIDDEN_CALLS

_CXX_PARTS = ("basic_ofstream", "basic_ifstream", "basic_fstream", "basic_filebuf", "filesystem")


def import_findings(candidate: Set[str], trusted: Set[str], name: str) -> list[Finding]:
    """Return a finding for each forbidden symbol that `candidate` needs and `trusted` does not."""
    return [
        Finding(
            kind="forbidden-call",
            severity=Severity.ERROR,
            message=f"the built program calls {symbol}, which {why}: no kernel needs it",
            file=name,
        )
        for symbol in sorted(candidate - trusted)
        if (why := _why(symbol))
    ]


def _why(symbol: str) -> str:
    base = symbol.partition("@")[0]
    plain = base.removeprefix("__").removesuffix("_chk").removesuffix("64").removesuffix("_2")
    known = FORBIDDEN | FORBIDDEN_CALLS
    for name in (base, plain):
        if name in known:
            return known[name]
    if any(part in symbol for part in _CXX_PARTS):
        return FORBIDDEN["fopen"]
    return ""
