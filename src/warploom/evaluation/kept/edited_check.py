"""What a rewritten program changed of the original's own check: listed for the user by line.

A transform changes communication, memory and the pipeline. The program's verdict (what `main`
returns, what is compared with a tolerance, what PASS is printed for), its sizes and its timers are
no part of that. Our own comparison does not rest on them, but whoever runs the program later does.
"""

import re
from collections import Counter
from collections.abc import Iterator

from tree_sitter import Node

from warploom.core.records import Finding, Severity
from warploom.source.regions import Program
from warploom.source.syntax import SourceFile, parse_source

_COMPARES = re.compile(
    r"\b(?:fabsf?|abs|isnan|isinf|isfinite|memcmp|equal|allclose|is_close)\s*\("
    r"|\d[eE]-\d|(?i:\btol(?:erance)?\b|\beps(?:ilon)?\b|\bgood\b|\berrors?\b|\bmismatch)"
)
_TIMERS = re.compile(
    r"(?:cudaEventRecord|cudaEventElapsedTime|cudaEventSynchronize|MPI_Wtime|\bnow|clock_gettime)\s*\("
)
_SAYS = re.compile(r"\"[^\"]*(?:PASS|FAIL|(?i:correct|verif|mismatch))[^\"]*\"")


def edited_check_findings(candidate: Program, original: Program, name: str) -> list[Finding]:
    """Return a warning for each part of the original's check that the candidate lacks."""
    left = Counter(text for _, text, _ in _parts(candidate))
    found: list[Finding] = []
    for line, text, what in _parts(original):
        if left[text]:
            left[text] -= 1
            continue
        shown = text if len(text) <= 80 else text[:77] + "..."
        found.append(
            Finding(
                kind="edited_check",
                severity=Severity.WARNING,
                message=f"{what} of the original is not there any more: line {line}: {shown}",
                hint="the program's own verdict, sizes and timers are no part of a transform",
                file=name,
                line=None,
            )
        )
    return found


def _parts(program: Program) -> Iterator[tuple[int, str, str]]:
    """Yield line, text without its spacing, and name of each part of a program's check."""
    tree = parse_source(program.text.encode("utf-8", "surrogateescape"), program.path, {})
    for node in tree.nodes(
        "preproc_def", "declaration", "return_statement", "condition_clause", "call_expression"
    ):
        what, part = _what(tree, node)
        if what:
            yield tree.line_of(node.start_byte), _plain(part), what


def _plain(text: str) -> str:
    return " ".join(text.replace("\\\n", " ").split())


def _what(tree: SourceFile, node: Node) -> tuple[str, str]:
    text = tree.node_text(node)
    match node.type:
        case "preproc_def":
            value = node.child_by_field_name("value")
            return ("a macro", text) if value is not None else ("", "")
        case "declaration":
            outer = node.parent is not None and node.parent.type == "translation_unit"
            constant = outer and re.match(r"(?:static |inline )*(?:constexpr|const)\b", text)
            return ("a constant", text) if constant else ("", "")
        case "return_statement":
            return ("what main returns", text) if _in_main(tree, node) else ("", "")
        case "condition_clause":
            return ("a comparison", text) if _COMPARES.search(text) else ("", "")
        case "call_expression":
            if _SAYS.search(text) and "CHECK" not in text:
                return "what is printed of the verdict", text
            return ("a timer's call", text) if _TIMERS.match(text) else ("", "")
        case _:
            return "", ""


def _in_main(tree: SourceFile, node: Node) -> bool:
    while node.parent is not None:
        node = node.parent
        if node.type == "function_definition":
            head = node.child_by_field_name("declarator")
            return head is not None and tree.node_text(head).startswith("main")
        if node.type == "lambda_expression":
            return False
    return False
