"""Values of preprocessor conditions, where the program's own text settles them."""

import re
from collections.abc import Callable, Sequence

from warploom.evaluation.legality.macros import Expander
from warploom.evaluation.legality.tokens import Token

_LEVELS = (
    ("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", ">", "<=", ">="), ("<<", ">>"),
    ("+", "-"), ("*", "/", "%"),
)  # fmt: skip
_DEEPEST = 40  # brackets and signs in each other, as a reader of conditions calls itself
_FIXED = frozenset({"true", "false", "defined"})
_NUMBER = re.compile(
    r"(0[xX][0-9a-fA-F']+|0[bB][01']+|[\d']+)[lL]*\Z"
)  # unsigned arithmetic is left open


class OpenError(ValueError):
    """The program's own text does not settle a condition; `names` are those that it leaves."""

    def __init__(self, names: frozenset[str] = frozenset()) -> None:
        super().__init__("open")
        self.names = names


def condition_names(words: Sequence[Token]) -> frozenset[str]:
    """Return the names that a condition spells."""
    return frozenset(w.text for w in words if w.kind == "name") - _FIXED


def holds(
    keyword: str, words: Sequence[Token], expander: Expander, is_system: Callable[[str], bool]
) -> bool:
    """Return whether the condition of `#keyword words` holds.

    Raises:
        OpenError: that depends on names of the system, or cannot be told.
    """
    if keyword in ("ifdef", "ifndef", "elifdef", "elifndef"):
        value = _defined(words[0].text if words else "", expander, is_system)
        return value != (keyword in ("ifndef", "elifndef"))
    plain = _without_defined(words, expander, is_system)
    tokens = expander.expand(plain)
    names = frozenset(t.text for t in tokens if t.kind == "name" and t.text not in _FIXED)
    outside = frozenset(name for name in names if is_system(name))
    if outside:
        raise OpenError(outside)
    return _Reader([_text(t) for t in tokens]).whole() != 0


def _text(token: Token) -> str:
    if token.kind == "name":
        return "1" if token.text == "true" else "0"
    return token.text


def _defined(name: str, expander: Expander, is_system: Callable[[str], bool]) -> bool:
    if name in expander.macros:
        return True
    if is_system(name):
        raise OpenError(frozenset({name}))
    return False


def _without_defined(
    words: Sequence[Token], expander: Expander, is_system: Callable[[str], bool]
) -> list[Token]:
    kept: list[Token] = []
    at = 0
    while at < len(words):
        word = words[at]
        if word.text != "defined":
            kept.append(word)
            at += 1
            continue
        bracket = at + 1 < len(words) and words[at + 1].text == "("
        place = at + 1 + bracket
        name = words[place].text if place < len(words) else ""
        value = _defined(name, expander, is_system)
        kept.append(Token("number", str(int(value)), word.line))
        at = place + 1 + bracket
    return kept


class _Reader:
    """Reads an integer expression of the preprocessor."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self.tokens = tokens
        self.at = 0
        self.depth = 0

    def whole(self) -> int:
        """Return the value of all tokens."""
        value = self._choice()
        if self.at != len(self.tokens):
            raise OpenError
        return value

    def _next(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def _choice(self) -> int:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise OpenError
        value = self._level(0)
        self.depth -= 1
        if self._next() != "?":
            return value
        self.at += 1
        first = self._choice()
        if self._next() != ":":
            raise OpenError
        self.at += 1
        second = self._choice()
        return first if value else second

    def _level(self, level: int) -> int:
        if level == len(_LEVELS):
            return self._unary()
        value = self._level(level + 1)
        while self._next() in _LEVELS[level]:
            operator = self._next()
            self.at += 1
            value = _in_range(_apply(operator, value, self._level(level + 1)))
        return value

    def _unary(self) -> int:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise OpenError
        value = self._operand()
        self.depth -= 1
        return value

    def _operand(self) -> int:
        word = self._next()
        self.at += 1
        if word == "(":
            value = self._choice()
            if self._next() != ")":
                raise OpenError
            self.at += 1
            return value
        if word in ("!", "-", "+", "~"):
            value = self._unary()
            return {"!": int(not value), "-": -value, "+": value, "~": ~value}[word]
        found = _NUMBER.match(word)
        if found is None:
            raise OpenError
        digits = found[1].replace("'", "")
        octal = len(digits) > 1 and digits[0] == "0" and digits.isdigit()
        try:
            value = int(digits, 8) if octal else int(digits, 0)
        except ValueError:
            raise OpenError from None
        return _in_range(value)


def _in_range(value: int) -> int:
    if not -(2**62) < value < 2**62:
        raise OpenError
    return value


def _apply(operator: str, a: int, b: int) -> int:
    if operator in ("/", "%"):
        if b == 0:
            raise OpenError
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        return quotient if operator == "/" else a - b * quotient
    if operator in ("<<", ">>"):
        if not 0 <= b < 64:
            raise OpenError
        return a << b if operator == "<<" else a >> b
    simple: dict[str, Callable[[], int]] = {
        "||": lambda: int(bool(a) or bool(b)), "&&": lambda: int(bool(a) and bool(b)),
        "|": lambda: a | b, "^": lambda: a ^ b, "&": lambda: a & b,
        "==": lambda: int(a == b), "!=": lambda: int(a != b), "<": lambda: int(a < b),
        ">": lambda: int(a > b), "<=": lambda: int(a <= b), ">=": lambda: int(a >= b),
        "+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b,
    }  # fmt: skip
    return simple[operator]()
