"""A program's text as the compiler sees it, in every world that its conditionals allow.

A condition that the program's own text settles has one value. One that depends on the system
(`NCCL_VERSION_CODE >= ...`, `__CUDA_ARCH__`) may only be the trusted program's; both outcomes
count. The expansion is ours, as the compiler does not tell who spelled a token; a compiler repeats
it, and text on which the two differ is refused.
"""

import functools
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from warploom.core.errors import ToolFailedError
from warploom.emulator.building.runtime_build import run_compiler
from warploom.evaluation.legality.conditions import OpenError, condition_names, holds
from warploom.evaluation.legality.macros import Expander, UnjudgedError
from warploom.evaluation.legality.region_rules import Refused
from warploom.evaluation.legality.tokens import Token, scan
from warploom.toolchain.compilers import find_compiler

BEGIN = ("if", "ifdef", "ifndef")
NEXT = ("elif", "elifdef", "elifndef")
MOST_WORLDS = 64
# What any program may ask of NCCL: a candidate is judged for one version, and nvcc sees the same.
VERSION = re.compile(
    r"if NCCL_VERSION_CODE (?:>=|<) (?:NCCL_VERSION \( \d+ , \d+ , \d+ \)|\d+)\Z"
    r"|ifdef NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER\Z"
)
THRESHOLD = re.compile(r"if NCCL_VERSION_CODE (>=|<) (?:NCCL_VERSION \( (.*) \)|(\d+))\Z")
_NEXT_WORLD = "wl_next_world"
_OURS = "wlq_"  # keeps the compiler from expanding what is its own
_RESERVED = re.compile(r"\b__(?!VA_ARGS__\b|VA_OPT__\b)")


@dataclass(frozen=True, slots=True)
class Line:
    """A preprocessor line, `keyword` and the `words` after it; or text, with keyword ""."""

    keyword: str
    words: tuple[Token, ...]
    line: int
    trusted: bool


@dataclass(frozen=True, slots=True)
class Worlds:
    """The expanded tokens of each world, and what could not be judged."""

    texts: tuple[tuple[Token, ...], ...]
    refused: tuple[Refused, ...]


@dataclass(frozen=True, slots=True)
class Known:
    """What is given.

    `defines` are the build's, `headers` the user's by name, `is_system` tells macros that a header
    may define, `conditions` are those of the trusted program.
    """

    defines: Mapping[str, str] = field(default_factory=dict[str, str])
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    is_system: Callable[[str], bool] = bool
    conditions: frozenset[str] = frozenset()


def lines_of(tokens: Sequence[Token]) -> Iterator[Line]:
    """Yield the preprocessor lines of `tokens` and the text between them."""
    at = 0
    while at < len(tokens):
        first = tokens[at]
        end = at + 1
        if first.kind == "directive":
            while end < len(tokens) and tokens[end].directive and tokens[end].kind != "directive":
                end += 1
            words = tokens[at + 1 : end]
            words = words[1:] if words and words[0].text == first.text else words
            yield Line(first.text, tuple(words), first.line, first.trusted)
        else:
            while end < len(tokens) and not tokens[end].directive:
                end += 1
            words = tuple(tokens[at:end])
            yield Line("", words, first.line, all(word.trusted for word in words))
        at = end


def condition_text(keyword: str, words: Sequence[Token]) -> str:
    """Return one spelling for a condition, however it is spaced."""
    kind = "if" if keyword in ("if", "elif") else "ifdef"
    return " ".join([kind, *(word.text for word in words)])


def conditions_of(tokens: Sequence[Token]) -> frozenset[str]:
    """Return the conditions that `tokens` spell."""
    return frozenset(
        condition_text(line.keyword, line.words)
        for line in lines_of(tokens)
        if line.keyword in BEGIN or line.keyword in NEXT
    )


def worlds(tokens: Sequence[Token], known: Known) -> Worlds:
    """Expand `tokens` in every world."""
    lines = tuple(lines_of(tokens))
    matters = _that_matter(lines)
    runs: dict[str, Pass] = {}
    refused: dict[Refused, None] = {}
    tried: set[frozenset[str]] = set()
    waiting = version_worlds(matters)
    fixed = frozenset(key for key in matters if THRESHOLD.match(key))
    while waiting:
        false = waiting.pop(0)
        if false in tried:
            continue
        if len(tried) >= MOST_WORLDS:
            refused[_too_many(lines, matters)] = None
            break
        tried.add(false)
        run = Pass(known, false, matters)
        try:
            run.text(lines)
        except UnjudgedError as error:
            refused[_hidden(error)] = None
        refused.update(dict.fromkeys(run.refused))
        runs.setdefault("\n".join(run.live) + "\n", run)
        waiting += further_worlds(false, [key for key in run.open if key not in fixed])
    if not refused:
        try:
            _compare(runs)
        except UnjudgedError as error:
            refused[_hidden(error)] = None
    return Worlds(tuple(tuple(run.out) for run in runs.values()), tuple(refused))


