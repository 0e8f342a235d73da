"""What g++ says of a program's values: it follows each one, however its text is written.

It is listened to where it is sure: a value that is used before it is set, and the address of a
variable that is used when the variable is gone.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from warploom.core.records import Finding, Severity
from warploom.toolchain.compilers import Compiler

KNOWS_PATTERNS = 12
"""The first g++ that fills what nobody sets, and warns of pointers to what is gone."""

_WATCHED = (
    "-Wuninitialized", "-Wmaybe-uninitialized", "-Winit-self", "-Wdangling-pointer=1",
    "-fno-diagnostics-show-caret",
)  # fmt: skip
_SEEN_UNSET = re.compile(r"\[-W(?:maybe-)?uninitialized\]$", re.MULTILINE)
_PLACE = r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):\d+: warning: "
_QUOTED = r"['\u2018](?P<name>[^'\u2019\n]+)['\u2019]"
# Of a variable it says where that is declared; memory behind pointers is watched anyway.
_VARIABLE = r"[^\n]*\n(?:[^\n]*: In [^\n]*\n)?[^\n]*: note: [^\n]* declared here"
_SURE = {
    rf"{_PLACE}{_QUOTED} is used uninitialized {_VARIABLE}": (
        "uninitialized_read",
        "'{}' is used before it is set",
    ),
    rf"{_PLACE}(?:address of|reference to) local variable {_QUOTED} returned ": (
        "use_after_free",
        "a function returns the address of '{}', which is gone when it has returned",
    ),
    rf"{_PLACE}using (?:a )?dangling pointer (?:['\u2018][^'\u2019\n]+['\u2019] )?to {_QUOTED} ": (
        "use_after_free",
        "a pointer to '{}' is used when the variable is gone",
    ),
}


_HINTS = {
    "uninitialized_read": "give the variable a value where it is declared: what it holds is not "
    "defined",
    "use_after_free": "let the caller own the memory, or return a value",
}


class Warned(NamedTuple):
    """A defect that the compiler is sure of: a finding's kind and message, and its place."""

    kind: str
    message: str
    file: str
    line: int

    def finding(self, severity: Severity) -> Finding:
        """Return it as a finding, with what to do about it."""
        hint = _HINTS[self.kind]
        return Finding(self.kind, severity, self.message, hint, self.file, self.line)


def watching(flags: tuple[str, ...], compiler: Compiler) -> tuple[str, ...]:
    """Return a pass's `flags`, with the warnings that are read."""
    if compiler.family != "gcc" or compiler.version < KNOWS_PATTERNS:
        return flags
    return (*(flag for flag in flags if flag != "-w"), *_WATCHED)


def sure_warnings(log: str) -> Iterator[Warned]:
    """Yield what a compiler's log is sure of; files are named as messages name them."""
    for pattern, (kind, text) in _SURE.items():
        for found in re.finditer(pattern, log, re.MULTILINE):
            name = found["name"].rpartition("::")[2]  # of 'sum.Part::value' the member
            yield Warned(kind, text.format(name), found["file"], int(found["line"]))


def uses_unset(log: str) -> bool:
    """Whether a compiler's log has a value that is used, or may be, before it is set."""
    return _SEEN_UNSET.search(log) is not None
