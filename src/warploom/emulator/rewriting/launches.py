"""Kernel launches as calls: `k<<<g, b>>>(x)` -> `warploom::launch_plain("k", ..., lambda)(x)`."""

import re

from warploom.emulator.tokens import Kind, TokenStream, newlines
from warploom.source.edits import TextEdit, decode

# Words that may stand before a kernel's name without belonging to it.
_KEYWORDS = frozenset(
    b"return else do case throw co_return co_yield and or not xor new delete goto".split()
)


def _name_start(stream: TokenStream, end: int) -> int | None:
    """Return the first token of the postfix expression whose last token is `end`."""
    at = end
    while True:
        token = stream.tokens[at]
        if token.text in (b")", b"]"):
            opener = stream.opening(at)
            if opener is None:
                return None
            before = opener - 1
            called = token.text == b"]" or (
                stream.kind_at(before) is Kind.NAME
                and stream.tokens[before].text not in _KEYWORDS
                and stream.tokens[before].end == stream.tokens[opener].start
            )
            if not called:
                return opener
            at = before
        elif token.text == b">":
            opener = stream.angle_opening(at)
            if opener is None or opener == 0:
                return None
            at = opener - 1
        elif token.kind is Kind.NAME:
            before = _qualifier(stream, at)
            if before == at:
                return at
            if before < 0 or stream.tokens[before].text == b"::":
                return before if before >= 0 else None
            at = before
        else:
            return None


def _qualifier(stream: TokenStream, at: int) -> int:
    """Return the token where the name at `at` goes on to the left, or `at` where it ends.

    A leading `::` is returned itself.
    """
    before = at - 1
    if stream.is_at(before, b"template"):
        before -= 1
    if stream.is_at(before, b"#") and stream.is_at(before - 1, b"#"):
        return before - 2
    if stream.is_at(before, b"::"):
        left = stream.kind_at(before - 1)
        word = before >= 1 and stream.tokens[before - 1].text
        if (left is Kind.NAME and word not in _KEYWORDS) or word == b">":
            return before - 1
        return before
    if stream.is_at(before, b"."):
        return before - 1
    if stream.is_at(before, b"->"):
        return before - 1
    return at


def _config_end(stream: TokenStream, start: int) -> int | None:
    """Return the first token of the `>>>` that closes the `<<<` at `start`."""
    place = stream.tokens[start].directive
    at = start + 3
    while at < len(stream):
        token = stream.tokens[at]
        if token.text in (b"(", b"[", b"{"):
            closer = stream.closing(at)
            if closer is None:
                return None
            at = closer
        elif stream.is_run(at, b">"):
            return at
        elif stream.is_run(at, b"<"):
            return None  # another launch begins before this one's configuration ends
        elif token.text in (b";", b"}") or (place >= 0 and token.directive != place):
            return None
        at += 1
    return None


def _one_line(stream: TokenStream, first: int, last: int) -> bytes:
    """Return the text of the tokens without comments and line breaks."""
    parts: list[bytes] = []
    for at in range(first, last + 1):
        token = stream.tokens[at]
        if parts and stream.tokens[at - 1].end != token.start:
            parts.append(b" ")
        parts.append(token.text)
    return b"".join(parts)


# What an argument becomes that means a null pointer where the parameter is one, but would arrive
# there as an integer; `0` may mean the number as well.
_NULLS = {b"NULL": "nullptr", b"__null": "nullptr", b"0": "::warploom::Zero()"}


def _null_arguments(stream: TokenStream, opener: int) -> list[TextEdit]:
    """Return edits for each bare `NULL` or `0` among the arguments."""
    closer = stream.closing(opener)
    if closer is None:
        return []
    edits: list[TextEdit] = []
    at = opener + 1
    while at < closer:
        token = stream.tokens[at]
        alone = stream.tokens[at - 1].text in (b"(", b",") and (
            stream.tokens[at + 1].text == b"," or at + 1 == closer
        )
        if token.text in _NULLS and alone:
            edits.append(TextEdit(token.start, token.end, _NULLS[token.text]))
        nested = stream.closing(at) if token.text in (b"(", b"[", b"{") else None
        at = (nested if nested is not None else at) + 1
    return edits


def _has_braced_argument(stream: TokenStream, opener: int) -> bool:
    """Tell whether an argument is a bare `{...}`, which has no type of its own."""
    closer = stream.closing(opener)
    at = opener + 1
    while closer is not None and at < closer:
        text = stream.tokens[at].text
        if text == b"{" and stream.tokens[at - 1].text in (b"(", b","):
            return True
        nested = stream.closing(at) if text in (b"(", b"[", b"{") else None
        at = (nested if nested is not None else at) + 1
    return False


def find_launches(stream: TokenStream) -> list[int]:
    """Return the index of the first `<` of every launch."""
    found: list[int] = []
    at = 0
    while at < len(stream):
        if stream.is_run(at, b"<") and not stream.is_at(at + 3, b"<"):
            found.append(at)
            at += 3
        else:
            at += 1
    return found


def launch_edits(stream: TokenStream, at: int, guard: str = "") -> list[TextEdit]:
    """Return the edits that turn the launch whose `<<<` is at token `at` into a call.

    `guard` is a statement put before the kernel's call (how a launch is refused). What does not
    look like a launch gives no edit; the compiler will name it.
    """
    first = _name_start(stream, at - 1) if at > 0 else None
    end = _config_end(stream, at)
    if first is None or end is None or not stream.is_at(end + 3, b"("):
        return []
    kernel = decode(_one_line(stream, first, at - 1))
    parameters = stream.macro_parameters(at)
    alone = first == at - 1 and stream.tokens[first].text in parameters
    shown = f"#{kernel}" if alone else '"' + re.sub(r'(["\\])', r"\\\1", kernel) + '"'
    start = stream.tokens[first].start
    opening = stream.tokens[at]
    config = decode(stream.text[opening.start + 3 : stream.tokens[end].start])
    kept = decode(newlines(stream.text[start : opening.start]))
    braced = not guard and _has_braced_argument(stream, end + 3)
    nulls = _null_arguments(stream, end + 3)
    # Of a table of pointers, which are the host's, the host chooses the one to call.
    chosen = stream.is_at(at - 1, b"]") and not alone
    called, captured = ("wl_kernel", f"=, wl_kernel = {kernel}") if chosen else (kernel, "=")
    call = f"{called}(wl_args...)"
    if any(edit.text == _NULLS[b"0"] for edit in nulls):
        values = f"{called}(wl_values...)"
        call = (
            "::warploom::call_with_zeros([=](auto... wl_values) WARPLOOM_INLINED "
            f"requires requires {{ {values}; }} {{ {values}; }}, wl_args...)"
        )
    between = f"[{captured}](auto... wl_args) WARPLOOM_INLINED {{ {guard}{call}; }}"
    function = kernel if braced else between
    name = "launch_typed" if braced else "launch_plain"
    blank = " " if stream.text[start - 1 : start] == b":" else ""  # behind a label
    text = (
        f"{kept}{blank}::warploom::{name}({shown}, ::warploom::LaunchConfig({config}), {function})"
    )
    edit = TextEdit(start, stream.tokens[end + 2].end, text)
    return [edit, *nulls]
