"""GitHub's hash of a line and what follows it, by which its code scanning knows a result again.

It is that of the action which uploads SARIF files: 100 characters from the line on, blanks left out
and line ends made alike, as digits of a number to the base of 37, modulo 2^64.
"""

from collections import Counter

_WINDOW = 100
_BASE = 37
_MASK = (1 << 64) - 1
_FIRST = pow(_BASE, _WINDOW, 1 << 64)
_END = 0xFFFF
_BLANK = frozenset((0x20, 0x09))
_LF, _CR = 0x0A, 0x0D


def line_hashes(text: str) -> list[str]:
    """Return HASH:COUNT for each line; the count tells equal hashes apart, from 1."""
    units, starts = _units(text)
    rolled = _rolled(units)
    seen: Counter[int] = Counter()
    found: list[str] = []
    for start in starts:
        value = rolled[start + _WINDOW - 1]
        seen[value] += 1
        found.append(f"{value:x}:{seen[value]}")
    return found


def _units(text: str) -> tuple[list[int], list[int]]:
    """Return the UTF-16 units that count, and where among them each line starts."""
    data = text.encode("utf-16-le", "surrogatepass")
    units: list[int] = []
    starts: list[int] = []
    fresh, after_cr = True, False
    for at in range(0, len(data), 2):
        unit = data[at] | data[at + 1] << 8
        if unit in _BLANK or (after_cr and unit == _LF):
            after_cr = False
            continue
        after_cr = unit == _CR
        if fresh:
            starts.append(len(units))
        fresh = unit in (_LF, _CR)
        units.append(_LF if after_cr else unit)
    if fresh:
        starts.append(len(units))
    return [*units, _END], starts


def _rolled(units: list[int]) -> list[int]:
    """Return the hash of the window that ends with each unit; zeros follow the last."""
    value, found = 0, list[int]()
    padded = [*units, *([0] * _WINDOW)]
    for at, unit in enumerate(padded):
        gone = padded[at - _WINDOW] if at >= _WINDOW else 0
        value = (value * _BASE + unit - _FIRST * gone) & _MASK
        found.append(value)
    return found
