"""Kernels with parameters by reference: what they refer to is an object of the host.

nvcc takes these kernels without a word. Here a kernel's arguments are copies, so that it would run
right. The compiler is asked for each parameter whose type may be a reference, as a macro or another
name of the type may hide that.
"""

from collections.abc import Iterator, Sequence

from warploom.emulator.rewriting.kernel_pointers import defined_kernels
from warploom.emulator.tokens import Kind, Token, TokenStream
from warploom.source.edits import TextEdit, decode

_QUALIFIERS = frozenset(
    (b"const", b"volatile", b"struct", b"class", b"enum", b"union", b"typename", b"register",
     b"__restrict__", b"__restrict", b"__grid_constant__")
)  # fmt: skip
_OPENING, _CLOSING = frozenset((b"(", b"[", b"{")), frozenset((b")", b"]", b"}"))
_BUILT_IN = frozenset(
    (b"bool", b"char", b"short", b"int", b"long", b"signed", b"unsigned", b"float", b"double",
     b"void", b"auto", b"size_t", b"uint32_t", b"int32_t", b"uint64_t", b"int64_t")
)  # fmt: skip


def reference_edits(stream: TokenStream) -> list[TextEdit]:
    """Return edits by which kernels tell, where they begin, of parameters that are references."""
    edits: list[TextEdit] = []
    for parameters, opening in defined_kernels(stream):
        types = ", ".join(
            asked for given in split_parameters(parameters) if (asked := _may_refer(given))
        )
        if types:
            place = stream.tokens[opening].end
            edits.append(TextEdit(place, place, f" ::warploom::check_parameters<{types}>();"))
    return edits


def split_parameters(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Yield the tokens of each parameter; those in `<>` and brackets belong to one."""
    given: list[Token] = []
    for token, angle, depth in _nested(tokens):
        if token.text == b"," and depth == 0 and angle == 0:
            yield given
            given = []
        else:
            given.append(token)
    yield given


def _nested(tokens: Sequence[Token]) -> Iterator[tuple[Token, int, int]]:
    """Yield each token with the `<>` and the brackets that are open behind it."""
    angle = depth = 0
    for token in tokens:
        depth += (token.text in _OPENING) - (token.text in _CLOSING)
        if depth == 0:  # within brackets `<` compares
            angle += (token.text == b"<") - (token.text == b">")
        yield token, angle, depth


def _declared(given: Sequence[Token]) -> list[Token]:
    """Return a parameter without its default value and what is in `<>`."""
    plain: list[Token] = []
    for token, angle, depth in _nested(given):
        if token.text == b"=" and angle == 0 and depth == 0:
            break
        if angle == 0 and token.text != b">":
            plain.append(token)
    return plain


def parameter_name(given: Sequence[Token]) -> Token | None:
    """Return the name of a parameter, None where it has none that is easily seen."""
    plain = _declared(given)
    seen = len(plain) > 1 and plain[-1].kind is Kind.NAME and plain[-1].text not in _BUILT_IN
    return plain[-1] if seen and plain[-2].text != b"::" else None


def _may_refer(given: Sequence[Token]) -> str:
    """Return the type of a parameter that may be a reference, as `decltype`; or ""."""
    plain = _declared(given)
    texts = [token.text for token in plain]
    refers = b"&" in texts or b"&&" in texts
    if not refers and b"*" in texts:
        return ""
    end = texts.index(b"[") if b"[" in texts else len(texts)
    names = [token for token in plain[:end] if token.kind is Kind.NAME]
    types = [token.text for token in names[:-1] if token.text not in _QUALIFIERS]
    if not names or not types or names[-1].text in _BUILT_IN or names[-1] is not _last(plain[:end]):
        return ""
    if not refers and all(word in _BUILT_IN for word in types):
        return ""
    before = plain[plain.index(names[-1]) - 1].text
    if before == b"::":  # a type without a name
        return ""
    return f"decltype({decode(names[-1].text)})" + ("..." if b"..." in texts else "")


def _last(tokens: Sequence[Token]) -> Token | None:
    """Return the last token that is no closing bracket."""
    return next((token for token in reversed(tokens) if token.text != b")"), None)
