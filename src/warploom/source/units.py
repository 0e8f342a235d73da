"""Programs of several files as one text, and back: `unite` puts them together, `divide` apart.

What rewrites and judges programs takes one text. Of a program whose communication is spread over
headers and further sources, these are put where their `#include` stands, or behind the program:

    // warploom: begin comm.h: #include "comm.h"
    // warploom: instead of: #pragma once
    ...
    // warploom: end comm.h

The lines say what stood there, so that `divide` gives the files back, with what was changed in
them. Names are places below the innermost folder that holds all files of the program.
"""

import os
import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from warploom.core.errors import Refusal, RefusedError, SourceError
from warploom.core.roots import Roots
from warploom.source.edits import decode, split_lines
from warploom.source.masking import mask
from warploom.source.syntax import SourceFile, load_source
from warploom.source.unit_names import internal_names, own_macros

_MARK = "// warploom: "
_INCLUDE = re.compile(r'[ \t]*#[ \t]*include[ \t]*(["<])([^"<>\n]+)[">]')
_ONCE = re.compile(r"[ \t]*#[ \t]*pragma[ \t]+once\b")
_GUARD = re.compile(rb"\s*#[ \t]*(?:ifndef[ \t]+(\w+)|if[ \t]+!\s*defined\s*\(?\s*(\w+)\s*\)?)")
_BEGIN = re.compile(rf"{_MARK}begin ([^\n:]+)(?:: ([^\n]*))?\r?\n?")
_END = re.compile(rf"{_MARK}end ([^\n:]+?)( without a newline)?\r?\n?")
ONLY_HERE = f"{_MARK}only here"
"""At the end of a line that is there while a text is judged, and goes with `divide`."""

_WORD = re.compile(r"[A-Za-z_]\w*")
_INSTEAD = re.compile(rf"{_MARK}instead of: ([^\n]*\n?)")


@dataclass(frozen=True, slots=True)
class United:
    """A program of several files as one text.

    `files` are the texts of those that it holds, by name, the program first; names are places below
    `base`. `sources` are the further sources that stay apart.
    """

    text: str
    files: Mapping[str, str]
    base: Path
    sources: tuple[Path, ...]


def unite(
    program: Path,
    sources: Sequence[Path],
    include_dirs: Sequence[Path],
    concerns: Callable[[bytes], bool],
    *,
    defines: Mapping[str, str] | None = None,
) -> United | None:
    """Put a program together with those of its files that something concerns.

    Args:
        program: the file with `main`.
        sources: further sources, each a translation unit of its own.
        include_dirs: folders, beside a file's own, where `#include "..."` is looked for, and
            `#include <...>`.
        concerns: tells of a file's text whether it must be in the one text.
        defines: macros as `-D` gives them; includes in an arm that they decide against are none.

    Returns:
        None where the program's own file is the only one that is concerned.

    Raises:
        RefusedError: the files cannot be put together; names each place and why.
        SourceError: a source is missing, unreadable, empty or binary.
    """
    folders = [path.resolve() for path in (program.parent, *(s.parent for s in sources))]
    folders += [folder.resolve() for folder in include_dirs]
    base = Path(os.path.commonpath(folders))
    tree = _Tree(base, tuple(include_dirs), Roots(folders), dict(defines or {}))
    wanted = tree.wanted((program, *sources), concerns)
    inside = [source for source in sources if source.resolve() in wanted]
    if not wanted - {program.resolve()}:
        return None
    joined = _Joining(tree, frozenset(wanted))
    units = (program, *inside)
    taken = [internal_names(tree.file(path)) for path in units]
    words = [set(_WORD.findall(decode(tree.file(path).text))) for path in units]
    text = ""
    for at, path in enumerate(units):
        before, behind = set[str]().union(*taken[:at]), set[str]().union(*words[at + 1 :])
        part = _renamed(joined.part(path), sorted(taken[at] & before), f"_of_{at + 1}")
        ended = (own_macros(tree.file(path)) & behind) - set(defines or {})
        text += _ended(part, sorted(ended))
    if joined.refusals:
        raise RefusedError.of(tuple(joined.refusals))
    apart = tuple(source for source in sources if source not in inside)
    return United(text, joined.files, tree.base, apart)


def is_united(text: str) -> bool:
    """Whether a text holds several files."""
    return _BEGIN.match(text) is not None


def divide(text: str) -> dict[str, str]:
    """Return the files of a united text, by name; the program first.

    A part that nothing was put together for, as the rewriter adds one, becomes a file as well.
    """
    files: dict[str, list[str]] = {}
    for name, line in _placed(text):
        files.setdefault(name, []).append(line)
    return {name: "".join(lines) for name, lines in files.items()}


