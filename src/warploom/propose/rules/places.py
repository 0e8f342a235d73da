"""Where in a program the rules put what they add: the prelude, and the call that opens windows."""

import re
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass

from tree_sitter import Node

from warploom.propose.rules.lexing import find_mentions
from warploom.propose.rules.prelude import CAPTURES, NAMESPACE, SHARED_HEADER
from warploom.source import AnalysisReport, SourceFile, TextEdit, apply_edits, parse_source
from warploom.source.pipeline import pipeline_spans
from warploom.source.records import CallSite, Function, Span
from warploom.source.regions import START
from warploom.source.units import as_part, is_united

OPEN_CALL = f"{NAMESPACE}::openWindows()"
_WRAPPED = re.compile(r"\s*([A-Za-z_]\w*)\s*\(\s*\Z")
_ARMS = ("preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif", "preproc_elifdef")
_LOOPS = ("for_statement", "for_range_loop", "while_statement")
_LEAVING = ("continue_statement", "break_statement", "goto_statement", "return_statement")
_MAX_DEPTH = 20


def with_header(text: str, header: str) -> str:
    """Return a file that includes `header`, if it uses what is in there."""
    line = f'#include "{header}"\n'
    if f"{NAMESPACE}::" not in text or line in text.replace("\r\n", "\n"):
        return text
    file = parse_source(text)
    at = _place_of_includes(file)[0]
    return apply_edits(file.text, [TextEdit(at, at, native(file, line))])


def prelude_edit(file: SourceFile, prelude: str, *, shared: bool = False) -> TextEdit:
    """Return the edit that puts `prelude` after the file's leading includes.

    Includes that the file has already are left out of the prelude, unless it is a header that
    several files share.
    """
    at, leading = _place_of_includes(file)
    before = "\n" if leading else ""
    if shared:
        part = as_part(SHARED_HEADER, prelude.strip("\n") + "\n", f'#include "{SHARED_HEADER}"')
        return TextEdit(at, at, native(file, part))
    own = {" ".join(file.node_text(n).split()) for n in leading}
    lines = prelude.split("\n")
    text = "\n".join(line for line in lines if " ".join(line.split()) not in own)
    text = re.sub(r"\n{3,}", "\n\n", text).strip("\n")
    return TextEdit(at, at, native(file, f"{before}{text}\n"))


def _place_of_includes(file: SourceFile) -> tuple[int, list[Node]]:
    """Return where a file's leading includes end, and these."""
    includes = [n for n in file.root.named_children if n.type == "preproc_include"]
    first_code = next(
        (n.start_byte for n in file.root.named_children if not _is_leading(n)), len(file.text)
    )
    leading = [n for n in includes if n.start_byte < first_code]
    at = 0
    if leading:
        at = file.line_span(file.line_of(leading[-1].start_byte))[1]
    elif is_united(file.slice(0, len(file.text))):
        at = file.line_span(1)[1]
    return at, leading


def _is_leading(node: Node) -> bool:
    """Tell whether a top-level node may stand before the prelude: it defines nothing that runs."""
    if node.type in _ARMS:
        asked = (node.child_by_field_name("name"), node.child_by_field_name("condition"))
        return all(child in asked or _is_leading(child) for child in node.named_children)
    return node.type in ("comment", "using_declaration") or node.type.startswith("preproc_")


def native(file: SourceFile, text: str) -> str:
    """Return `text` with the file's own line ends."""
    return text.replace("\n", "\r\n") if b"\r\n" in file.text else text


