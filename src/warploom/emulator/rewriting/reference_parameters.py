"""Kernels with parameters by reference: what they refer to is an object of the host."""

from collections.abc import Iterator

from warploom.emulator.tokens import Kind, TokenStream
from warploom.source.edits import TextEdit, decode


def reference_edits(stream: TokenStream) -> list[TextEdit]:
    """Return edits that tell of each such parameter where the kernel begins.

    nvcc takes these kernels without a word. Here a kernel's arguments are copies, so that it would
    run right.
    """
    edits: list[TextEdit] = []
    for at, token in enumerate(stream.tokens):
        opening = _parameters(stream, at + 1) if token.text == b"__global__" else None
        closing = stream.closing(opening) if opening is not None else None
        if opening is None or closing is None or not stream.is_at(closing + 1, b"{"):
            continue
        told = "".join(
            f" ::warploom::reference_parameter({name});"
            for name in _references(stream, opening + 1, closing)
        )
        if told:
            place = stream.tokens[closing + 1].end
            edits.append(TextEdit(place, place, told))
    return edits


def _parameters(stream: TokenStream, at: int) -> int | None:
    """Return the `(` of the kernel whose `__global__` is before token `at`."""
    while at < len(stream) and stream.tokens[at].text not in (b";", b"{", b"}"):
        if stream.is_at(at, b"("):
            name = stream.tokens[at - 1]
            if name.kind is Kind.NAME and not name.text.startswith(b"__"):
                return at
            at = stream.closing(at) or at
        at += 1
    return None


def _references(stream: TokenStream, start: int, end: int) -> Iterator[str]:
    """Yield the names of parameters that are references; of a pack with its dots."""
    angle = depth = 0
    refers = False
    name = dots = ""
    for at in range(start, end + 1):
        text = stream.tokens[at].text
        angle += (text == b"<") - (text == b">")
        depth += (text in (b"(", b"[", b"{")) - (text in (b")", b"]", b"}"))
        if angle == 0 and (at == end or (text == b"," and depth == 0)):
            if refers and name:
                yield name + dots
            refers, name, dots = False, "", ""
        elif angle == 0 and text in (b"&", b"&&"):
            refers = True
        elif refers and text == b"...":
            dots = "..."
        elif refers and not name and stream.kind_at(at) is Kind.NAME and text != b"const":
            name = decode(text)
