"""Reads the dynamic symbols of a 64-bit ELF file: what a program needs and what a runtime gives."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from warploom.core.errors import ToolFailedError

_SHT_SYMTAB = 2
_SHT_DYNSYM = 11
_SHT_GNU_VERSYM = 0x6FFFFFFF
_WEAK = 2
_LOCAL = 0
_FIRST_VERSION = 2  # smaller numbers mean: no library was found that gives the symbol
_MAGIC = b"\x7fELF\x02\x01"


@dataclass(frozen=True, slots=True)
class DynamicSymbols:
    """Names that a file takes from elsewhere (`imports`) and offers (`exports`).

    `unresolved` are the imports that no library of the link gave: each of those of the C and C++
    libraries has a version.
    """

    imports: frozenset[str]
    exports: frozenset[str]
    unresolved: frozenset[str]


def sections(data: bytes) -> Iterator[tuple[int, int, int, int, int]]:
    """Yield (type, offset, size, link, entry size) of each section."""
    offset = struct.unpack_from("<Q", data, 0x28)[0]
    size, count = struct.unpack_from("<HH", data, 0x3A)
    for number in range(count):
        _, kind, _, _, start, length, link, _, _, entry = struct.unpack_from(
            "<IIQQQQIIQQ", data, offset + number * size
        )
        yield kind, start, length, link, entry


def dynamic_symbols(path: Path) -> DynamicSymbols:
    """Return the dynamic symbols of the shared object or executable at `path`.

    Raises:
        ToolFailedError: it is not a 64-bit little-endian ELF file.
    """
    data = path.read_bytes()
    if not data.startswith(_MAGIC):
        raise ToolFailedError(f"{path} must be a 64-bit little-endian ELF file, but is not")
    table = list(sections(data))
    versions = next((start for kind, start, *_ in table if kind == _SHT_GNU_VERSYM), None)
    imports: set[str] = set()
    exports: set[str] = set()
    unresolved: set[str] = set()
    for kind, start, length, link, entry in table:
        if kind != _SHT_DYNSYM:
            continue
        names = table[link][1]
        for number, at in enumerate(range(start, start + length, entry)):
            name, info, _, section = struct.unpack_from("<IBBH", data, at)
            begin = names + name
            text = data[begin : data.index(b"\0", begin)].decode("latin-1")
            if not text:
                continue
            (exports if section else imports).add(text)
            version = 0
            if versions is not None:
                version = struct.unpack_from("<H", data, versions + 2 * number)[0] & 0x7FFF
            if not section and info >> 4 != _WEAK and version < _FIRST_VERSION:
                unresolved.add(text)
    return DynamicSymbols(frozenset(imports), frozenset(exports), frozenset(unresolved))


def defined_symbols(path: Path) -> frozenset[str]:
    """Return the names that the object file at `path` defines for others to see.

    Raises:
        ToolFailedError: it is not a 64-bit little-endian ELF file.
    """
    data = path.read_bytes()
    if not data.startswith(_MAGIC):
        raise ToolFailedError(f"{path} must be a 64-bit little-endian ELF file, but is not")
    table = list(sections(data))
    found: set[str] = set()
    for kind, start, length, link, entry in table:
        if kind != _SHT_SYMTAB:
            continue
        names = table[link][1]
        for at in range(start, start + length, entry):
            name, info, other, section = struct.unpack_from("<IBBH", data, at)
            if section and name and info >> 4 != _LOCAL and not other & 3:
                begin = names + name
                found.add(data[begin : data.index(b"\0", begin)].decode("latin-1"))
    return frozenset(found)
