"""What a kernel says of its launches becomes its first statement, which knows its arguments.

`__cluster_dims__(...)` shapes clusters; `__launch_bounds__(...)` limits the threads of a block.
"""

from warploom.emulator.rewriting.unsupported import refusal
from warploom.emulator.tokens import Kind, TokenStream, newlines
from warploom.source.edits import TextEdit, decode

_ATTRIBUTES = {b"__cluster_dims__": "cluster_dims", b"__launch_bounds__": "launch_bounds"}


def attribute_edits(stream: TokenStream) -> list[TextEdit]:
    """Return edits that move what these attributes say into the kernel's body.

    Where one stands in a macro or at a declaration without a body, the header's macro refuses
    `__cluster_dims__` and ignores `__launch_bounds__`.
    """
    edits: list[TextEdit] = []
    for at, token in enumerate(stream.tokens):
        call = _ATTRIBUTES.get(token.text) if token.kind is Kind.NAME else None
        if call is None or token.directive >= 0:
            continue
        closer = stream.closing(at + 1) if stream.is_at(at + 1, b"(") else None
        body = _body(stream, closer + 1) if closer is not None else None
        if closer is None or body is None:
            continue
        end = stream.tokens[closer].end
        shape = decode(stream.text[stream.tokens[at + 1].end : stream.tokens[closer].start])
        kept = decode(newlines(stream.text[token.start : end]))
        edits.append(TextEdit(token.start, end, kept))
        inside = stream.tokens[body].end
        shape = " ".join(shape.split())
        text = f"::warploom::{call}({shape})"
        used = {stream.tokens[i].text for i in range(at + 1, closer)}
        if used & _parameters(stream, closer + 1, body):
            reason = f"{decode(token.text)} with a name that a parameter of the kernel has"
            text = refusal(reason, f"{call}_{at}")
        edits.append(TextEdit(inside, inside, f" {text};"))
    return edits


def _parameters(stream: TokenStream, first: int, end: int) -> set[bytes]:
    """Return the names in the brackets between two tokens that may be parameters'."""
    return {
        stream.tokens[at].text
        for at in range(first, end)
        if stream.tokens[at].kind is Kind.NAME
        and stream.tokens[at + 1].text in (b",", b")", b"[", b"=")
    }


def _body(stream: TokenStream, at: int) -> int | None:
    """Return the `{` of the function whose declaration goes on at `at`, None if it has no body."""
    while at < len(stream):
        text = stream.tokens[at].text
        if text == b"{":
            return at
        if text in (b";", b"}"):
            return None
        if text == b"(":
            closer = stream.closing(at)
            if closer is None:
                return None
            at = closer
        at += 1
    return None