def own_lines(text: str) -> tuple[str, ...]:
    """Return the lines of a text that are there only while it is judged."""
    return tuple(line.rstrip("\r\n") for line in split_lines(text) if _is_own(line))


def without_own_lines(text: str, kept: Container[str] = ()) -> str:
    """Return a text without the lines that are there only while it is judged, but for `kept`."""
    return "".join(
        line for line in split_lines(text) if not _is_own(line) or line.rstrip("\r\n") in kept
    )


def _is_own(line: str) -> bool:
    return line.rstrip("\r\n").endswith(ONLY_HERE)


def origins(text: str, name: str = "") -> list[tuple[str, int]]:
    """Return for each line of a text the file, and the line in it from 1, that it is of.

    `name` is the file of a text that is not a united one.
    """
    found: list[tuple[str, int]] = []
    count: dict[str, int] = {}
    open_parts = [name]
    for line in split_lines(text):
        begin, end = _BEGIN.fullmatch(line), _END.fullmatch(line)
        if begin:
            if begin[2] is not None:
                count[open_parts[-1]] = count.get(open_parts[-1], 0) + 1
            open_parts.append(begin[1])
        elif not end and not _is_own(line):
            count[open_parts[-1]] = count.get(open_parts[-1], 0) + 1
        found.append((open_parts[-1], max(1, count.get(open_parts[-1], 0))))
        if end and len(open_parts) > 1:
            open_parts.pop()
    return found


def _placed(text: str) -> Iterator[tuple[str, str]]:
    """Yield the lines of the files, each with its file's name."""
    open_parts: list[str] = []
    late: dict[str, str] = {}  # the line before, whose newline may have to go
    for line in split_lines(text):
        begin, end, instead = _BEGIN.fullmatch(line), _END.fullmatch(line), _INSTEAD.match(line)
        if end and open_parts:
            name = open_parts.pop()
            if name in late:
                last = late.pop(name)
                yield name, last.removesuffix("\n") if end[2] else last
            continue
        if _is_own(line):
            continue
        told = f"{begin[2]}\n" if begin and begin[2] is not None else None
        told = told if begin else (instead[1] if instead else line)
        if told is not None and open_parts:
            name = open_parts[-1]
            if name in late:
                yield name, late[name]
            late[name] = told
        if begin:
            open_parts.append(begin[1])
    yield from late.items()


def as_part(name: str, text: str, directive: str) -> str:
    """Return `text` as a part of a united text: a file `name`, which `directive` includes."""
    lines = [
        f"{_MARK}instead of: {line}" if _ONCE.match(line) else line for line in split_lines(text)
    ]
    return f"{_MARK}begin {name}: {directive}\n{''.join(lines)}{_MARK}end {name}\n"


def _ended(part: str, names: Sequence[str]) -> str:
    """Return a part behind which macros of its own mean nothing any more."""
    lines = split_lines(part)
    return "".join([*lines[:-1], *(f"#undef {n}  {ONLY_HERE}\n" for n in names), lines[-1]])


def _renamed(part: str, names: Sequence[str], suffix: str) -> str:
    """Return a part in which names that another part has as its own mean another thing."""
    if not names:
        return part
    lines = split_lines(part)
    last = depth = 0
    for at, line in enumerate(lines[1:-1], 1):
        depth += bool(_BEGIN.match(line)) - bool(_END.match(line))
        if depth == 0 and (
            _END.match(line) or _INCLUDE.match(line.removeprefix(f"{_MARK}instead of: "))
        ):
            last = at
    define = [f"#define {name} {name}{suffix}  {ONLY_HERE}\n" for name in names]
    undefine = [f"#undef {name}  {ONLY_HERE}\n" for name in names]
    return "".join([*lines[: last + 1], *define, *lines[last + 1 : -1], *undefine, lines[-1]])


