"""`__shared__` declarations as references into the block's shared memory.

`__shared__ float s[256], t;` becomes, on the same line,
`typedef float wl_sh_s[256], wl_sh_t; struct wl_tag_s {}; auto& s = ...; ...`: the typedef takes
every declarator that C++ has, the local tag gives each template instantiation its own variable.
"""

from dataclasses import dataclass

from warploom.emulator.tokens import Kind, TokenStream, newlines
from warploom.source.edits import TextEdit, decode

_BOUNDARY = frozenset((b";", b"{", b"}", b":"))
_DROPPED = frozenset((b"extern", b"static", b"__shared__", b"__device__"))
_ALIGNMENTS = frozenset((b"__align__", b"alignas", b"__attribute__"))


@dataclass(frozen=True, slots=True)
class SharedDeclaration:
    """One `__shared__` declaration: its tokens, its names, and the C++ that stands for it."""

    start: int
    end: int
    names: tuple[str, ...]
    dynamic: bool
    types: str
    variables: str

    def edit(self, text: bytes, *, with_variables: bool) -> TextEdit:
        """Return the edit; `with_variables` is false at namespace scope, where only types stay."""
        kept = decode(newlines(text[self.start : self.end]))
        body = self.types + (f" {self.variables}" if with_variables else "")
        return TextEdit(self.start, self.end, body + kept)


def statement_start(stream: TokenStream, at: int) -> int:
    """Return the first token of the declaration that holds token `at`."""
    place = stream.tokens[at].directive
    first_allowed = 0
    if place >= 0:
        tokens = stream.directives[place].tokens
        first_allowed = tokens.start + 1
        if stream.is_at(first_allowed, b"("):
            closer = stream.closing(first_allowed)
            first_allowed = at if closer is None else closer + 1
    while at > first_allowed:
        before = stream.tokens[at - 1]
        if before.directive != place or before.text in _BOUNDARY:
            break
        if before.text == b")":
            # `__align__(16) __shared__` goes on; `if (x) __shared__` does not.
            opener = stream.opening(at - 1)
            if opener is None or stream.tokens[opener - 1].text not in _ALIGNMENTS:
                break
            at = opener
        else:
            at -= 1
    return at


def statement_end(stream: TokenStream, at: int) -> int | None:
    """Return the token after the declaration's last: its `;`, or the end of the macro."""
    place = stream.tokens[at].directive
    while at < len(stream):
        token = stream.tokens[at]
        if token.text == b";":
            return at
        if token.directive != place:
            return at if place >= 0 else None
        if token.text in (b"(", b"[", b"{"):
            closer = stream.closing(at)
            if closer is None:
                return None
            at = closer
        elif token.text in (b")", b"}"):
            return None
        at += 1
    return at if place >= 0 else None


def _strip(stream: TokenStream, first: int, end: int) -> tuple[list[int], list[str]]:
    """Return the tokens that make up type and declarators, and the alignments asked for."""
    kept: list[int] = []
    alignments: list[str] = []
    at = first
    while at < end:
        text = stream.tokens[at].text
        if text in _ALIGNMENTS and stream.is_at(at + 1, b"("):
            closer = stream.closing(at + 1)
            if closer is None:
                return [], []
            inside = decode(stream.source(at + 1, closer))
            alignments.append(f"__attribute__{inside}" if b"attr" in text else f"alignas{inside}")
            at = closer
        elif text not in _DROPPED:
            kept.append(at)
        at += 1
    return kept, alignments


def declarator_names(stream: TokenStream, tokens: list[int]) -> list[int] | None:
    """Return the token of each declared name; None if this is no declaration that we know."""
    names: list[int] = []
    last_name: int | None = None
    found: int | None = None
    skip_until = -1
    angle = 0
    for at in tokens:
        if at <= skip_until:
            continue
        token = stream.tokens[at]
        if token.text == b"<" and found is None:
            angle += 1
        elif token.text == b">" and angle:
            angle -= 1
        elif angle:
            continue
        elif token.text in (b"[", b"(", b"{"):
            skip_until = stream.closing(at) or at
            if token.text == b"(" and found is None and stream.is_at(at + 1, b"*"):
                inner = at + 2
                while any(stream.is_at(inner, word) for word in (b"const", b"volatile")):
                    inner += 1
                found = inner if stream.kind_at(inner) is Kind.NAME else None
            elif token.text == b"[" and found is None:
                found = last_name
        elif token.text == b",":
            name = found if found is not None else last_name
            if name is None:
                return None
            names.append(name)
            last_name = found = None
        elif token.text in (b"=", b"#"):
            return None
        elif token.kind is Kind.NAME and found is None:
            last_name = at
    name = found if found is not None else last_name
    return None if name is None else [*names, name]


def read_shared(stream: TokenStream, at: int) -> SharedDeclaration | None:
    """Read the declaration around the `__shared__` at token `at`.

    None when it has an initializer (an error in CUDA too) or pastes tokens: it is left as it is.
    """
    first = statement_start(stream, at)
    end = statement_end(stream, at)
    if end is None:
        return None
    kept, alignments = _strip(stream, first, end)
    indices = declarator_names(stream, kept)
    if not kept or indices is None:
        return None
    dynamic = any(stream.tokens[i].text == b"extern" for i in range(first, end))
    parameters = stream.macro_parameters(at)
    names = [decode(stream.tokens[i].text) for i in indices]
    # A macro's parameter joins our prefix only by pasting.
    join = {name: "##" if name.encode() in parameters else "" for name in names}
    words = [
        (f"wl_sh_{join[word]}" if i in indices else "") + word
        for i, word in ((i, decode(stream.tokens[i].text)) for i in kept)
    ]
    types = f"typedef {_spaced(stream, kept, words)};"
    if not dynamic:
        aligned = "".join(f"{alignment} " for alignment in alignments)
        types += "".join(f" struct {aligned}wl_tag_{join[name]}{name} {{}};" for name in names)
    variables = " ".join(shared_variable(name, dynamic, join[name]) for name in names)
    last = stream.tokens[end].end if stream.is_at(end, b";") else stream.tokens[end - 1].end
    start = stream.tokens[first].start
    return SharedDeclaration(start, last, tuple(names), dynamic, types, variables)


def _spaced(stream: TokenStream, kept: list[int], words: list[str]) -> str:
    """Join `words`, which stand for the tokens `kept`; `<<` stays one operator."""
    text = words[0]
    for before, at, word in zip(kept[:-1], kept[1:], words[1:], strict=True):
        touching = at == before + 1 and stream.tokens[before].end == stream.tokens[at].start
        text += word if touching else f" {word}"
    return text


def shared_variable(name: str, dynamic: bool, join: str = "") -> str:
    """Return the statement that makes the shared variable `name` known in a function."""
    if dynamic:
        return (
            f"[[maybe_unused]] auto* {name} = (::std::remove_extent_t<wl_sh_{join}{name}>*)"
            "::warploom::dynamic_shared();"
        )
    shown = f"#{name}" if join else f'"{name}"'
    return (
        f"[[maybe_unused]] auto& {name} = ::warploom::shared_variable<wl_sh_{join}{name}, "
        f"wl_tag_{join}{name}>({shown});"
    )
