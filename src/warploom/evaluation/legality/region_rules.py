"""What a mutable region may not contain, token by token, whatever it is part of."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from warploom.core.records import Severity
from warploom.evaluation.legality.branches import choices, conditionals_balanced
from warploom.evaluation.legality.refusals import (
    ATTRIBUTES_ALLOWED,
    FORBIDDEN,
    FORBIDDEN_CALLS,
    KEYWORDS,
    OWN_PREFIXES,
    RESERVED_ALLOWED,
    words,
)
from warploom.evaluation.legality.region_edges import edge_problems
from warploom.evaluation.legality.tokens import Scan, Token, scan

_DIRECTIVES = words(
    """
    define undef include if ifdef ifndef elif else endif pragma error warning
    """
)
_LIBRARY_NAME = re.compile(r"(?:cuda|cu|nccl|MPI_|PMPI_)[A-Z]\w*\Z|nccl\w+_\w+\Z|__\w+\Z")
_CHECK_MACRO = re.compile(r"(?:CUDA|NCCL|MPI)_?(?:CHECK|CALL|TRY|OK|SAFE)\w*\Z", re.IGNORECASE)
_MAX_DIRECTIVES = 500  # each branch is looked at by itself
_PRAGMA_WORDS = ("unroll", "nounroll")


@dataclass(frozen=True, slots=True)
class Region:
    """A mutable region: the text between its markers, which begins on `first_line` of the file."""

    first_line: int
    text: str

    @property
    def lines(self) -> range:
        """The lines of the file that it covers."""
        return range(self.first_line, self.first_line + self.text.count("\n") + 1)


@dataclass(frozen=True, slots=True)
class Refused:
    """One thing that a region must not contain; with `is_told`, one that is only told.

    `about`: what is refused in words of its own, however its line is laid out.
    """

    kind: str
    message: str
    line: int
    hint: str = ""
    is_told: bool = False
    about: str = ""

    @property
    def severity(self) -> Severity:
        """What it is as a finding."""
        return Severity.WARNING if self.is_told else Severity.ERROR


@dataclass(frozen=True, slots=True)
class Frame:
    """What the trusted program has: a candidate may use it, and may not redefine it.

    `names` are those that the frame's own text uses, `known` those of the whole trusted program;
    `macros` those that trusted regions define; `functions` those that the trusted program defines;
    `includes` the headers of the whole program; `pasting` the frame's macros that join tokens;
    `inside` the names in its regions, `registers` those of its inline assembly, `conditions` what
    its preprocessor lines test.
    """

    names: frozenset[str]
    known: frozenset[str]
    macros: frozenset[str]
    functions: frozenset[str]
    includes: frozenset[str]
    pasting: frozenset[str]
    inside: frozenset[str]
    registers: frozenset[str]
    conditions: frozenset[str]
    allowed: frozenset[str] = frozenset()  # although the lists forbid them


def region_refusals(region: Region, frame: Frame) -> Iterator[Refused]:
    """Yield everything in `region` that is refused by its tokens alone."""
    scanned = scan(region.text, region.first_line)
    for trick in scanned.tricks:
        yield Refused("hidden_text", f"{trick.what}: what it hides cannot be judged", trick.line)
    yield from _marker(region)
    yield from _balance(region, scanned)
    yield from _directives(scanned.tokens, frame)
    yield from _names(scanned.tokens, frame)
    yield from attribute_refusals(scanned.tokens)


def _marker(region: Region) -> Iterator[Refused]:
    for number, line in enumerate(region.text.split("\n"), region.first_line):
        if re.search(r"EVOLVE-BLOCK-(?:START|END)", line):
            yield Refused("hidden_text", "a marker inside of a region would move its end", number)


def _balance(region: Region, scanned: Scan) -> Iterator[Refused]:
    last = region.lines[-1]
    if not conditionals_balanced(scanned.tokens):
        yield Refused(
            "unbalanced_region", "a conditional must begin and end inside of its region", last
        )
    if region.text.rstrip(" \t\r\n").endswith("\\"):
        yield Refused("hidden_text", "a line splice at the end of the region", last)
    branches = sum(token.kind == "directive" for token in scanned.tokens)
    if branches > _MAX_DIRECTIVES:
        message = f"a region must have at most {_MAX_DIRECTIVES} directives, got {branches}"
        yield Refused("hidden_text", message, last)
        return
    for tokens in choices(scanned.tokens, [region.lines]):
        unbalanced = list(_brackets(tokens, last))
        yield from unbalanced
        if not unbalanced:
            for line, message, about in edge_problems(tokens):
                yield Refused("unfinished_region", message, line, about=about)


def _brackets(tokens: Sequence[Token], last: int) -> Iterator[Refused]:
    closing = {")": "(", "]": "[", "}": "{"}
    stack: list[str] = []
    for token in tokens:
        if token.kind != "punct" or token.directive:
            continue
        if token.text in closing.values():
            stack.append(token.text)
        elif token.text in closing and (not stack or stack.pop() != closing[token.text]):
            message = f"`{token.text}` closes what was opened outside of the region"
            yield Refused("unbalanced_region", message, token.line)
            return
    if stack:
        yield Refused("unbalanced_region", f"`{stack[-1]}` is not closed in its region", last)


def _directives(tokens: Sequence[Token], frame: Frame) -> Iterator[Refused]:
    for at, token in enumerate(tokens):
        if token.kind != "directive":
            continue
        words = _rest_of_line(tokens, at)
        if token.text not in _DIRECTIVES:
            shown = f"#{token.text}" if token.text else "an empty directive"
            yield Refused("forbidden_directive", f"{shown} is not allowed in a region", token.line)
        elif token.text == "include":
            header = header_name("".join(word.text for word in words))
            if header not in frame.includes:
                yield Refused(
                    "forbidden_include",
                    f"#include {header}: only headers that the frame includes may be used",
                    token.line,
                )
        elif token.text == "pragma":
            if not words or words[0].text not in _PRAGMA_WORDS:
                name = " ".join(word.text for word in words)
                yield Refused(
                    "forbidden_directive", f"#pragma {name}: only unroll is allowed", token.line
                )
        elif token.text in ("define", "undef") and words:
            yield from _macro(words, frame)


def header_name(name: str) -> str:
    """Return `<cuda.h>` for `"cuda.h"`: those of CUDA, NCCL and MPI are ours in either spelling."""
    plain = name.strip('"')
    ours = plain.startswith(("cuda", "nccl", "mpi.h", "cooperative_groups"))
    return f"<{plain}>" if plain != name and ours else name


def _rest_of_line(tokens: Sequence[Token], at: int) -> list[Token]:
    """Return the tokens of the directive at `at`, its name left out."""
    end = at + 1
    while end < len(tokens) and tokens[end].directive and tokens[end].kind != "directive":
        end += 1
    words = list(tokens[at + 1 : end])
    return words[1:] if words and words[0].text == tokens[at].text else words


def _macro(words: Sequence[Token], frame: Frame) -> Iterator[Refused]:
    name = words[0].text
    if name in KEYWORDS:
        yield Refused("redefinition", f"macro {name} would redefine a keyword", words[0].line)
    elif name in frame.macros:
        pass  # a trusted region defines it too: it was always the region's to choose
    elif name in frame.names:
        yield Refused("redefinition", f"macro {name} would change the frame", words[0].line)
    elif is_library_name(name):
        yield Refused(
            "redefinition",
            f"macro {name} would redefine a name of CUDA, NCCL or MPI",
            words[0].line,
        )
    texts = ["", *(word.text for word in words), ""]
    for at, word in enumerate(words):
        # `, ##__VA_ARGS__` leaves the comma out, and joins nothing.
        rest = texts[at] == "," and texts[at + 2] == "__VA_ARGS__"
        if word.text == "##" and not rest:
            yield Refused(
                "hidden_text", "## joins tokens to names that cannot be judged", word.line
            )


def is_library_name(name: str) -> bool:
    """Whether `name` is spelt as CUDA, NCCL, MPI and the compiler spell their own."""
    return bool(_LIBRARY_NAME.match(name)) and not _CHECK_MACRO.match(name)


def _names(tokens: Sequence[Token], frame: Frame) -> Iterator[Refused]:
    for at, token in enumerate(tokens):
        if token.text == "##" and not token.directive:
            yield Refused("hidden_text", "## outside of a macro", token.line)
        if token.kind == "string" and not token.text.endswith('"'):
            yield Refused("hidden_text", "a literal that does not end", token.line)
        if token.kind != "name":
            continue
        before = tokens[at - 1].text if at else ""
        after = tokens[at + 1].text if at + 1 < len(tokens) else ""
        yield from _name(token, before, after, frame)


def _name(token: Token, before: str, after: str, frame: Frame) -> Iterator[Refused]:
    name, line = token.text, token.line
    member = before in (".", "->")
    if name in FORBIDDEN and not member and name not in frame.allowed:
        yield Refused(
            "forbidden_call", f"{name} {FORBIDDEN[name]}: no kernel or pipeline needs it", line
        )
    elif name in FORBIDDEN_CALLS and not member and _is_used(name, before, after, frame):
        yield Refused(
            "forbidden_call",
            f"{name} {FORBIDDEN_CALLS[name]}: no kernel or pipeline needs it",
            line,
            hint="where it is a function of your own, give it another name",
        )
    elif name.startswith(OWN_PREFIXES) and name not in frame.known:
        yield Refused("reserved_name", f"{name} belongs to the evaluator", line)
    elif name == "_Pragma" or name in frame.pasting:
        yield Refused("hidden_text", f"{name} makes text that cannot be judged", line)
    elif (_is_reserved(name) or _is_inner(name, member)) and name not in frame.known:
        yield Refused("reserved_name", f"{name} is a name of the compiler or its library", line)


def _is_used(name: str, before: str, after: str, frame: Frame) -> bool:
    """Whether the system's function of this name may be meant, and not the program's own.

    What slips through as an overload shows among the imports of the build (`imports`).
    """
    own = name in frame.functions and before != "::"
    return not own and (after == "(" or before in ("::", "&"))


def _is_reserved(name: str) -> bool:
    judged_elsewhere = name in ("__attribute__", "__declspec", "__asm__", "__asm")
    return name.startswith("__") and not judged_elsewhere and not RESERVED_ALLOWED.match(name)


def _is_inner(name: str, member: bool) -> bool:
    """Whether a name is one of the library's insides, such as the descriptor in a FILE."""
    return name.startswith("_") and (member or name[1:2].isupper())


