"""Whether managed memory can become a window: only where the host never touches it.

A window is device memory. Moved there, a managed buffer keeps its meaning as long as the program
names it in calls of CUDA and NCCL, in launches, and in comparisons of the pointer itself. What else
the host does with the pointer may read or write the memory, so each such place is refused.
"""

import re
from collections.abc import Iterator

from tree_sitter import Node

from warploom.core.errors import Refusal
from warploom.source import AnalysisReport, SourceFile
from warploom.source.records import Allocation

_KEPT = re.compile(r"(?:::)?(?:cuda|nccl)[A-Z]\w*")
_HINTS = re.compile(r"cudaMem(?:Prefetch|Advise|RangeGet)\w*|cudaStreamAttachMemAsync")
_THROUGH = ("cast_expression", "binary_expression", "parenthesized_expression")
_CASTS = re.compile(r"(?:static|reinterpret|const)_cast\s*<")
_MACRO = re.compile(r"[A-Z][A-Z0-9_]*")


def managed_refusals(
    file: SourceFile, analysis: AnalysisReport, memory: Allocation
) -> Iterator[Refusal]:
    """Yield why an allocation of managed memory cannot be put into a window."""
    name = memory.name
    where = memory.file, memory.line
    if not re.fullmatch(r"[A-Za-z_]\w*", name) or memory.calls:
        reason = f"{name} is managed memory, and not of one plain name: use cudaMalloc"
        yield Refusal(reason, *where)
        return
    if analysis.setup.style not in ("mpi", "file") or analysis.setup.uses_threads:
        reason = f"{name} is managed memory in a process that may have several devices, each of "
        yield Refusal(reason + "which can reach it: use cudaMalloc", *where)
    for node in file.nodes("identifier", within=_scope(file, memory)):
        if file.node_text(node) == name and (why := _touch(file, node)):
            reason = f"{name} is managed memory that the host {why} here, which a window does not "
            yield Refusal(
                f"{reason}allow: use cudaMalloc and cudaMemcpy", memory.file,
                file.line_of(node.start_byte),
            )  # fmt: skip


def _scope(file: SourceFile, memory: Allocation) -> Node:
    """Return where the pointer's name is used: the function that declares it, or the whole file."""
    at, declared = memory.site.call.start, memory.declaration
    for node in file.nodes("function_definition"):
        inside = declared is not None and node.start_byte <= declared.span.start < node.end_byte
        if inside and node.start_byte <= at < node.end_byte:
            return node
    return file.root


def _touch(file: SourceFile, node: Node) -> str:
    """Return what a mention of the pointer does beyond passing it to CUDA or NCCL, or ""."""
    child, parent = _value(file, node)
    if parent is None or parent.type == "sizeof_expression":
        return ""
    if parent.type == "pointer_expression":
        taken = file.slice(parent.start_byte, parent.start_byte + 1) == "&"
        around = _value(file, parent)[1]
        if around is not None and around.type == "sizeof_expression":
            return ""
        if not taken or around is None or around.type != "argument_list":
            return "passes on" if taken else "reads or writes"
        parent = around
    if parent.type == "argument_list":
        return _passed(file, parent)
    value = parent.child_by_field_name("value") or parent.child_by_field_name("right")
    if parent.type in ("init_declarator", "assignment_expression") and child != value:
        null = value is not None and file.node_text(value) in ("nullptr", "NULL", "0", "{}")
        return "" if null or parent.type == "init_declarator" else "moves to other memory"
    if child == value:
        return "passes on"
    if parent.type.endswith("declarator") or parent.type in ("declaration", "condition_clause"):
        return ""
    return "reads or writes"


def _value(file: SourceFile, node: Node) -> tuple[Node, Node | None]:
    """Return the largest expression that is the pointer still, and what is around it."""
    child, parent = node, node.parent
    while parent is not None:
        cast = parent.type == "argument_list" and _CASTS.match(_called(file, parent))
        if not cast and parent.type not in _THROUGH:
            break
        child = parent.parent if cast and parent.parent is not None else parent
        parent = child.parent
    return child, parent


def _called(file: SourceFile, arguments: Node) -> str:
    """Return the name of the function that gets `arguments`, or ""."""
    call = arguments.parent
    function = call.child_by_field_name("function") if call is not None else None
    return file.node_text(function) if function is not None else ""


def _passed(file: SourceFile, arguments: Node) -> str:
    called, call = _called(file, arguments), arguments.parent
    if call is not None and any(child.type == "kernel_call_syntax" for child in call.children):
        return ""
    if _HINTS.fullmatch(called):
        return f"places by {called}"
    if _KEPT.fullmatch(called) or _MACRO.fullmatch(called):
        return ""  # of a check macro, the call in it is what counts
    return "passes on"
