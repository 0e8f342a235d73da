"""Storage classes behind a linkage specification of one declaration: `extern "C" static int f();`.

nvcc's front end takes `static` and `extern` there, g++ and clang do not. What is `static` has no
name that another file could use, so the specification goes; a further `extern` says nothing more.
"""

from warploom.emulator.tokens import Kind, TokenStream
from warploom.source.edits import TextEdit

_MOST_WORDS = 16  # between the specification and the storage class


def linkage_macros(stream: TokenStream) -> set[bytes]:
    """Return the macros that stand for a linkage specification: `#define EXTERN_C extern "C"`."""
    found: set[bytes] = set()
    for directive in stream.directives:
        words = [stream.tokens[at] for at in directive.tokens]
        if directive.keyword != b"define" or len(words) != 3:
            continue
        if words[1].text == b"extern" and words[2].kind is Kind.STRING:
            found.add(words[0].text)
    return found


def linkage_edits(stream: TokenStream, macros: set[bytes]) -> list[TextEdit]:
    """Return the edits that leave one of the two; `macros` stand for a specification."""
    edits: list[TextEdit] = []
    for at, token in enumerate(stream.tokens):
        if token.kind is not Kind.NAME:
            continue
        if token.text == b"extern" and stream.kind_at(at + 1) is Kind.STRING:
            last = at + 1
        elif token.text in macros and token.directive < 0:
            last = at
        else:
            continue
        storage = _storage_class(stream, last + 1)
        if storage is None:
            continue
        if stream.tokens[storage].text == b"static":
            edits.append(TextEdit(token.start, stream.tokens[last].end, ""))
        else:
            word = stream.tokens[storage]
            edits.append(TextEdit(word.start, word.end, ""))
    return edits


def _storage_class(stream: TokenStream, start: int) -> int | None:
    """Return the `static` or `extern` among the words of the declaration that begins at `start`."""
    at = start
    place = stream.tokens[start].directive if start < len(stream) else -1
    while at < min(start + _MOST_WORDS, len(stream)):
        token = stream.tokens[at]
        if token.directive != place:
            return None
        if token.text in (b"static", b"extern"):
            # Another specification inside of this one is an error of the program's.
            return None if stream.kind_at(at + 1) is Kind.STRING else at
        if token.text in (b"(", b"[") and at > start and stream.tokens[at - 1].text[:2] == b"__":
            closer = stream.closing(at)
            if closer is None:
                return None
            at = closer
        elif token.kind is not Kind.NAME and token.text not in (b"*", b"&", b"::"):
            return None
        at += 1
    return None
