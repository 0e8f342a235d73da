"""Adds a warm-up round to a program that times its work and has none."""

import itertools
import re
from dataclasses import dataclass

from tree_sitter import Node

from warploom.propose.rules.prelude import NAMESPACE
from warploom.source import AnalysisReport, SourceFile, TextEdit, apply_edits, parse_source
from warploom.source.masking import mask
from warploom.source.pipeline import pipeline_spans
from warploom.source.records import CallSite
from warploom.source.regions import without_marker_lines

_FRAME = re.compile(
    rb"\b(MPI_\w+|printf|fprintf|puts|exit|abort|return|goto|cudaMalloc\w*|cudaFree\w*|"
    rb"cudaEventRecord\w*|cudaEventElapsedTime|cudaMemcpyDeviceToHost|windowMalloc|windowFree|"
    rb"now|cout|cerr)\b"
)
_LOOPS = ("for_statement", "while_statement")
_HOST_CLOCK = re.compile(r"\b(\w+)\s*=\s*(?:MPI_Wtime|[\w:]*\bnow|omp_get_wtime)\s*\(\s*\)")
_WRAPPED = re.compile(r"\s*([A-Za-z_]\w*)\s*\(\s*\Z")


@dataclass(frozen=True, slots=True)
class WarmUp:
    """The program with a warm-up round, or (`text` None) the reason why there is none."""

    text: str | None
    reason: str
    line: int | None = None


def add_warmup(text: str, analysis: AnalysisReport, host: AnalysisReport) -> WarmUp:
    """Return `text` with one untimed round before the timed work.

    `analysis` is of this text, `host` of the host-driven program that it comes from (or the same).
    The round is a copy of what is timed. It is added only where a second run starts from the same
    data as far as can be seen; that it changes no result is for an evaluation to prove.
    """
    file = parse_source(text, analysis.file)
    masked = mask(file.text)
    if re.search(rb"(?i)warm_?up", masked):
        return WarmUp(None, "the program has a warm-up")
    timed = _timed(file, analysis)
    if timed is None:
        return WarmUp(None, "the program does not time its work, or not within one function")
    before, items = timed
    workers = _workers(file, analysis)
    work = [n for n in items if _works(file, analysis, workers, n)]
    if not work:
        return WarmUp(None, "nothing is launched between the timer's start and stop")
    if any(_works(file, analysis, workers, n) for n in before[:-1]):
        return WarmUp(None, "the program launches its work before the timer starts")
    repeated = _not_idempotent(host)
    if repeated:
        return WarmUp(None, repeated)
    chosen = items[items.index(work[0]) : items.index(work[-1]) + 1]
    bodies = [_once(file, node) for node in chosen]
    if any(_FRAME.search(mask(body.encode("utf-8", "surrogateescape"))) for body in bodies):
        return WarmUp(None, "what is timed does more than launch and communicate")
    edit = _insertion(file, analysis, before[-1], list(map(without_marker_lines, bodies)))
    return WarmUp(apply_edits(file.text, [edit]), "", file.line_of(edit.start))


def _timed(file: SourceFile, analysis: AnalysisReport) -> tuple[list[Node], list[Node]] | None:
    """Return the statements up to the timer's start, and those between its start and stop."""
    pairs = _event_pairs(analysis) + _clock_pairs(file)
    for start, stop in pairs:
        for body in file.nodes("compound_statement"):
            children = [n for n in body.named_children if n.type != "comment"]
            first = next((i for i, n in enumerate(children) if _holds(n, start)), None)
            last = next((i for i, n in enumerate(children) if _holds(n, stop)), None)
            if first is not None and last is not None and first < last:
                if children[first].type in (*_LOOPS, "if_statement", "do_statement"):
                    return None  # a timer that starts inside of a loop has its rounds before
                return children[: first + 1], children[first + 1 : last]
    return None


def _holds(node: Node, offset: int) -> bool:
    return node.start_byte <= offset < node.end_byte


def _event_pairs(analysis: AnalysisReport) -> list[tuple[int, int]]:
    pairs: list[tuple[int, int]] = []
    records = [e for e in analysis.events if e.action == "record" and e.file == analysis.file]
    for elapsed in analysis.events:
        arguments = elapsed.site.arguments
        if elapsed.action != "elapsed" or len(arguments) != 3:
            continue
        starts = [e for e in records if e.name == arguments[1].text]
        stops = [e for e in records if e.name == arguments[2].text]
        if starts and stops:
            pairs.append((starts[0].site.call.start, stops[-1].site.call.start))
    return pairs


