"""`__cluster_dims__(...)` becomes the first statement of the kernel, which knows its arguments."""

from warploom.emulator.tokens import Kind, TokenStream, newlines
from warploom.source.edits import TextEdit, decode


def cluster_edits(stream: TokenStream) -> list[TextEdit]:
    """Return edits that move what `__cluster_dims__` says into the kernel's body.

    Where it stands in a macro or at a declaration without a body, the header's macro refuses it.
    """
    edits: list[TextEdit] = []
    for at, token in enumerate(stream.tokens):
        if token.kind is not Kind.NAME or token.text != b"__cluster_dims__" or token.directive >= 0:
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
        edits.append(TextEdit(inside, inside, f" ::warploom::cluster_dims({shape});"))
    return edits


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
