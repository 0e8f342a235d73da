"""Puts evolve markers into a program: around its kernels and around its pipeline."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tree_sitter import Node

from warploom.core.errors import BadInputError
from warploom.source.edits import TextEdit, apply_edits
from warploom.source.pipeline import pipeline_spans
from warploom.source.records import ReportData, Span
from warploom.source.regions import END, START, Program, validate_regions
from warploom.source.syntax import SourceFile, parse_source

_LISTS = frozenset({"compound_statement", "translation_unit", "declaration_list"})


@dataclass(frozen=True, slots=True)
class Mark:
    """A byte range that shall become a region of this name."""

    name: str
    span: Span


def insert_markers(text: str, marks: Sequence[Mark], path: Path | str = "program.cu") -> str:
    """Return `text` with a region around each range.

    Each range is widened to whole statements (or top-level definitions) and whole lines; markers
    take the indentation of the first line.

    Raises:
        BadInputError: a range holds no statement, two ranges overlap once widened, or a region
            would not stand alone.
    """
    file = parse_source(text, path)
    widened = sorted((_widen(file, mark.span), mark.name) for mark in marks)
    edits: list[TextEdit] = []
    at = -1
    for span, name in widened:
        line = file.line_of(span.start)
        if span.start < at:
            raise BadInputError(
                f"regions must not overlap, got '{name}' inside of another",
                file=str(path),
                line=line,
            )
        at = span.end
        first = file.slice(*file.line_span(line))
        indent = first[: len(first) - len(first.lstrip())].strip("\r\n")
        newline = "\r\n" if first.endswith("\r\n") else "\n"
        edits.append(TextEdit(span.start, span.start, f"{indent}// {START} {name}{newline}"))
        closing = f"{indent}// {END}{newline}"
        ends_line = span.end == 0 or file.text[span.end - 1 : span.end] == b"\n"
        edits.append(TextEdit(span.end, span.end, closing if ends_line else newline + closing))
    # At a place where one region ends and the next begins, the end marker comes first.
    edits.sort(key=lambda e: (e.start, START in e.text))
    result = apply_edits(file.text, edits)
    validate_regions(Program(result, Path(path)))
    return result


def _widen(file: SourceFile, span: Span) -> Span:
    """Return whole lines of whole statements around a byte range."""
    items = _statements(file, span)
    if not items:
        raise BadInputError(
            "a region must hold at least one statement, got a range without",
            file=str(file.path),
            line=file.line_of(span.start),
        )
    while True:
        first = file.line_span(file.line_of(items[0].start_byte))[0]
        last = file.line_span(file.line_of(items[-1].end_byte - 1))[1]
        wider = _statements(file, Span(first, last))
        if len(wider) <= len(items):
            return Span(first, last)
        items = wider


def _statements(file: SourceFile, span: Span) -> list[Node]:
    """Return the statements that a range touches, in the innermost list that holds them all."""
    node = file.root
    while True:
        touched = [
            n
            for n in node.named_children
            if n.start_byte < span.end and n.end_byte > span.start and n.type != "comment"
        ]
        if len(touched) != 1:
            break
        inner = _inner_list(touched[0], span)
        if inner is None:
            break
        node = inner
    return touched if node.type in _LISTS else []


def _inner_list(node: Node, span: Span) -> Node | None:
    """Return the innermost statement list below `node` that holds the whole range inside."""
    stack = [node]
    while stack:
        inner = stack.pop()
        holds = inner.start_byte < span.start and span.end < inner.end_byte
        if inner.type in _LISTS and holds and inner.id != node.id:
            return inner
        stack.extend(n for n in inner.children if n.start_byte <= span.start < n.end_byte)
    return None


def insert_evolve_markers(text: str, analysis: ReportData) -> str:
    """Return `text` with markers around its kernels and its pipeline.

    Regions hold the kernels and device functions that the pipeline runs, and the statements that
    launch and communicate. Set-up, input generation, timers, verification, output and the rest of
    `main` stay in the frame. `analysis` must be the analysis of this very text.

    Raises:
        BadInputError: the program has markers already, or launches and communicates nowhere.
    """
    if re.search(rf"{START}|{END}", text):
        raise BadInputError("the program must have no markers yet", file=analysis.file)
    file = parse_source(text, analysis.file)
    stages = pipeline_spans(file, analysis)
    if not stages.pipeline:
        raise BadInputError(
            "a program must launch or communicate in its own file, but no such statement was found",
            file=analysis.file,
        )
    marks = [Mark(_numbered("kernels", at), s) for at, s in enumerate(stages.kernels)]
    marks += [Mark(_numbered("pipeline", at), s) for at, s in enumerate(stages.pipeline)]
    return insert_markers(text, marks, analysis.file)


def _numbered(name: str, at: int) -> str:
    return name if at == 0 else f"{name}_{at + 1}"