@dataclass(frozen=True, slots=True)
class _Tree:
    """The files of a program, read once each."""

    base: Path
    include_dirs: tuple[Path, ...]
    roots: Roots
    defines: dict[str, str]
    read: dict[Path, SourceFile] = field(default_factory=dict[Path, SourceFile])

    def file(self, path: Path) -> SourceFile:
        """Return a file as parsed."""
        real = path.resolve()
        if real not in self.read:
            self.read[real] = load_source(path, self.defines)
        return self.read[real]

    def name(self, path: Path) -> str:
        """Return what a file is called: its place below the base."""
        return path.resolve().relative_to(self.base).as_posix()

    def included(self, path: Path) -> dict[int, Path]:
        """Return the files of the program that a file includes, by line from 1."""
        file = self.file(path)
        dead = [
            (branch.first + 1, branch.last + 1)
            for conditional in file.conditionals
            for branch in conditional.branches
            if branch.live is False
        ]
        found: dict[int, Path] = {}
        for number, line in enumerate(split_lines(decode(file.text)), 1):
            match = _INCLUDE.match(line)
            if match and not any(first <= number <= last for first, last in dead):
                place = self._place(path, match[2], quoted=match[1] == '"')
                if place is not None:
                    found[number] = place
        return found

    def _place(self, path: Path, name: str, *, quoted: bool) -> Path | None:
        for folder in (*((path.parent,) if quoted else ()), *self.include_dirs):
            place = folder / name
            if place.is_file() and self.roots.hold(place):
                try:
                    self.file(place)
                except SourceError:
                    return None  # empty or binary: it holds no code
                return place
        return None

    def wanted(self, units: Sequence[Path], concerns: Callable[[bytes], bool]) -> set[Path]:
        """Return the files that something concerns, or that include one of these."""
        includes: dict[Path, list[Path]] = {}
        waiting = list(units)
        while waiting:
            path = waiting.pop().resolve()
            if path in includes:
                continue
            includes[path] = [place.resolve() for place in self.included(path).values()]
            waiting += includes[path]
        found = {path for path in includes if concerns(self.file(path).text)}
        grown = True
        while grown:
            more = {path for path, named in includes.items() if found & set(named)} - found
            found |= more
            grown = bool(more)
        return found


@dataclass(slots=True)
class _Joining:
    """Makes the one text."""

    tree: _Tree
    wanted: frozenset[Path]
    files: dict[str, str] = field(default_factory=dict[str, str])
    refusals: list[Refusal] = field(default_factory=list[Refusal])

    def part(self, path: Path, directive: str = "") -> str:
        """Return a file as a part, with those that it includes."""
        name, file = self.tree.name(path), self.tree.file(path)
        text = decode(file.text)
        self.files[name] = text
        if _MARK in text:
            self._refuse(f'the comment "{_MARK.strip()}" is taken by the program', path, 1)
        if path.suffix == ".c":
            self._refuse("communication in a C file: name it .cu or .cpp", path, 1)
        included = self.tree.included(path)
        lines = [
            self._line(path, number, line, included.get(number))
            for number, line in enumerate(split_lines(text), 1)
        ]
        body = "".join(lines)
        told = "" if text.endswith("\n") or not text else " without a newline"
        gap = "\n" if body and not body.endswith("\n") else ""
        begin = f"{_MARK}begin {name}{f': {directive}' if directive else ''}\n"
        return f"{begin}{body}{gap}{_MARK}end {name}{told}\n"

    def _line(self, path: Path, number: int, line: str, included: Path | None) -> str:
        instead = f"{_MARK}instead of: {line}"
        if _ONCE.match(line):
            return instead
        if included is None or included.resolve() not in self.wanted:
            return line
        if self.tree.name(included) in self.files:
            if not self._is_guarded(included):
                what = f"{included.name} is included twice and has no include guard"
                self._refuse(f"{what}: add #pragma once", path, number)
            return instead
        if self._is_conditional(path, number):
            what = f"{included.name}, which communicates, is included in an #if"
            self._refuse(f"{what}: include it always", path, number)
        return self.part(included, line.rstrip("\n"))

    def _is_conditional(self, path: Path, number: int) -> bool:
        """Whether a line is compiled under a condition other than its file's include guard."""
        file = self.tree.file(path)
        around = [c for c in file.conditionals if c.start < number - 1 < c.end]
        undecided = [
            c
            for c in around
            for b in c.branches
            if b.first <= number - 1 <= b.last and b.live is not True
        ]
        return len(undecided) > (1 if self._guard(path) else 0)

    def _is_guarded(self, path: Path) -> bool:
        text = decode(self.tree.file(path).text)
        return any(map(_ONCE.match, split_lines(text))) or self._guard(path)

    def _guard(self, path: Path) -> bool:
        """Whether the first thing in a file is an #ifndef of a macro that is defined next."""
        text = mask(self.tree.file(path).text)
        match = _GUARD.match(text)
        if match is None:
            return False
        name = re.escape(match[1] or match[2])
        return (
            re.match(rb"[^\n]*\n\s*#[ \t]*define[ \t]+" + name + rb"\b", text[match.end() :])
            is not None
        )

    def _refuse(self, reason: str, path: Path, line: int) -> None:
        self.refusals.append(Refusal(reason, str(path), line))
