"""Numbers that a candidate's text names: what it might do something else for."""

import re

_WHOLE = re.compile(r"(?<![\w.])(0[xX][0-9a-fA-F]+|\d+)(?:[uUlL]*)(?![\w.])")
_FOLDED = re.compile(r"(?<![\w.])(\d{1,9})[uUlL]*\s*(<<|\*)\s*(\d{1,9})[uUlL]*(?![\w.])")
_REAL = re.compile(r"(?<![\w.])((?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][+-]?\d+)?)[fFlL]?(?!\w)")
_LEAST, _MOST = 3, 262_144
_MOST_SIZES, _MOST_VALUES = 24, 64


def numbers_of(text: str) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Return the sizes and the values that a text names, products and shifts of two folded."""
    plain = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)
    whole = [int(word, 0) if word[:2] in ("0x", "0X") else int(word) for word in
             _WHOLE.findall(plain)]  # fmt: skip
    for left, sign, right in _FOLDED.findall(plain):
        a, b = int(left), int(right)
        if sign == "*":
            whole.append(a * b)
        elif b < _MOST.bit_length():
            whole.append(a << b)
    sizes = sorted({n for n in whole if _LEAST <= n <= _MOST})
    real = {float(word) for word in _REAL.findall(plain)} | {float(n) for n in whole}
    values = sorted(v for v in real if v != 0 and v < _LARGEST)
    return tuple(sizes[:_MOST_SIZES]), tuple(values[:_MOST_VALUES])


_LARGEST = 1e6  # beyond it sums of honest kernels may be infinite in another order
