"""CUDA text as a syntax tree: bytes in, nodes with lines and text out."""

import functools
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import tree_sitter_cuda
from tree_sitter import Language, Node, Parser, Query, QueryCursor, Tree

from warploom.core.errors import SourceError
from warploom.source.chevrons import joined_chevrons
from warploom.source.conditionals import Conditional, find_conditionals, is_balanced
from warploom.source.edits import decode

LANGUAGE = Language(tree_sitter_cuda.language())

# Attributes that the grammar does not know; they carry nothing that the analysis needs.
_LATE_SPLICE = re.compile(rb"(\\)([ \t\f\v]+)(\r?\n)")
_ATTRIBUTES = re.compile(
    rb"\b(?:__cluster_dims__|__align__|__block_size__|__maxnreg__|alignas|__attribute__|"
    rb"__declspec)\s*(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))"
    rb"|\b(?:CUDART_CB|CUDARTAPI|CUDA_CB|CUDAAPI)\b"
    rb"|(?<=\benum)\s*:\s*[\w:]+(?=\s*\{)"
)
# What the grammar knows as no argument, and as no condition: the type of either.
_VALUE_TYPE = re.compile(rb"\bva_arg\s*\([^(),;]*(,[^();]*(?:\([^();]*\)[^();]*)*)\)")
_LOOP = re.compile(rb"\bfor\s*\(")
_LOOP_TYPE = re.compile(
    rb"\s*((?:const\s+)?[A-Za-z_][\w:]*(?:\s*<[^;<>]*>)?(?:\s+(?:const|int|long|char|short))*"
    rb"(?:\s+|\s*[*&][\s*&]*(?:const\s+)?))[A-Za-z_]\w*\s*=(?!=)"
)
_LONE_MACRO = re.compile(rb"\s*[A-Z][A-Z0-9_]+(?:\([^()\n]*\))?\s*")
_LEADING_MACRO = re.compile(rb"[ \t]*([A-Z][A-Z0-9_]{2,})[ \t]+[A-Za-z_]\w*[ \t*&]+[A-Za-z_]")
# A macro that takes over the result of the call behind it, as in `DO ncclSend(...);`.
_PREFIX_MACRO = re.compile(
    rb"(?:[;{})\n]|\belse\b|\bdo\b)\s*([A-Z][A-Z0-9_]*)\s+"
    rb"(?:nccl[A-Z]|cuda[A-Z]|MPI_[A-Z])\w*\s*\("
)
_MAX_PARSES, _MAX_ATTEMPTS = 40, 8
_MAX_INITIALIZER = 1000  # characters


@dataclass(frozen=True, slots=True)
class LineRange:
    """Lines `first` to `last`, both included, counting from 1."""

    first: int
    last: int

    def __str__(self) -> str:
        return f"{self.first}" if self.first == self.last else f"{self.first}-{self.last}"


@dataclass(frozen=True, slots=True, eq=False)
class SourceFile:
    """One parsed file.

    `text` is the file as it is. `parsed` has the same length, with blanks where the parser would
    stumble (attributes, dead or unjoinable preprocessor branches, macros before calls, types in
    `va_arg` and in a loop's condition): offsets are the same in both.
    `skipped` names the lines that the analysis did not see although they may be compiled.
    """

    path: Path
    text: bytes
    parsed: bytes
    tree: Tree
    line_starts: tuple[int, ...]
    skipped: tuple[LineRange, ...]
    conditionals: tuple[Conditional, ...]

    @property
    def root(self) -> Node:
        """The node of the whole file."""
        return self.tree.root_node

    def line_of(self, offset: int) -> int:
        """Return the line, counting from 1, that holds the byte at `offset`."""
        return bisect_right(self.line_starts, offset)

    def line_span(self, line: int) -> tuple[int, int]:
        """Return the byte range of `line` (from 1), its newline included."""
        start = self.line_starts[line - 1]
        following = self.line_starts[line : line + 1]
        return start, following[0] if following else len(self.text)

    def node_text(self, node: Node) -> str:
        """Return the file's own text of `node`, exactly as written."""
        return decode(self.text[node.start_byte : node.end_byte])

    def slice(self, start: int, end: int) -> str:
        """Return the text between two byte offsets."""
        return decode(self.text[start:end])

    def nodes(self, *types: str, within: Node | None = None) -> Iterator[Node]:
        """Yield nodes of the given types in source order, in `within` or the whole file."""
        for _, found in QueryCursor(_query_of(types)).matches(within or self.root):
            yield from found["node"]

    def conditions_at(self, line: int) -> tuple[str, ...]:
        """Return the preprocessor conditions around `line` (from 1), outermost first."""
        found = [
            (conditional.start, branch.condition)
            for conditional in self.conditionals
            for branch in conditional.branches
            if branch.first <= line - 1 <= branch.last
        ]
        return tuple(condition for _, condition in sorted(found))


