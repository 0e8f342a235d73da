"""What device code may call outside of the program: the list in `device_calls.txt`."""

import functools
from pathlib import Path

LIST = Path(__file__).with_name("device_calls.txt")
"""The symbols, with a comment for each group."""

SUFFIX = "$dev"
"""Ends the symbols of the device pass: see guard/merge.cpp."""


@functools.cache
def allowed_symbols() -> str:
    """Return the symbols line by line, as the guard reads them."""
    lines = (line.strip() for line in LIST.read_text().splitlines())
    return "".join(f"{_symbol(line)}\n" for line in lines if line and not line.startswith("#"))


def _symbol(name: str) -> str:
    """Return how the symbols of a C++ function with scopes begin; other names as they are."""
    if "::" not in name:
        return name
    return f"_ZN{''.join(f'{len(part)}{part}' for part in name.split('::'))}E*"


def called_from_device(symbol: str) -> str | None:
    """Return the plain symbol if device code needs it and the device has none, else None."""
    return symbol.removesuffix(SUFFIX) if symbol.endswith(SUFFIX) else None
