"""CUDA text without what is no code: comments and literals are blanks, all else stays in place."""

import functools
import re
from typing import AnyStr

from warploom.source.token_patterns import CHAR, COMMENT, NAME, NUMBER, RAW, STRING

_PIECE = (
    rf"(?P<hidden>{COMMENT}|{RAW}|{STRING}|{CHAR})"
    # As much code at once as holds no quote: a call for each name takes three times as long.
    rf"|(?:(?>{NUMBER}|{NAME})(?![\"'])|[^0-9A-Za-z_$.'\"/])+|{NUMBER}|{NAME}"
)
_NO_BREAK = r"[^\r\n]"
_IN_TEXT = re.compile(_PIECE, re.DOTALL), re.compile(_NO_BREAK)
_IN_BYTES = re.compile(_PIECE.encode(), re.DOTALL), re.compile(_NO_BREAK.encode())


def mask(text: AnyStr) -> AnyStr:
    """Return `text` with comments and literals blanked; offsets and lines stay."""
    return _masked_bytes(text) if isinstance(text, bytes) else _masked_text(text)


@functools.lru_cache(maxsize=64)  # a candidate's text is asked for by many rules in turn
def _masked_text(text: str) -> str:
    return _masked(text, *_IN_TEXT, " ")


@functools.lru_cache(maxsize=64)
def _masked_bytes(text: bytes) -> bytes:
    return _masked(text, *_IN_BYTES, b" ")


def _masked(
    text: AnyStr, piece: re.Pattern[AnyStr], no_break: re.Pattern[AnyStr], blank: AnyStr
) -> AnyStr:
    def shown(match: re.Match[AnyStr]) -> AnyStr:
        return no_break.sub(blank, match[0]) if match["hidden"] else match[0]

    return piece.sub(shown, text)