@functools.lru_cache(maxsize=128)
def _query_of(types: tuple[str, ...]) -> Query:
    """Return what finds all nodes of these types; a walk in Python takes three times as long."""
    return Query(LANGUAGE, f"[{' '.join(f'({kind})' for kind in types)}] @node")


def _blank(data: bytearray, start: int, end: int) -> None:
    for at in range(start, end):
        if data[at] not in b"\n\r":
            data[at] = 0x20


class _Blanker:
    """Blanks what the parser cannot take, keeping every byte offset."""

    def __init__(self, text: bytes, starts: tuple[int, ...], data: bytes | bytearray) -> None:
        self.text = text
        self.starts = starts
        self.data = bytearray(data)
        self.skipped: list[LineRange] = []

    def copy(self) -> "_Blanker":
        """Return an independent copy."""
        made = _Blanker(self.text, self.starts, self.data)
        made.skipped = list(self.skipped)
        return made

    def lines(self, first: int, last: int) -> None:
        """Blank lines `first..last`, counting from 0."""
        if first <= last:
            end = self.starts[last + 1] if last + 1 < len(self.starts) else len(self.text)
            _blank(self.data, self.starts[first], end)

    def join(self, conditional: Conditional) -> None:
        """Leave one arm of `conditional`, and no directive."""
        keep = conditional.chosen()
        self.lines(conditional.end, conditional.end)
        for branch in conditional.branches:
            self.lines(branch.directive, branch.directive)
            if branch is not keep and branch.first <= branch.last:
                self.lines(branch.first, branch.last)
                if branch.live is not False:
                    self.skipped.append(LineRange(branch.first + 1, branch.last + 1))


def _declared_conditions(text: bytes) -> Iterator[tuple[int, int]]:
    """Yield where the type stands in `for (...; bool more = next(); ...)`."""
    for loop in _LOOP.finditer(text):
        depth = 0
        for at in range(loop.end(), min(len(text), loop.end() + _MAX_INITIALIZER)):
            depth += (text[at] in b"([{") - (text[at] in b")]}")
            if depth < 0:
                break
            if depth == 0 and text[at] == ord(";"):
                if found := _LOOP_TYPE.match(text, at + 1):
                    yield found.span(1)
                break


def _line_starts(text: bytes) -> tuple[int, ...]:
    return (0, *(match.end() for match in re.finditer(rb"\n", text) if match.end() < len(text)))


def _problems(tree: Tree) -> list[Node]:
    """Return the outermost error nodes, and the tokens that the parser had to invent."""
    found: list[Node] = []
    stack = [tree.root_node]
    while stack:
        node = stack.pop()
        if node.type == "ERROR" or node.is_missing:
            # A check macro without its semicolon costs nothing: the statement is whole.
            if not (node.is_missing and node.type == ";"):
                found.append(node)
        elif node.has_error:
            stack.extend(reversed(node.children))
    return found


def _blanked_parse(
    text: bytes, starts: tuple[int, ...], conditionals: tuple[Conditional, ...]
) -> tuple[bytes, Tree, list[LineRange]]:
    parser = Parser(LANGUAGE)
    blanker = _Blanker(text, starts, joined_chevrons(text))
    for match in _ATTRIBUTES.finditer(text):
        _blank(blanker.data, *match.span())
    for pattern in (_VALUE_TYPE, _PREFIX_MACRO):
        for match in pattern.finditer(text):
            _blank(blanker.data, *match.span(1))
    for span in _declared_conditions(text):
        _blank(blanker.data, *span)
    for conditional in conditionals:
        bodies = [
            text[starts[b.first] : starts[b.last + 1]]
            for b in conditional.branches
            if b.first <= b.last
        ]
        if not all(map(is_balanced, bodies)):
            blanker.join(conditional)
            continue
        for branch in conditional.branches:
            if branch.live is False:
                blanker.lines(branch.first, branch.last)
    tree = parser.parse(bytes(blanker.data))
    left = _MAX_PARSES
    while left > 0:
        better, used = _repair(parser, blanker, tree, conditionals)
        left -= used
        if better is None:
            break
        blanker, tree = better
    return bytes(blanker.data), tree, blanker.skipped


def _repair(
    parser: Parser, blanker: _Blanker, tree: Tree, conditionals: tuple[Conditional, ...]
) -> tuple[tuple[_Blanker, Tree] | None, int]:
    """Make one change after which fewer problems are left, and say how many parses it took.

    The changes tried, at the places of problems: a lone macro name on its line is blanked, or one
    before a declaration; one arm of a conditional is kept.
    """
    problems = _problems(tree)
    data = bytes(blanker.data)
    attempts: list[_Blanker] = []
    for line in _lone_macros(problems, data, blanker.starts):
        attempts.append(blanker.copy())
        attempts[-1].lines(line, line)
    for start, end in _leading_macros(problems, data, blanker.starts):
        attempts.append(blanker.copy())
        _blank(attempts[-1].data, start, end)
    for conditional in _joinable(problems, conditionals, data, blanker.starts):
        attempts.append(blanker.copy())
        attempts[-1].join(conditional)
    for used, attempt in enumerate(attempts[:_MAX_ATTEMPTS], 1):
        again = parser.parse(bytes(attempt.data))
        if len(_problems(again)) < len(problems):
            return (attempt, again), used
    return None, len(attempts)


