"""What a built program asks of the system's libraries: the second look after the token rules.

A name that was hidden from the token rules (by a macro of a system header, or a function pointer)
still shows up among the symbols that the shared object takes from elsewhere. What is allowed is on
a list, and must be known to follow no pointer unseen (`emulator/building/host_imports.py`); what
the trusted program takes is allowed too.
"""

from collections.abc import Set

from warploom.core.records import Finding, Severity
from warploom.emulator.building.host_imports import (
    BY_HEADERS,
    classify,
    plain_name,
    unknown_imports,
)
from warploom.evaluation.legality.allowed_names import API_TELLING, API_UNSEEN, HOST_C
from warploom.evaluation.legality.refusals import FORBIDDEN, FORBIDDEN_CALLS

# Of the C++ library, by mangled name: what touches files, other than the standard streams.
_CXX_PARTS = (
    "basic_ofstream", "basic_ifstream", "basic_fstream", "basic_filebuf", "filesystem",
    "random_device", "dynamic_library", "quick_exit", "set_terminate",
    "6locale6global",
)  # fmt: skip
_UNSEEN = "touches memory where no check sees it"


def import_findings(
    candidate: Set[str], trusted: Set[str], name: str, offered: frozenset[str]
) -> list[Finding]:
    """Return a finding for each symbol that `candidate` needs and may not, and `trusted` does not.

    Names that no library knows are the business of the link.

    Args:
        candidate: what its object takes from elsewhere.
        trusted: what the trusted program's does.
        name: the candidate's file, for messages.
        offered: what the runtime exports.
    """
    unseen = set(unknown_imports(candidate - trusted, offered))
    return [
        Finding(
            kind="forbidden_call",
            severity=Severity.ERROR,
            message=f"the built program calls {symbol}, which {why}: no kernel needs it",
            file=name,
        )
        for symbol in sorted(candidate - trusted)
        if (why := _why(symbol) or (_UNSEEN if symbol in unseen else ""))
    ]


def _why(symbol: str) -> str:
    base = plain_name(symbol.partition("@")[0])
    plain = base.removeprefix("__").removesuffix("_chk").removesuffix("64").removesuffix("_2")
    known = FORBIDDEN | FORBIDDEN_CALLS
    if API_TELLING.match(base):
        return "tells the time or the machine"
    if base in API_UNSEEN:
        return "opens memory to kernels in which nothing is looked at"
    for name in (base, plain):
        if name in known:
            return known[name]
    if any(part in symbol for part in _CXX_PARTS):
        return FORBIDDEN["fopen"]
    if base in BY_HEADERS or plain in BY_HEADERS or {plain, plain.removesuffix("l")} & HOST_C:
        return ""
    entry = classify(base)
    if entry is not None and base not in entry.names:  # plain C names are on the lists above
        return ""
    return "is not on the list of what candidates may call"
