"""Tells declarations that run code before main from those that do not."""

from collections.abc import Sequence

from warploom.evaluation.legality.refusals import words as word_set
from warploom.evaluation.legality.scopes import Declared, without_groups
from warploom.evaluation.legality.tokens import Token

_BUILTIN = word_set(
    """
    void bool char short int long signed unsigned float double wchar_t char8_t char16_t char32_t
    size_t ptrdiff_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t intptr_t
    uintptr_t half __half __half2 half2 __nv_bfloat16 nv_bfloat16 __nv_bfloat162 dim3 float2
    float3 float4 double2 int2 int3 int4 uint2 uint3 uint4
    """
)
_SPECIFIERS = word_set(
    """
    static inline const volatile extern thread_local constexpr constinit struct std register
    __device__ __host__ __global__ __constant__ __managed__ __shared__ __restrict__
    __forceinline__ __noinline__ alignas typename
    """
)
_LIBRARY_PREFIXES = ("cuda", "nccl", "MPI_")
_PARAMETER_PUNCTUATION = frozenset({"*", "&", "&&", "::", "<", ">", ",", "...", "[", "]", "="})


def starts_code(item: Declared) -> str:
    """Return why the declaration runs code when the program is loaded; "" where it does not."""
    words = without_groups(item.tokens)
    texts = [token.text for token in words]
    if "constexpr" in texts:
        return ""
    if item.level == "class" and "static" not in texts:
        return ""  # a member or a member function
    if item.level == "class" and "inline" not in texts:
        return ""  # only declared here
    known = _is_plain_type(words)
    if "(" in texts and _may_be_prototype(words, known):
        return ""
    if "constinit" not in texts and _has_call(words):
        return "is initialized by a call"
    if not known and "extern" not in texts:
        return "has a type with a constructor, as far as can be told"
    return ""


def _is_plain_type(words: Sequence[Token]) -> bool:
    """Whether the declared type surely has no constructor: built in, a pointer, or a library's."""
    names = [token.text for token in words if token.kind == "name"]
    first = next((name for name in names if name not in _SPECIFIERS), "")
    if first in _BUILTIN or first.startswith(_LIBRARY_PREFIXES):
        return True
    before = [token.text for token in words[: _name_at(words)]]
    return "*" in before


def _name_at(words: Sequence[Token]) -> int:
    """Return where the declarator's front ends: at `=`, `(`, `{`, `[`, or the end."""
    stops = (i for i, token in enumerate(words) if token.text in ("=", "(", "{", "["))
    return next(stops, len(words))


def _has_call(words: Sequence[Token]) -> bool:
    """Whether an initializer holds a call, a lambda or a constructor with braces."""
    start = _name_at(words)
    for at in range(start, len(words)):
        token = words[at]
        before = words[at - 1] if at else None
        if token.text == "(" and before is not None and at > start:
            if before.kind == "name" and before.text not in ("sizeof", "alignof"):
                return True
            if before.text in (")", "]", "}", ">"):
                return True
        if token.text == "{" and before is not None and at > start and before.kind == "name":
            return True
        if token.text in ("new", "throw"):
            return True
    return False


def _may_be_prototype(words: Sequence[Token], known: bool) -> bool:
    """Whether `type name(parameters)` declares a function, not a variable with arguments."""
    opening = next(i for i, token in enumerate(words) if token.text == "(")
    if any(token.text in ("=", "{") for token in words[:opening]):
        return False
    qualified = any(t.text in ("__global__", "__device__", "__host__") for t in words)
    inner = _inside(words, opening)
    if not inner:
        return True  # `T f()` declares a function, always
    if any(
        token.kind not in ("name", "number") and token.text not in _PARAMETER_PUNCTUATION
        for token in inner
    ):
        return False
    parameters = _split(inner)
    typed = all(_looks_typed(parameter) for parameter in parameters)
    return typed and (known or qualified)


def _inside(words: Sequence[Token], opening: int) -> list[Token]:
    depth, inner = 0, list[Token]()
    for token in words[opening:]:
        depth += (token.text == "(") - (token.text == ")")
        if depth == 0:
            break
        inner.append(token)
    return inner[1:]


def _split(tokens: Sequence[Token]) -> list[list[Token]]:
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token.text == "<") - (token.text == ">")
        if token.text == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _looks_typed(parameter: Sequence[Token]) -> bool:
    names = [token.text for token in parameter if token.kind == "name"]
    if not names:
        return [token.text for token in parameter] == ["..."]
    if names[0] in _BUILTIN or names[0] in _SPECIFIERS:
        return True
    return len(names) >= 2 or names[0].startswith(_LIBRARY_PREFIXES)