def _that_matter(lines: Sequence[Line]) -> frozenset[str]:
    """Return the conditions whose arms hold untrusted text or change macros."""
    found: set[str] = set()
    stack: list[list[str]] = []
    for line in lines:
        if line.keyword in BEGIN:
            stack.append([])
        if line.keyword in BEGIN or line.keyword in NEXT:
            for keys in stack[-1:]:
                keys.append(condition_text(line.keyword, line.words))
        if not line.trusted or line.keyword in ("define", "undef", "include"):
            found.update(key for keys in stack for key in keys)
        if line.keyword == "endif" and stack:
            stack.pop()
    return frozenset(found)


def _hidden(error: UnjudgedError) -> Refused:
    return Refused("hidden_text", f"{error.what}: it cannot be judged", error.line)


def version_worlds(matters: frozenset[str]) -> list[frozenset[str]]:
    """Return for each version of NCCL that conditions tell apart which of them are false."""
    limits: dict[str, tuple[bool, int]] = {}
    for key in matters:
        if found := THRESHOLD.match(key):
            limits[key] = (found[1] == "<", _version_code(found[2], found[3]))
    return [
        frozenset(key for key, (below, limit) in limits.items() if (version < limit) != below)
        for version in sorted({0} | {limit for _, limit in limits.values()}, reverse=True)
    ]


def _version_code(parts: str | None, number: str | None) -> int:
    """Return NCCL's number for a version, as its macro makes it."""
    if parts is None:
        digits = number or "0"
        octal = re.fullmatch(r"0[0-7]+", digits)
        return int(digits, 8 if octal else 10)
    major, minor, patch = (int(part) for part in parts.split(" , "))
    return major * (1000 if major <= 2 and minor <= 8 else 10000) + minor * 100 + patch


def _too_many(lines: Sequence[Line], matters: frozenset[str]) -> Refused:
    """Return the refusal of a text whose conditions leave more worlds than can be looked at."""
    places = [
        line.line
        for line in lines
        if not line.trusted
        and line.keyword in (*BEGIN, *NEXT)
        and condition_text(line.keyword, line.words) in matters
    ]
    return Refused(
        "hidden_text",
        f"conditions that leave more than {MOST_WORLDS} forms of the text: not all can be judged",
        places[-1] if places else 1,
    )


def further_worlds(false: frozenset[str], names: Sequence[str]) -> Iterator[frozenset[str]]:
    """Yield worlds to try: every open condition false alone, and all of them."""
    yield from (false | {name} for name in names)
    yield false | frozenset(names)


class Pass:
    """One reading of the text; `open` are the conditions that the system settles."""

    def __init__(self, known: Known, false: frozenset[str], matters: frozenset[str]) -> None:
        self.known = known
        self.matters = matters
        self.false = false
        self.expander = Expander(known.defines)
        self.out: list[Token] = []
        self.open: dict[str, None] = {}
        self.refused: list[Refused] = []
        self.live: list[str] = [
            f"#define {name} {value or '1'}" for name, value in known.defines.items()
        ]
        self.pending: list[Token] = []
        self.included: set[str] = set()
        self.uses_macros = False
        self.defined: set[str] = {name.partition("(")[0] for name in known.defines}

    def text(self, lines: Sequence[Line]) -> None:
        """Read all lines, and expand what is live."""
        stack: list[list[bool]] = []  # of each conditional: live now, one arm taken, live outside
        for line in lines:
            live = not stack or stack[-1][0]
            keyword = line.keyword
            if keyword in BEGIN:
                value = live and self.holds(line)
                stack.append([value, value or not live, live])
            elif keyword in NEXT and stack:
                value = stack[-1][2] and not stack[-1][1] and self.holds(line)
                stack[-1][:2] = [value, stack[-1][1] or value]
            elif keyword == "else" and stack:
                stack[-1][:2] = [stack[-1][2] and not stack[-1][1], True]
            elif keyword == "endif" and stack:
                stack.pop()
            elif live:
                self._line(line)
        self._flush(None)
        self.refused += [
            Refused(
                "hidden_text",
                f"macro {name} makes a string of text that is rewritten here: it may tell the "
                "emulator from a GPU",
                line,
                hint="print it in the macro itself, by fprintf(stderr, ...), or leave it out",
            )
            for name, line in self.expander.shown
        ]

    def _line(self, line: Line) -> None:
        if line.keyword == "":
            self.pending += line.words
        elif line.keyword in ("define", "undef"):
            self._flush(line)
            (self.expander.define if line.keyword == "define" else self.expander.undefine)(
                line.words
            )
            self.live.append(f"#{line.keyword} {spelled(line.words)}")
            self.defined.update(word.text for word in line.words[:1])
        elif line.keyword == "include":
            self._flush(line)
            self._include(line)

    def inner(self) -> "Pass":
        """Begin to read a header in the same world."""
        return Pass(self.known, self.false, self.matters)

    def expand(self, tokens: Sequence[Token]) -> list[Token]:
        """Expand the macros that are defined now."""
        return self.expander.expand(tokens)

    def _include(self, line: Line) -> None:
        """Take in the macros of a header of the workload's own."""
        name = "".join(word.text for word in line.words).strip('"<>')
        text = self.known.headers.get(name)
        if text is None or name in self.included:
            return
        self.included.add(name)
        tokens = [
            Token(t.kind, t.text, line.line, t.directive, t.spaced, True) for t in scan(text).tokens
        ]
        inner = self.inner()
        inner.expander, inner.included = self.expander, self.included
        inner.live = self.live
        inner.text(tuple(lines_of(tokens)))
        self.open.update(inner.open)
        self.defined |= inner.defined
        self.out += inner.out

    def _flush(self, line: Line | None) -> None:
        """Expand the text so far: what follows has other macros."""
        if not self.pending:
            return
        tokens, self.pending = self.pending, []
        self.live.append(spelled(tokens))
        last = tokens[-1]
        macro = self.expander.macros.get(last.text)
        if line is not None and macro is not None and macro.parameters is not None:
            raise UnjudgedError(f"a directive after the name of macro {last.text}", last.line)
        expanded = self.expand(tokens)
        self.uses_macros |= len(expanded) != len(tokens) or expanded != tokens
        self.out += expanded

    def holds(self, line: Line) -> bool:
        """Return whether a condition holds in this world."""
        key = condition_text(line.keyword, line.words)
        literal = key in self.known.conditions or VERSION.match(key) is not None
        try:
            return holds(line.keyword, line.words, self.expander, self.known.is_system)
        except OpenError as error:
            foreign = error.names - condition_names(line.words)
            if not line.trusted and (not literal or foreign):
                self.refused.append(_untold(line, error))
        if key in self.matters:
            self.open[key] = None
        return (key not in self.false) != (line.keyword in ("ifndef", "elifndef"))


