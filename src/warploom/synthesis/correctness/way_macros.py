"""Macros that choose or bound: what is watched is the text of their use, which shows neither."""

import re

from warploom.source.syntax import SourceFile
from warploom.synthesis.correctness.ways import UnwatchedError

_DEFINE = re.compile(
    rb"^[ \t]*\#[ \t]*define[ \t]+\w+(?:\([^)\n]*\))?((?:\\\n|[^\n])*)", re.MULTILINE
)
_CHOOSING = re.compile(
    r"\?|\b(?:if|else|while|for|do|switch|case|and|or|not|goto)\b|[=!<>]=|&&|\|\||!|[<>]"
)
_CAST_WORDS = re.compile(r"\b\w+_cast\s*<[^<>]*>|<<<|>>>|<<|>>")
_BOUNDING = re.compile(r"\b(?:f|u|ll|ull|__h)?(?:min|max)(?:f|l|_nan)?\s*[<(]|\bclamp\s*[<(]")


def check_macros(tree: SourceFile) -> None:
    """Refuse macros that choose or bound.

    Raises:
        UnwatchedError: there is one.
    """
    for found in _DEFINE.finditer(tree.text):
        text = re.sub(rb"//[^\n]*|/\*.*?\*/", b" ", found[1]).decode("utf-8", "surrogateescape")
        if _CHOOSING.search(_CAST_WORDS.sub(" ", text)) or _BOUNDING.search(text):
            line = tree.line_of(found.start())
            raise UnwatchedError("a macro that decides something (a function can)", line)
