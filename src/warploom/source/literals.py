"""What string literals of C++ stand for, as a compiler reads them."""

import re

_RAW = re.compile(r'(?:u8|[uUL])?R"([^()\\\s]{0,16})\((.*)\)\1"', re.DOTALL)
_PLAIN = re.compile(r'(?:u8|[uUL])?"(.*)"', re.DOTALL)
_ESCAPE = re.compile(r"\\(\r?\n|[0-7]{1,3}|x[0-9A-Fa-f]+|.)", re.DOTALL)
_SIMPLE = {
    "n": "\n", "t": "\t", "r": "\r", "v": "\v", "f": "\f", "a": "\a", "b": "\b",
    "\\": "\\", '"': '"', "'": "'", "?": "?",
}  # fmt: skip


def value_of_literal(literal: str) -> str | None:
    """Return the characters of a literal, prefix and quotes included; None where it has others.

    Others are escapes that compilers read differently, or that name characters by their code in
    Unicode, and bytes beyond 255.
    """
    if raw := _RAW.fullmatch(literal):
        return raw[2]
    plain = _PLAIN.fullmatch(literal)
    if plain is None:
        return None
    known = True

    def one(found: re.Match[str]) -> str:
        nonlocal known
        text = found[1]
        if text[0] in "\r\n":
            return ""  # a splice
        if text in _SIMPLE:
            return _SIMPLE[text]
        if text[0] in "01234567":
            code = int(text, 8)
        elif text[0] == "x" and len(text) > 1:
            code = int(text[1:], 16)
        else:
            code = 256
        known = known and code < 256
        return chr(min(code, 255))

    value = _ESCAPE.sub(one, plain[1])
    return value if known else None
