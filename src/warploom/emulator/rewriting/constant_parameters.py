"""Parameters of kernels that nobody may change: those of `__grid_constant__`, and constant ones.

A GPU has them in constant memory, and C++ leaves open what a store to a constant object does. Here
they would be variables of each thread. So a kernel's text gets another name for each of them, of a
copy that all threads have in common and stores to which are seen. Of constant parameters without
that word, which are many, it is those whose address the text takes, or which it refers to.
"""

import re
from collections.abc import Iterator, Sequence

from warploom.emulator.rewriting.kernel_pointers import defined_kernels
from warploom.emulator.rewriting.reference_parameters import parameter_name, split_parameters
from warploom.emulator.tokens import Kind, Token, TokenStream
from warploom.source.edits import TextEdit, decode

_WORD = b"__grid_constant__"
_MACRO = re.compile(
    rb"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t][^\n]*\b__grid_constant__\b", re.MULTILINE
)


def constant_edits(stream: TokenStream) -> list[TextEdit]:
    """Return edits by which the bodies of kernels use copies of such parameters."""
    words = {_WORD, *_MACRO.findall(stream.text)}
    edits: list[TextEdit] = []
    for parameters, opening in defined_kernels(stream):
        end = stream.closing(opening)
        if end is None:
            continue
        names = list(_constants(parameters, stream.tokens[opening + 1 : end], words))
        if not names:
            continue
        copies = "".join(
            f" auto& _Wconstant_{name} = ::warploom::constant_parameter({name}, {number});"
            for number, name in enumerate(names)
        )
        renamed = "".join(f" auto& {name} = _Wconstant_{name};" for name in names)
        inside = stream.tokens[opening].end
        edits.append(TextEdit(inside, inside, f"{copies} {{{renamed}"))
        edits.append(TextEdit(stream.tokens[end].start, stream.tokens[end].start, "}"))
    return edits


def _constants(
    parameters: Sequence[Token], body: Sequence[Token], words: set[bytes]
) -> Iterator[str]:
    """Yield the names of the parameters whose body is to use a copy."""
    for given in split_parameters(parameters):
        texts = [token.text for token in given]
        name = parameter_name(given)
        if name is None or b"&" in texts or b"&&" in texts or b"[" in texts or b"..." in texts:
            continue
        last_star = max((at for at, text in enumerate(texts) if text == b"*"), default=-1)
        constant = b"const" in texts[last_star + 1 :]
        if not words.isdisjoint(texts) or (constant and _is_referred_to(name.text, body)):
            yield decode(name.text)


def _is_referred_to(name: bytes, body: Sequence[Token]) -> bool:
    """Does the text take the address of what has this name, or make a reference to it?"""
    for at, token in enumerate(body):
        if token.text != name:
            continue
        one, two, three = (body[at - back] if at >= back else None for back in (1, 2, 3))
        if one is None or two is None:
            continue
        if one.text == b"&" and (two.kind is not Kind.NAME or two.text == b"return"):
            return True
        if one.text == b")" and two.text in (b"&", b"*"):  # cast
            return True
        refers = three is not None and three.text == b"&"
        if one.text == b"(" and two.text == b">" and refers:  # const_cast<float&>(name)
            return True
        if (
            one.text in (b"=", b"(", b"{") and two.kind is Kind.NAME and refers
        ):  # auto& other = name
            return True
    return False
