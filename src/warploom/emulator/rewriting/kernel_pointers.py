"""Kernels as plain pointers: `(void*)kernel` must tell the runtime how to call the kernel."""

from collections.abc import Iterator, Sequence

from warploom.emulator.tokens import Kind, Token, TokenStream
from warploom.source.edits import TextEdit

_NAMED_CASTS = (b"reinterpret_cast", b"static_cast")


def kernel_names(stream: TokenStream) -> set[bytes]:
    """Return the names of the `__global__` functions that the text declares."""
    return {stream.tokens[opening - 1].text for opening in kernel_parameters(stream)}


def kernel_parameters(stream: TokenStream) -> Iterator[int]:
    """Yield the `(` of each `__global__` function's parameters; its name is right before."""
    for at, token in enumerate(stream.tokens):
        if token.text != b"__global__":
            continue
        position = at + 1
        while position < len(stream) and stream.tokens[position].text not in (b";", b"{", b"}"):
            here = stream.tokens[position]
            follows = stream.is_at(position + 1, b"(")
            if here.kind is Kind.NAME and follows and not here.text.startswith(b"__"):
                yield position + 1
                break
            if here.text == b"(":
                position = stream.closing(position) or position
            position += 1


def defined_kernels(stream: TokenStream) -> Iterator[tuple[Sequence[Token], int]]:
    """Yield the parameters of each kernel that the text defines itself, and the `{` of its body."""
    for opening in kernel_parameters(stream):
        closing = stream.closing(opening)
        in_macro = stream.tokens[opening].directive >= 0
        if not in_macro and closing is not None and stream.is_at(closing + 1, b"{"):
            yield stream.tokens[opening + 1 : closing], closing + 1


def pointer_edits(stream: TokenStream, kernels: set[bytes]) -> list[TextEdit]:
    """Return edits of casts of a kernel's name to a pointer to void."""
    edits: list[TextEdit] = []
    for at, token in enumerate(stream.tokens):
        last = at + 2 if stream.is_at(at + 1, b"const") else at + 1
        if token.text != b"void" or not stream.is_at(last, b"*"):
            continue
        first = at - 1 if stream.is_at(at - 1, b"const") else at
        if stream.is_at(last + 1, b"const"):
            last += 1
        if stream.is_at(first - 1, b"(") and stream.is_at(last + 1, b")"):
            if _names_kernel(stream, last + 2, kernels):
                text = "::warploom::KernelCast()->*"
                edits.append(
                    TextEdit(stream.tokens[first - 1].start, stream.tokens[last + 1].end, text)
                )
        elif stream.is_at(first - 1, b"<") and stream.is_at(last + 1, b">"):
            cast = first - 2
            named = cast >= 0 and stream.tokens[cast].text in _NAMED_CASTS
            if named and _names_kernel(stream, last + 3, kernels):
                start, end = stream.tokens[cast].start, stream.tokens[last + 1].end
                edits.append(TextEdit(start, end, "::warploom::kernel_pointer"))
    return edits


def _names_kernel(stream: TokenStream, at: int, kernels: set[bytes]) -> bool:
    """Whether the expression at token `at` is a kernel's name, qualified or with `&`."""
    if stream.is_at(at, b"&"):
        at += 1
    if stream.is_at(at, b"::"):
        at += 1
    while stream.kind_at(at) is Kind.NAME and stream.is_at(at + 1, b"::"):
        at += 2
    return stream.kind_at(at) is Kind.NAME and stream.tokens[at].text in kernels