@dataclass(frozen=True, slots=True)
class _Walk:
    """Which functions communicate, and which create the communicator, by name."""

    file: SourceFile
    bodies: dict[str, Function]
    talking: frozenset[str]
    creating: frozenset[str]
    talk_spans: tuple[Span, ...]
    create_spans: tuple[Span, ...]
    allocating: frozenset[str]
    allocation_spans: tuple[Span, ...]

    def talks(self, node: Node) -> bool:
        """Tell whether a statement communicates, itself or through a function of the program."""
        return self._does(node, self.talk_spans, self.talking)

    def creates(self, node: Node) -> bool:
        """Tell whether a statement creates the communicator."""
        return self._does(node, self.create_spans, self.creating)

    def allocates(self, node: Node) -> bool:
        """Tell whether a statement allocates memory of devices, or names a function that does."""
        if _holds(node, self.allocation_spans):
            return True
        return not self.allocating.isdisjoint(_words(self.file.node_text(node)))

    def _does(self, node: Node, spans: tuple[Span, ...], functions: frozenset[str]) -> bool:
        if _holds(node, spans):
            return True
        return any(name in functions for name in self.called(node))

    def called(self, node: Node) -> list[str]:
        """Return the names of the program's functions that a statement calls."""
        names: list[str] = []
        for call in self.file.nodes("call_expression", within=node):
            function = call.child_by_field_name("function")
            if function is not None:
                name = self.file.node_text(function).split("<")[0].split("::")[-1].split(".")[-1]
                names += [name] if name in self.bodies else []
        return names


def open_edit(file: SourceFile, analysis: AnalysisReport) -> TextEdit | None:
    """Return the edit that opens the windows before the first communication, on every rank.

    The place is in `main`, or in the function that does all of its work: a statement that every
    rank comes by. None where there is no such place: the windows are then opened by the first
    communication itself.
    """
    if analysis.main is None or analysis.main.file != analysis.file:
        return None
    walk = _walk(file, analysis)
    statement = _first_talk(walk, analysis.main, 0)
    if statement is None:
        return None
    at = statement.start_byte
    stages = pipeline_spans(file, analysis)
    inner = _behind_allocations(walk, statement)
    if inner is not None and not any(s.start < inner.start_byte < s.end for s in stages.pipeline):
        at = inner.start_byte
    at = next((s.start for s in stages.pipeline if s.start <= at < s.end), at)
    line = file.line_of(at)
    start, end = file.line_span(line)
    own_line = not file.slice(start, at).strip()
    indent = re.match(r"[ \t]*", file.slice(start, end))
    call = f"{checked(analysis, file, OPEN_CALL)};"
    if not own_line:
        return TextEdit(at, at, f"{call} ")
    while line > 1 and START in file.slice(*file.line_span(line - 1)):
        line -= 1  # what is opened here is no part of the region that begins
        start = file.line_span(line)[0]
    return TextEdit(start, start, native(file, f"{indent[0] if indent else ''}{call}\n"))


def _walk(file: SourceFile, analysis: AnalysisReport) -> _Walk:
    here = [f for f in analysis.functions if f.file == analysis.file and f.kind == "host"]
    talks = [c.site.call for c in analysis.collectives if c.file == analysis.file]
    moving = {c.group for c in analysis.collectives}  # other groups make communicators
    groups = [g for g in analysis.groups if g.id in moving]
    talks += [g.start.call for g in groups if g.file == analysis.file]
    captured = (m for m in find_mentions(file.text, CAPTURES) if m.called)
    talks += [Span(m.start, m.end) for m in captured]
    creates = [c.site.call for c in analysis.communicators if c.file == analysis.file]
    allocations = tuple(a.site.call for a in analysis.allocations if a.file == analysis.file)
    calls = {f: frozenset(f.calls) for f in here}
    words = {f: _words(file.slice(f.body.start, f.body.end)) for f in here}  # constructors too
    return _Walk(
        file=file,
        bodies={f.name: f for f in here},
        talking=_closure(calls, talks),
        creating=_closure(calls, creates),
        talk_spans=tuple(talks),
        create_spans=tuple(creates),
        allocating=_closure(words, allocations) - {"main"},
        allocation_spans=allocations,
    )


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


def _holds(node: Node, spans: Iterable[Span]) -> bool:
    return any(node.start_byte <= s.start and s.end <= node.end_byte for s in spans)