def _compare(runs: Mapping[str, Pass]) -> None:
    """Let a compiler expand the same texts.

    Raises:
        UnjudgedError: it sees something else in one of them.
    """
    used = {text: run for text, run in runs.items() if run.uses_macros}
    if not used:
        return
    names = {name for run in used.values() for name in run.defined}
    forget = "".join(f"#undef {name}\n" for name in sorted(names))
    whole = f"\n{_NEXT_WORLD}\n{forget}".join(used)
    theirs = compilers_view(whole).split(f" {_NEXT_WORLD} ")
    for run, text in zip(used.values(), theirs, strict=True):
        ours = _letters(run.out)
        if text != ours:
            at = next((i for i, (a, b) in enumerate(zip(ours, text, strict=False)) if a != b), 0)
            raise UnjudgedError("the compiler expands macros otherwise", _line_at(run.out, at))


def _untold(line: Line, error: OpenError) -> Refused:
    tested = ", ".join(sorted(error.names)) or "what cannot be told"
    return Refused(
        "forbidden_directive",
        f"#{line.keyword} depends on {tested}: it may tell the emulator from a GPU",
        line.line,
        hint="a condition may only test macros that the program itself defines",
    )


def spelled(tokens: Sequence[Token]) -> str:
    """Return tokens as text that a compiler reads as the same tokens."""
    return "".join((" " if token.spaced else "") + token.text for token in tokens)


def _letters(tokens: Sequence[Token]) -> str:
    """Return what two spellings of the same tokens have in common."""
    parts: list[str] = []
    for token in tokens:
        if token.kind == "string":
            parts.append(re.sub(r"\s", "", token.text))
        elif token.kind in ("name", "number"):
            parts.append(f" {token.text} ")
        else:
            parts.append(token.text)
    return "".join(parts)


def _line_at(tokens: Sequence[Token], offset: int) -> int:
    length = 0
    for token in tokens:
        length += len(_letters([token]))
        if length > offset:
            return token.line
    return tokens[-1].line if tokens else 1


@functools.lru_cache(maxsize=64)
def compilers_view(text: str) -> str:
    """Return the letters of `text` after the emulator's compiler has expanded its macros.

    Raises:
        UnjudgedError: the compiler does not take the text.
    """
    compiler = find_compiler()
    with tempfile.TemporaryDirectory(prefix="warploom-") as name:
        folder = Path(name)
        (folder / "text.cpp").write_bytes(
            _RESERVED.sub(f"{_OURS}__", text).encode("utf-8", "surrogateescape")
        )
        flags = ["-E", "-P", "-x", "c++", "-std=c++20", "-undef", "-nostdinc", "-w"]
        result = run_compiler(compiler, [*flags, "text.cpp", "-o", "out.cpp"], folder)
        if result.stopped or result.signal:
            raise ToolFailedError(
                f"the compiler must expand macros, but was stopped:\n{result.log}"
            )
        if not result.ok:
            found = re.search(r"error: (.*)", result.log)
            raise UnjudgedError(f"macros that do not work ({found[1] if found else 'failed'})", 1)
        made = (folder / "out.cpp").read_bytes().decode("utf-8", "surrogateescape")
    return _letters(scan(made.replace(_OURS, "")).tokens)