def attribute_refusals(tokens: Sequence[Token]) -> Iterator[Refused]:
    """Yield each attribute that untrusted text spells and that is not on the list."""
    for at, token in enumerate(tokens):
        if token.text in ("__attribute__", "__declspec"):
            words = _group(tokens, at + 1, "(", ")")
        elif token.text == "[" and at + 1 < len(tokens) and tokens[at + 1].text == "[":
            words = _group(tokens, at, "[", "]")
        else:
            continue
        for word in words:
            name = word.text.strip("_")
            if word.trusted or word.kind not in ("name", "string"):
                continue
            if name not in ATTRIBUTES_ALLOWED and _is_first(words, word):
                yield Refused("attribute", f"attribute {word.text} is not allowed", word.line)


def _group(tokens: Sequence[Token], at: int, opening: str, closing: str) -> list[Token]:
    depth, words = 0, list[Token]()
    for token in tokens[at:]:
        depth += (token.text == opening) - (token.text == closing)
        words.append(token)
        if depth == 0:
            break
    return words


def _is_first(words: Sequence[Token], word: Token) -> bool:
    """Whether `word` names an attribute: it follows a bracket, a comma or `::`, no argument."""
    at = next(i for i, other in enumerate(words) if other is word)
    depth = sum((w.text in "([") - (w.text in ")]") for w in words[:at] if w.kind == "punct")
    return depth <= 2 and words[at - 1].text in ("(", "[", ",", "::")
