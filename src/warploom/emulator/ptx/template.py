"""The template of an asm statement: its instructions as the assembler reads them."""

import re
from collections.abc import Iterable, Mapping

from warploom.core.errors import WarploomError
from warploom.emulator.tokens import Kind, Token, TokenStream
from warploom.source.edits import decode
from warploom.source.literals import value_of_literal

Texts = Mapping[bytes, tuple[Token, ...] | None]
"""Macros that stand for text: the tokens of each; None where it is defined in two ways."""

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
        texts = [word.text for word in value]
        before = found.get(name.text, tuple(value))
        same = before is not None and [word.text for word in before] == texts
        if all(word.kind in (Kind.STRING, Kind.NAME) for word in value):
            found[name.text] = tuple(value) if same else None
        elif name.text in found:
            found[name.text] = None
    return found


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
        value = macros.get(token.text)
        if value is None:
            raise UnknownInstructionError(f"{decode(token.text)} within the template")
        # What a macro stands for may name others, and not itself.
        others = {name: text for name, text in macros.items() if name != token.text}
        found.append(template_of(value, others))
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
