"""Packs that the parser misreads: where their patterns lie in the text, and what they hold.

The grammar takes some comma expressions for something else and finds the pattern of `(a, b)...` in
a part of it. Brackets tell for sure: a pattern begins behind the bracket or comma before it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from warploom.emulator.metering.arithmetic_prices import DIVISION, slots_of_call
from warploom.source.token_patterns import CHAR, COMMENT, NAME, NUMBER, RAW, STRING

_TOKEN = re.compile(
    rf"{COMMENT}|{RAW}|{STRING}|{CHAR}|{NUMBER}|{NAME}|\.\.\.|::|->"
    r"|<<=|>>=|<<|>>|[-+*/%&|^<>=!]=|&&|\|\||\+\+|--|\S",
    re.DOTALL,
)
_SIGNS = "+ - * < > & | ^ ~ << >> <= >= == != += -= *= &= |= ^= <<= >>= ++ -- ["
_ARITHMETIC = frozenset(_SIGNS.split(" "))
_SLOW = frozenset(("/", "%", "/=", "%="))
_BOUNDARIES = frozenset((";", ",", "{", "}", "(", "["))
_OPERATORS = (_ARITHMETIC | _SLOW | {"&&", "||", "="}) - {"[", "++", "--"}
_PACKS = ("parameter_pack_expansion", "fold_expression")


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Pattern:
    """What is evaluated for each element of a pack: where it lies, and its operations."""

    start: int
    end: int
    count: int


def misread_patterns(body: Node) -> Iterator[Pattern]:
    """Yield the patterns in a function's body that the parser did not see as they are."""
    text = body.text
    if not body.has_error or text is None or b"..." not in text:
        return
    shown = text.decode("latin-1")  # bytes are what offsets count
    words = [
        _Word(found[0], found.start() + body.start_byte, found.end() + body.start_byte)
        for found in _TOKEN.finditer(shown)
        if not found[0].startswith(("//", "/*"))
    ]
    for at, word in enumerate(words):
        if word.text == "..." and not _is_understood(body, word.start):
            found = _pattern(words, at)
            if found:
                count = _operations(found)
                if count:
                    yield Pattern(found[0].start, found[-1].end, count)


def _is_understood(body: Node, offset: int) -> bool:
    """Whether the parser takes what is at `offset` for a pack's, in text without errors."""
    node = body.descendant_for_byte_range(offset, offset + 3)
    seen = False
    while node is not None and node.type != "compound_statement":
        seen = seen or node.type in _PACKS
        if node.has_error or node.type == "ERROR":
            return False
        if node.type in ("parameter_list", "template_parameter_list", "sizeof_expression"):
            return True
        node = node.parent
    return seen


def _pattern(words: Sequence[_Word], at: int) -> Sequence[_Word]:
    """Return the words of the pattern that belongs to the `...` at `at`."""
    before, after = words[at - 1].text if at else "", _text(words, at + 1)
    if before in ("sizeof", "auto", "(", "typename", "class") and after not in _OPERATORS:
        return ()  # sizeof...(a), f(auto... a), catch (...)
    if before == "(":
        return words[at + 2 : _end(words, at + 2)]
    last = at - 1 if before in _OPERATORS or before == "," else at
    start = _begin(words, last)
    while start < last and words[start].text == "{":
        start += 1  # an initializer of its own: its first part
    return words[start:last]


def _begin(words: Sequence[_Word], last: int) -> int:
    depth = 0
    for i in range(last - 1, -1, -1):
        word = words[i].text
        if word in (")", "]", "}"):
            depth += 1
        elif depth == 0 and word in _BOUNDARIES:
            return i + 1
        elif word in ("(", "[", "{"):
            depth -= 1
    return 0


def _end(words: Sequence[_Word], start: int) -> int:
    depth = 0
    for i in range(start, len(words)):
        word = words[i].text
        if depth == 0 and word in (")", "]", "}", ",", ";"):
            return i
        depth += (word in ("(", "[", "{")) - (word in (")", "]", "}"))
    return len(words)


def _operations(words: Sequence[_Word]) -> int:
    """Return at least what the words of a pattern do, each time that it is evaluated."""
    count = 0
    for i, word in enumerate(words):
        if word.text in _SLOW:
            count += DIVISION
        elif word.text in _ARITHMETIC:
            count += 1
        elif _text(words, i + 1) == "(" and word.text.isidentifier():
            count += slots_of_call(word.text)
    return count


def _text(words: Sequence[_Word], at: int) -> str:
    return words[at].text if at < len(words) else ""
