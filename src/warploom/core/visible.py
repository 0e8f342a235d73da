"""Texts of programs as people may see them: nothing moves a cursor or turns a line around."""

import unicodedata

_KEPT = frozenset("\n\t")


def visible(text: str) -> str:
    r"""Return `text` with each character that works on a terminal or a reader named instead.

    Named (`\x1b`, `\u202e`) are control characters, those that turn the direction of text or have
    no width, line separators of Unicode, and bytes that are no UTF-8. Line feeds and tabs are kept.
    """
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(char if _is_harmless(char) else _named(char) for char in text)


def _is_harmless(char: str) -> bool:
    return char in _KEPT or char.isprintable() or unicodedata.category(char) == "Zs"


def _named(char: str) -> str:
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