def _clock_pairs(file: SourceFile) -> list[tuple[int, int]]:
    code = mask(file.text).decode("utf-8", "replace")
    if len(code) != len(file.text):
        return []
    pairs: list[tuple[int, int]] = []
    starts = list(_HOST_CLOCK.finditer(code))
    for start in starts:
        stop = re.compile(rf"\(\s*\)\s*-\s*{re.escape(start[1])}\b").search(code, start.end())
        if stop is not None:
            pairs.append((start.start(), stop.start()))
    pairs += [(a.start(), b.start()) for a, b in itertools.pairwise(starts)]
    return pairs


def _workers(file: SourceFile, analysis: AnalysisReport) -> frozenset[str]:
    """Return the names of the host functions that launch or communicate, directly or not."""
    spans = pipeline_spans(file, analysis).pipeline
    host = [f for f in analysis.functions if f.kind == "host" and f.file == analysis.file]
    names = {f.name for f in host if any(f.body.start <= s.start < f.body.end for s in spans)}
    grown = True
    while grown:
        more = {f.name for f in host if f.name not in names and names & set(f.calls)}
        names |= more
        grown = bool(more)
    return frozenset(names)


def _works(file: SourceFile, analysis: AnalysisReport, workers: frozenset[str], node: Node) -> bool:
    spans = [s.site.call for s in analysis.launches if s.file == analysis.file]
    spans += [c.site.call for c in analysis.collectives if c.file == analysis.file]
    if any(_holds(node, s.start) for s in spans):
        return True
    for call in file.nodes("call_expression", within=node):
        function = call.child_by_field_name("function")
        name = file.node_text(function) if function is not None else ""
        if name.split("<")[0].split("::")[-1] in workers or name.startswith(f"{NAMESPACE}::launch"):
            return True
    return False


def _not_idempotent(analysis: AnalysisReport) -> str:
    """Return why a second round would start from other data, "" where that is not seen."""
    for item in analysis.collectives:
        if item.in_place:
            return f"{item.name} at line {item.line} works in place: a second round changes results"
    launched = {launch.kernel for launch in analysis.launches}
    for kernel in analysis.kernels:
        both = [p.name for p in kernel.parameters if p.reads and p.writes]
        if kernel.name in launched and both and not kernel.device_api:
            return (
                f"kernel {kernel.name} at line {kernel.line} reads and writes {both[0]}: a second "
                "round may change results"
            )
    return ""


def _once(file: SourceFile, node: Node) -> str:
    """Return the text that does a statement's work once: a counting loop's body, if it repeats."""
    body = node.child_by_field_name("body")
    if node.type == "for_statement" and body is not None and body.type == "compound_statement":
        initial = node.child_by_field_name("initializer")
        names = {
            file.node_text(inner)
            for declared in (file.nodes("init_declarator", within=initial) if initial else ())
            if (inner := declared.child_by_field_name("declarator")) is not None
        }
        used = {file.node_text(n) for n in file.nodes("identifier", within=body)}
        if names and not names & used:
            return file.node_text(body)
    return file.node_text(node)


def _insertion(
    file: SourceFile, analysis: AnalysisReport, start: Node, bodies: list[str]
) -> TextEdit:
    """Return the edit that puts the round before the statement that starts the timer."""
    line = file.line_span(file.line_of(start.start_byte))
    head = re.match(r"[ \t]*", file.slice(*line))
    indent = head[0] if head else ""
    wait = _checked(file, analysis, "cudaDeviceSynchronize()")
    text = "".join(
        [
            f"{indent}{{  // warm-up: one round that is not timed\n",
            *(f"{indent}{body}\n" for body in bodies),
            f"{indent}{wait};\n{indent}}}\n",
        ]
    )
    own_line = not file.slice(line[0], start.start_byte).strip()
    at = line[0] if own_line else start.start_byte
    return TextEdit(at, at, text if own_line else f"\n{text}{indent}")


def _checked(file: SourceFile, analysis: AnalysisReport, call: str) -> str:
    """Return a CUDA call in the macro by which the program checks its CUDA calls."""
    sites: list[CallSite] = [a.site for a in analysis.allocations if a.call.startswith("cuda")]
    sites += [copy.site for copy in analysis.copies if copy.call.startswith("cuda")]
    for site in sites:
        if site.file == analysis.file:
            wrapped = _WRAPPED.fullmatch(file.slice(site.statement.start, site.call.start))
            if wrapped:
                return f"{wrapped[1]}({call})"
    return call
