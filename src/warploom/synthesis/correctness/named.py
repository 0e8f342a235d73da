"""Numbers that a candidate's text names: what it might do something else for."""

import codecs
import re
import struct

_LITERAL = re.compile(
    r"(?<![\w.])(?:(0[xX][0-9a-fA-F']+|0[bB][01']+|\d[\d']*)[uUlL]*"
    r"|(?:u8|[uUL])?'((?:[^'\\\n]|\\.)+)')(?![\w.'])"
)
_BRACKETED = re.compile(r"(?<![\w\])>])\(\s*(-?\d+(?:\.\d*)?)\s*\)")
_FLIPPED = re.compile(r"~\s*(-?\d+)(?![\w.])")
_FOLDED = tuple(
    re.compile(rf"(?<![\w.])(-?\d+)\s*({signs})\s*(-?\d+)(?![\w.])")
    for signs in (r"[*/%]", r"[-+]", r"<<|>>", r"&(?!&)|\^|\|(?!\|)")
)
"""Operations on two numbers, those that bind more closely first."""
_CONSTANT = re.compile(
    r"(?:\bconst(?:expr)?\b[^;={}()]*\b(\w+)\s*=\s*|#[ \t]*define[ \t]+(\w+)[ \t]+)(\d+)\s*[;\n]"
)
_LAUNCH = re.compile(r"<<<\s*(\d+)\s*,\s*(\d+)\s*[,>]")
_REAL = re.compile(r"(?<![\w.])((?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][+-]?\d+)?)[fFlL]?(?!\w)")
_REAL_SUM = re.compile(r"([\d.]+)[fFlL]?\s*([-+*])\s*([\d.]+)[fFlL]?")
_LEAST, _MOST = 3, 262_144
_MOST_SIZES, _MOST_VALUES = 24, 64
_LARGEST = 1e6  # beyond it sums of honest kernels may be infinite in another order
_DEEPEST = 8  # of expressions within each other


def numbers_of(text: str) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Return the sizes and the values that a text names, in whatever notation.

    What is computed of numbers alone, and of constants that are numbers, is folded; so is how many
    threads a launch has. Bits of a float are read as one.
    """
    plain = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)
    found: set[int] = set()
    plain = _LITERAL.sub(lambda m: _noted(_whole(m), found), plain)
    for _ in range(_DEEPEST):
        before = plain
        plain = _BRACKETED.sub(r"\1", plain)
        plain = _FLIPPED.sub(lambda m: _noted(~int(m[1]), found), plain)
        for pattern in _FOLDED:
            plain = pattern.sub(lambda m: _folded(m, found), plain)
        plain = _without_constants(plain)
        if plain == before:
            break
    found |= {int(blocks) * int(threads) for blocks, threads in _LAUNCH.findall(plain)}
    whole = {abs(n) for n in found}
    sizes = sorted((n for n in whole if _LEAST <= n <= _MOST), reverse=True)
    real = {float(word) for word in _REAL.findall(plain)} | {float(n) for n in whole}
    real |= {_of_bits(n) for n in whole if n < 1 << 32} | _sums(plain)
    values = sorted(v for v in real if 1e-30 < v < _LARGEST)
    return tuple(sizes[:_MOST_SIZES]), tuple(values[:_MOST_VALUES])


def _without_constants(text: str) -> str:
    """Return a text with the values of constants that are numbers, where they are used."""
    values = {name or word: value for name, word, value in _CONSTANT.findall(text)}
    if not values:
        return text
    kept = [found.span() for found in _CONSTANT.finditer(text)]
    names = re.compile(rf"\b(?:{'|'.join(map(re.escape, values))})\b")

    def value(found: re.Match[str]) -> str:
        inside = any(begin <= found.start() < end for begin, end in kept)
        return found[0] if inside else values[found[0]]

    return names.sub(value, text)


def _whole(match: re.Match[str]) -> int:
    if match[2]:
        return _letters(match[2])
    word = match[1].replace("'", "")
    if word[:2].lower() in ("0x", "0b"):
        return int(word, 0)
    octal = word.startswith("0") and word.strip("01234567") == ""
    return int(word, 8 if octal else 10)


def _letters(text: str) -> int:
    """Return the number that letters in quotes are, several as g++ and nvcc have it."""
    try:
        plain = codecs.decode(text, "unicode_escape")
    except UnicodeDecodeError:
        plain = text
    value = 0
    for letter in plain:
        value = value << 8 | ord(letter)
    return value & 0xFFFFFFFF


def _noted(value: int, found: set[int]) -> str:
    found.add(value)
    return str(value)


def _folded(match: re.Match[str], found: set[int]) -> str:
    """Return the value of an operation on two numbers; what has none stays as it is."""
    a, sign, b = int(match[1]), match[2], int(match[3])
    if sign in ("/", "%"):
        value = None if b == 0 else (abs(a) // abs(b) if sign == "/" else abs(a) % abs(b))
    elif sign in ("<<", ">>"):
        value = None if not 0 <= b < 64 else (a << b if sign == "<<" else a >> b)
    else:
        value = {"*": a * b, "+": a + b, "-": a - b, "&": a & b, "^": a ^ b, "|": a | b}[sign]
    return match[0] if value is None or abs(value) >= 1 << 64 else _noted(value, found)


def _of_bits(word: int) -> float:
    value: float = struct.unpack("<f", struct.pack("<I", word))[0]
    return abs(value)


def _sums(text: str) -> set[float]:
    """Return what operations on two real numbers come to."""
    found: set[float] = set()
    for left, sign, right in _REAL_SUM.findall(text):
        try:
            a, b = float(left), float(right)
        except ValueError:  # no number, such as 1.2.3
            continue
        found.add(abs(a + b if sign == "+" else a - b if sign == "-" else a * b))
    return found
