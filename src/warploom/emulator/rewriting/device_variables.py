"""Variables of the device: after each declaration comes a function that tells the runtime of it.

`__device__ int done;` at namespace scope is followed, on the same line, by a function
`wl_var_u0_7` that calls `::warploom::register_variable(done, "done", false, false)` when the
program is loaded, and by a pointer to the variable whose name tells the guard which variables are
the device's (merge_parts.cpp). What is spelled in other ways (macros, templates, members) the
runtime learns from marks that the guard leaves in the object (merge_marks.cpp). What is found
here has a short name for messages, and its definition in the device pass is the one that stays.
"""

import re
from collections.abc import Iterable

from warploom.emulator.rewriting.shared_memory import (
    declarator_names,
    statement_end,
    statement_start,
)
from warploom.emulator.tokens import Kind, TokenStream
from warploom.source.edits import TextEdit, decode

REGISTERS = "wl_var_"
"""How the names of functions begin that tell the runtime of a variable."""

_MARKS = frozenset((b"__device__", b"__constant__", b"__managed__"))
# A declaration with one of these is a function, a template, or defined elsewhere.
_OTHER = frozenset((b"extern", b"template", b"using", b"typedef", b"friend", b"__global__",
                    b"__host__", b"operator", b"__shared__", b"inline", b"__forceinline__",
                    b"constexpr", b"__noinline__", b"struct", b"class"))  # fmt: skip

_EXTERN = re.compile(rb"\bextern\b([^;{}()]*\b__(?:device|constant|managed)__[^;{}]*);")
_NAME = re.compile(rb"[A-Za-z_]\w*")


def find_variables(stream: TokenStream) -> list[tuple[int, int]]:
    """Return the first token, and the token after the last, of what may declare variables."""
    found: dict[int, int] = {}
    for at, token in enumerate(stream.tokens):
        if token.kind is not Kind.NAME or token.text not in _MARKS or token.directive >= 0:
            continue
        first = statement_start(stream, at)
        end = statement_end(stream, at)
        if end is not None and stream.is_at(end, b";"):
            found[first] = end
    return sorted(found.items())


def variable_edits(
    stream: TokenStream, first: int, end: int, tag: str, shared: frozenset[bytes] | None
) -> list[TextEdit]:
    """Return the edits of the declaration from token `first` to the `;` at `end`.

    There are none when it declares no variable. In a program of several files, `shared` has the
    names that files take from each other by `extern`: other variables become their file's own, as
    nvcc makes them unless it links device code (`-rdc=true`). `shared` is None in a program of one.
    """
    words = {stream.tokens[at].text for at in range(first, end)}
    if words & _OTHER:
        return []
    kept = _declaration(stream, first, end)
    names = declarator_names(stream, kept) if kept else None
    # A member of a class has no name here by which it can be told: the guard knows it as well.
    if not names or any(stream.is_at(at - 1, b"::") for at in names):
        return []
    kinds = ", ".join(str(word in words).lower() for word in (b"__managed__", b"__constant__"))
    # What nvcc puts into the constant memory of a module, which is a file.
    unit = int.from_bytes(tag.encode(), "big") & 0xFFFFFFFF
    constant = b"__constant__" in words
    text = "".join(
        f" __attribute__((constructor)) static void {REGISTERS}{tag}_{at}() {{"
        f' ::warploom::register_variable({name}, "{name}", {kinds});'
        f"{f' ::warploom::count_constant({unit}u, sizeof {name});' if constant else ''} }}"
        f" WARPLOOM_MARK(wl_mark_{tag}_{at}, {name});"
        for at in names
        for name in (decode(stream.tokens[at].text),)
    )
    after = stream.tokens[end].end
    edits = [TextEdit(after, after, text)]
    own = shared is not None and not any(stream.tokens[at].text in shared for at in names)
    before = "static " if own and not words & {b"static", b"alignas"} else ""
    # The word stands for a section, where only macros say it; a variable that is known needs none.
    for at in range(first, end):
        token = stream.tokens[at]
        if token.text == b"__managed__":
            edits.append(TextEdit(token.start, token.end, before if at == first else ""))
    if before and stream.tokens[first].text != b"__managed__":
        start = stream.tokens[first].start
        edits.append(TextEdit(start, start, before))
    return edits


def names_shared_by_files(contents: Iterable[bytes]) -> frozenset[bytes]:
    """Return the words in declarations `extern __device__ ...;` of a program's files."""
    return frozenset(
        word for text in contents for part in _EXTERN.findall(text) for word in _NAME.findall(part)
    )


def _declaration(stream: TokenStream, first: int, end: int) -> list[int]:
    """Return the tokens of types and declarators; none when it is a function's declaration."""
    kept: list[int] = []
    at = first
    while at < end:
        text = stream.tokens[at].text
        if text in _MARKS or text in (b"static", b"volatile", b"const"):
            pass
        elif text in (b"__align__", b"alignas", b"__attribute__") and stream.is_at(at + 1, b"("):
            at = stream.closing(at + 1) or at
        elif text == b"=":
            at = _initializer_end(stream, at, end) - 1
        elif text == b"{":
            at = stream.closing(at) or at
        elif text == b"[":
            kept.append(at)  # what is in there may hold brackets, and is no function's
            at = stream.closing(at) or at
        elif text == b"(" and stream.is_at(at - 1, b")"):
            at = stream.closing(at) or at  # the parameters of what a pointer points to
        elif text == b"(" and not stream.is_at(at + 1, b"*"):
            return []  # a function
        else:
            kept.append(at)
        at += 1
    return kept


def _initializer_end(stream: TokenStream, at: int, end: int) -> int:
    """Return the token that ends the initializer whose `=` is at `at`: a `,` or the `;`."""
    while at < end:
        text = stream.tokens[at].text
        if text in (b"(", b"[", b"{"):
            at = stream.closing(at) or at
        elif text == b",":
            return at
        at += 1
    return end