def _lone_macros(problems: list[Node], data: bytes, starts: tuple[int, ...]) -> list[int]:
    """Return the lines, from 0, near problems that hold nothing but one capital name."""
    found: set[int] = set()
    for node in problems:
        last = min(node.start_point[0], len(starts) - 1)  # what is missing may be after the end
        for line in range(max(0, node.start_point[0] - 2), last + 1):
            end = starts[line + 1] if line + 1 < len(starts) else len(data)
            if _LONE_MACRO.fullmatch(data[starts[line] : end]):
                found.add(line)
    return sorted(found)


def _leading_macros(
    problems: list[Node], data: bytes, starts: tuple[int, ...]
) -> list[tuple[int, int]]:
    """Return where problem lines begin with a capital name before a declaration."""
    lines = {node.start_point[0] for node in problems}
    lines |= {line - 1 for line in lines if line}
    found: list[tuple[int, int]] = []
    for line in sorted(line for line in lines if line < len(starts)):
        match = _LEADING_MACRO.match(data, starts[line])
        if match:
            found.append(match.span(1))
    return found


def _joinable(
    problems: list[Node],
    conditionals: tuple[Conditional, ...],
    data: bytes,
    starts: tuple[int, ...],
) -> list[Conditional]:
    """Return the conditionals that touch a problem and have their directives, smallest first."""
    touching = [
        c
        for c in conditionals
        if data[starts[c.start] : starts[c.start + 1]].strip()
        and any(n.start_point[0] <= c.end and n.end_point[0] >= c.start for n in problems)
    ]
    return sorted(touching, key=lambda c: c.end - c.start)


def _error_lines(tree: Tree) -> list[LineRange]:
    """Return the lines of each error; where it holds readable parts, of its loose tokens only."""
    found: list[LineRange] = []
    for node in _problems(tree):
        first, last = node.start_point[0] + 1, node.end_point[0] + 1
        if last - first <= 3:
            found.append(LineRange(first, last))
            continue
        # The parser gave up on the whole, yet kept its statements: name the loose tokens only.
        loose = [c for c in node.children if c.type == "ERROR" or c.is_missing or not c.is_named]
        found += [LineRange(c.start_point[0] + 1, c.end_point[0] + 1) for c in loose] or [
            LineRange(first, last)
        ]
    return found


def merge_ranges(ranges: list[LineRange]) -> tuple[LineRange, ...]:
    """Return `ranges` sorted, with touching and overlapping ones joined."""
    merged: list[LineRange] = []
    for item in sorted(ranges, key=lambda r: (r.first, r.last)):
        if merged and item.first <= merged[-1].last + 1:
            merged[-1] = LineRange(merged[-1].first, max(merged[-1].last, item.last))
        else:
            merged.append(item)
    return tuple(merged)


def spliced(text: bytes) -> bytes:
    """Return `text` with backslashes that blanks part from the end of their line at that end.

    Compilers take both for a continued line (and warn); parsers do not. Nothing else moves.
    """
    return _LATE_SPLICE.sub(rb"\2\1\3", text)


def parse_source(
    text: bytes | str, path: Path | str = "program.cu", defines: Mapping[str, str] | None = None
) -> SourceFile:
    """Parse CUDA text.

    Args:
        text: the file's content; text is taken as UTF-8.
        path: what the records and messages call the file.
        defines: macro names and values, as `-D` gives them. An arm of an `#if` that they (or a
            literal `0` or `1`) decide against is not read; where nothing decides, all are.

    Raises:
        SourceError: the text is empty or binary.
    """
    data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
    data = spliced(data)
    name = str(path)
    if not data.strip():
        raise SourceError("a CUDA program must have text, but the file is empty", file=name)
    if b"\0" in data:
        raise SourceError(
            "a CUDA program must be text, but the file holds a zero byte",
            file=name,
            line=data[: data.index(b"\0")].count(b"\n") + 1,
            hint="pass the .cu source, not the compiled program",
        )
    starts = _line_starts(data)
    conditionals = find_conditionals(data, defines or {})
    parsed, tree, skipped = _blanked_parse(data, starts, conditionals)
    ranges = merge_ranges(skipped + _error_lines(tree))
    return SourceFile(Path(path), data, parsed, tree, starts, ranges, conditionals)


def load_source(path: Path | str, defines: Mapping[str, str] | None = None) -> SourceFile:
    """Read and parse a file.

    Raises:
        SourceError: the file is missing, a folder, unreadable, empty or binary.
    """
    place = Path(path)
    try:
        data = place.read_bytes()
    except FileNotFoundError:
        raise SourceError("the source file must exist, but there is none", file=str(path)) from None
    except OSError as error:
        raise SourceError(
            f"the source file must be readable, got: {error.strerror}", file=str(path)
        ) from None
    return parse_source(data, place, defines)
