"""Names that CUDA leaves free and our headers take as macros.

`threadIdx` and its like are macros of the shims. A program may have variables and members of these
names (`dim3 gridDim(n)`, `config.blockDim`): those are renamed. `__noinline__` cannot be a macro,
as the C++ library spells an attribute like that.
"""

from warploom.emulator.tokens import Kind, TokenStream
from warploom.source.edits import TextEdit, decode

_BUILTINS = frozenset((b"threadIdx", b"blockIdx", b"blockDim", b"gridDim"))
_STATEMENTS = frozenset(
    b"return else do case throw co_return co_yield and or not xor new delete goto sizeof".split()
)
_QUALIFIERS = frozenset(b"const static constexpr volatile inline extern register".split())


def name_edits(stream: TokenStream) -> list[TextEdit]:
    """Return edits that rename what is no builtin, and spell `__noinline__` as an attribute."""
    edits: list[TextEdit] = []
    renamed: set[int] = set()
    for at, token in enumerate(stream.tokens):
        if token.kind is not Kind.NAME:
            continue
        if token.text in _BUILTINS:
            renamed.update(_uses(stream, at))
        elif token.text == b"__noinline__" and not stream.is_at(at - 1, b"("):
            edits.append(TextEdit(token.start, token.end, "__attribute__((noinline))"))
    for at in sorted(renamed):
        token = stream.tokens[at]
        edits.append(TextEdit(token.start, token.end, f"wl_{decode(token.text)}"))
    return edits


def _uses(stream: TokenStream, at: int) -> list[int]:
    """Return the tokens to rename because of the one at `at`: itself and what it declares."""
    if stream.is_at(at - 1, b".") or stream.is_at(at - 1, b"->"):
        return [at]
    if not _declares(stream, at):
        return []
    name = stream.tokens[at].text
    end = _scope_end(stream, at)
    return [
        other
        for other in range(at, end)
        if stream.tokens[other].text == name and stream.tokens[other].kind is Kind.NAME
    ]


def _declares(stream: TokenStream, at: int) -> bool:
    """Whether the token is the name in a declaration: `dim3 gridDim`, `dim3 a(1), gridDim(2)`."""
    if stream.is_at(at + 1, b".") or stream.is_at(at + 1, b"->"):
        return False
    before = at - 1
    while stream.is_at(before, b"*") or stream.is_at(before, b"&"):
        before -= 1
    if _is_type_word(stream, before):
        return before == at - 1 or _starts_statement(stream, before)
    if not stream.is_at(at - 1, b","):
        return False
    start = at - 1
    while start >= 0 and stream.tokens[start].text not in (b";", b"{", b"}", b"(", b"["):
        if stream.tokens[start].text in (b")", b"]"):
            opener = stream.opening(start)
            if opener is None:
                return False
            start = opener
        start -= 1
    if start >= 0 and stream.tokens[start].text in (b"(", b"["):
        return False
    first = start + 1
    while first < at and stream.tokens[first].text in _QUALIFIERS:
        first += 1
    return _is_type_word(stream, first) and stream.kind_at(first + 1) is Kind.NAME


def _is_type_word(stream: TokenStream, at: int) -> bool:
    return stream.kind_at(at) is Kind.NAME and stream.tokens[at].text not in _STATEMENTS


def _starts_statement(stream: TokenStream, at: int) -> bool:
    while stream.tokens[at - 1].text in _QUALIFIERS:
        at -= 1
    return at == 0 or stream.tokens[at - 1].text in (b";", b"{", b"}", b"(", b",")


def _scope_end(stream: TokenStream, at: int) -> int:
    """Return the token after the scope of what is declared at `at`."""
    position = at
    while position > 0:
        position -= 1
        text = stream.tokens[position].text
        if text in (b")", b"]", b"}"):
            opener = stream.opening(position)
            if opener is None:
                return at + 1
            position = opener
        elif text == b"{":
            return stream.closing(position) or at + 1
        elif text == b"(":
            return _parameter_scope_end(stream, position, at)
    return len(stream)


def _parameter_scope_end(stream: TokenStream, opener: int, at: int) -> int:
    """Return the end of the function whose parameters start at `opener`."""
    closer = stream.closing(opener)
    if closer is None:
        return at + 1
    after = closer + 1
    while after < len(stream) and stream.tokens[after].text not in (b"{", b";", b"}"):
        after += 1
    if stream.is_at(after, b"{"):
        return stream.closing(after) or closer
    return closer
