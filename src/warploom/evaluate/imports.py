"""What a built program asks of the system's libraries: the second look after the token rules.

A name that was hidden from the token rules (a macro of a system header, a function pointer) still
shows up among the undefined symbols of the shared object. No tool is needed to read them.
"""

import struct
from pathlib import Path

from warploom.core.errors import ToolFailedError
from warploom.core.records import Finding, Severity
from warploom.evaluate.refusals import FORBIDDEN, FORBIDDEN_CALLS

_SHT_DYNSYM = 11
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_CXX_PARTS = ("basic_ofstream", "basic_ifstream", "basic_fstream", "basic_filebuf", "filesystem")


def undefined_symbols(library: Path) -> frozenset[str]:
    """Return the names that a 64-bit little-endian ELF shared object takes from others.

    Raises:
        ToolFailedError: the file is no such object.
    """
    data = library.read_bytes()
    if data[:6] != b"\x7fELF\x02\x01":
        raise ToolFailedError("a build must be a 64-bit ELF object", file=str(library))
    table, size, count = _section_table(data)
    sections = [_SECTION.unpack_from(data, table + i * size) for i in range(count)]
    names: set[str] = set()
    for section in sections:
        if section[1] != _SHT_DYNSYM:
            continue
        strings = sections[section[6]][4]
        for at in range(section[4], section[4] + section[5], _SYMBOL.size):
            name, _, _, index, _, _ = _SYMBOL.unpack_from(data, at)
            if index == 0 and name:
                start = strings + name
                names.add(data[start : data.index(b"\0", start)].decode("ascii", "replace"))
    return frozenset(names)


def _section_table(data: bytes) -> tuple[int, int, int]:
    """Return the file offset of the section headers, the size of one, and their number."""
    offset = struct.unpack_from("<Q", data, 40)[0]
    size, count = struct.unpack_from("<HH", data, 58)
    return offset, size, count


def import_findings(candidate: Path, trusted: Path, name: str) -> list[Finding]:
    """Return a finding for each forbidden symbol that `candidate` needs and `trusted` does not."""
    fresh = undefined_symbols(candidate) - undefined_symbols(trusted)
    return [
        Finding(
            kind="forbidden-call",
            severity=Severity.ERROR,
            message=f"the built program calls {symbol}, which {why}: no kernel or pipeline needs it",
            file=name,
        )
        for symbol in sorted(fresh)
        if (why := _why(symbol))
    ]


def _why(symbol: str) -> str:
    plain = symbol.removeprefix("__").removesuffix("64").removesuffix("_chk")
    known = FORBIDDEN | FORBIDDEN_CALLS
    for name in (symbol, plain):
        if name in known:
            return known[name]
    if any(part in symbol for part in _CXX_PARTS):
        return FORBIDDEN["fopen"]
    return ""
