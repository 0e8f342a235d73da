"""The template of an asm statement: its instructions as the assembler reads them."""

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence

from warploom.core.errors import WarploomError
from warploom.emulator.tokens import Kind, Token, TokenStream
from warploom.source.edits import decode
from warploom.source.literals import value_of_literal

Texts = Mapping[bytes, tuple[tuple[Token, ...], ...]]
"""Macros that stand for text: the tokens of each of its definitions; none where one is no text."""

_MOST_WAYS = 16  # of one template
_TEXT = re.compile(r"[\t\n -~\x80-\U0010ffff]*")  # what else there is nvcc may read otherwise
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)  # of PTX, where lines are not spliced
LABEL = re.compile(r"([A-Za-z_$%][\w$]*)\s*:(?!:)\s*(.*)", re.DOTALL)
"""A label and what follows it."""
PREDICATE = re.compile(r"@(!?)\s*([%\w$]+)\s+(.*)", re.DOTALL)
"""A predicate (its negation, its register) and the instruction behind it."""


class UnknownInstructionError(WarploomError):
    """An instruction that has no meaning here; the message is the instruction."""


def text_macros(stream: TokenStream, known: Texts) -> Texts:
    """Return `known` and the macros of a file: `#define OP "add.f32 %0, %0, %0;"`."""
    found = dict(known)
    for directive in stream.directives:
        words = tuple(stream.tokens[at] for at in directive.tokens)
        if directive.keyword != b"define" or len(words) < 2:
            continue
        name, *value = words
        before = found.get(name.text)
        if not all(word.kind in (Kind.STRING, Kind.NAME) for word in value):
            if before is not None:
                found[name.text] = ()
        elif before is None:
            found[name.text] = (tuple(value),)
        elif before and not any(_same(value, other) for other in before):
            found[name.text] = (*before, tuple(value))
    return found


def _same(value: Iterable[Token], other: Iterable[Token]) -> bool:
    return [word.text for word in value] == [word.text for word in other]


def choices(tokens: Sequence[Token], macros: Texts) -> list[Texts]:
    """Return the macros that a template names, with one definition of each, in every way.

    Empty where it names none. Ways beyond `_MOST_WAYS` are left out.
    """
    named: dict[bytes, tuple[tuple[Token, ...], ...]] = {}
    todo = list(tokens)
    while todo:
        token = todo.pop()
        if token.kind is Kind.NAME and token.text in macros and token.text not in named:
            named[token.text] = macros[token.text]
            todo += [word for definition in macros[token.text] for word in definition]
    if not named or not all(named.values()):
        return []
    ways = itertools.islice(itertools.product(*named.values()), _MOST_WAYS)
    return [dict(zip(named, ((one,) for one in way), strict=True)) for way in ways]


def template_of(tokens: Iterable[Token], macros: Texts) -> str:
    """Return the text that string literals and macros before the first colon make.

    Raises:
        UnknownInstructionError: it is not known what one of its words stands for.
    """
    found: list[str] = []
    for token in tokens:
        if token.kind is Kind.STRING:
            found.append(literal(decode(token.text)))
            continue
        value = macros.get(token.text, ())
        if len(value) != 1:
            raise UnknownInstructionError(f"{decode(token.text)} within the template")
        # What a macro stands for may name others, and not itself.
        others = {name: text for name, text in macros.items() if name != token.text}
        found.append(template_of(value[0], others))
    return "".join(found)


def literal(token: str) -> str:
    """Return the text that a string literal stands for: comments in it end where its lines do.

    Raises:
        UnknownInstructionError: it has escapes or characters that may be read otherwise.
    """
    value = value_of_literal(token)
    text = None if value is None else value.replace("\r\n", "\n")
    if text is None or not _TEXT.fullmatch(text):
        raise UnknownInstructionError(f"the escapes in {token}")
    return text


def instructions(template: str) -> list[str]:
    """Split a template at semicolons and at the braces of scopes."""
    text = re.sub(r"\s+", " ", _COMMENT.sub(" ", template))
    parts: list[str] = []
    current = ""
    depth = 0  # of braces and brackets inside of an instruction
    for char in text:
        starts = not current.strip() or current.rstrip().endswith(":")  # nothing, or a label
        if char == ";" and depth == 0:
            parts.append(current)
            current = ""
        elif char in "{}" and starts:
            continue  # a scope
        else:
            depth += (char in "{[(") - (char in "}])")
            current += char
    if current.strip():
        parts.append(current)
    return parts