def _closure(named: Mapping[Function, Set[str]], spans: Iterable[Span]) -> frozenset[str]:
    """Return the functions that hold one of the spans, or name one that does.

    `named`: what each function names, such as the functions that it calls.
    """
    names = {
        f.name for f in named if any(f.body.start <= s.start and s.end <= f.body.end for s in spans)
    }
    grown = True
    while grown:
        more = {f.name for f, words in named.items() if f.name not in names and names & words}
        names |= more
        grown = bool(more)
    return frozenset(names)


def _first_talk(walk: _Walk, function: Function, depth: int) -> Node | None:
    body = walk.file.root.descendant_for_byte_range(function.body.start, function.body.end)
    if body is None or body.type != "compound_statement" or depth > _MAX_DEPTH:
        return None
    return _first_in(walk, body, depth)


def _first_in(walk: _Walk, body: Node, depth: int) -> Node | None:
    created = False
    for statement in body.named_children:
        if walk.talks(statement):
            if created:
                return statement
            return _descend(walk, statement, depth)
        created = created or walk.creates(statement)
    return None


def _descend(walk: _Walk, statement: Node, depth: int) -> Node | None:
    """Look inside of a statement that both creates the communicator and communicates."""
    if not walk.creates(statement):
        return None
    if statement.type == "compound_statement":
        return _first_in(walk, statement, depth)
    if statement.type in ("expression_statement", "declaration", "return_statement"):
        inner = [n for n in walk.called(statement) if n in walk.talking and n in walk.creating]
        if len(inner) == 1:
            return _first_talk(walk, walk.bodies[inner[0]], depth + 1)
    return None


def _behind_allocations(walk: _Walk, statement: Node) -> Node | None:
    """Return what follows the allocations that a loop makes anew before it communicates.

    Windows that are opened there are open before the program takes a time. None where the first
    statement that communicates is no such loop, or something may leave it before. The loop may
    leave all of that to a function.
    """
    body = statement.child_by_field_name("body") if statement.type in _LOOPS else None
    return _behind_those_of(walk, body, 0)


def _behind_those_of(walk: _Walk, body: Node | None, depth: int) -> Node | None:
    if body is None or body.type != "compound_statement" or depth > _MAX_DEPTH:
        return None
    found: Node | None = None
    behind = False
    for one in body.named_children:
        if one.type == "comment":
            continue
        if behind and found is None:
            found = one
        if walk.talks(one):
            inner = one.child_by_field_name("body") if one.type in _LOOPS else _called(walk, one)
            return _behind_those_of(walk, inner, depth + 1) or found
        if next(walk.file.nodes(*_LEAVING, within=one), None) is not None:
            return None
        if walk.allocates(one):
            found, behind = None, True
    return None


def _called(walk: _Walk, statement: Node) -> Node | None:
    """Return the body of the one function that a statement calls, where that communicates."""
    if statement.type not in ("expression_statement", "declaration"):
        return None
    names = {name for name in walk.called(statement) if name in walk.talking}
    if len(names) != 1:
        return None
    body = walk.bodies[names.pop()].body
    return walk.file.root.descendant_for_byte_range(body.start, body.end)


def checked(analysis: AnalysisReport, file: SourceFile, call: str) -> str:
    """Return `call` in the macro or function by which the program checks its NCCL calls."""
    sites = [*(c.site for c in analysis.communicators), *(c.site for c in analysis.collectives)]
    for site in sites:
        if site.file != analysis.file:
            continue
        wrapper = _wrapper(file, site)
        if wrapper:
            return f"{wrapper}({call})"
    return call


def _wrapper(file: SourceFile, site: CallSite) -> str:
    before = file.slice(site.statement.start, site.call.start)
    after = file.slice(site.call.end, site.statement.end)
    match = _WRAPPED.fullmatch(before)
    return match[1] if match and re.fullmatch(r"\s*\)\s*;?\s*", after) else ""
