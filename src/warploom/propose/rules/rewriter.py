"""Rewrites a host-driven program into a device-initiated one: renames, one prelude, one call.

Only tokens that must change are touched; the program's own formatting stays. What the buffers of
a call are is found at run time by the prelude's registry, so expressions are left as they are:
the rewriter needs to know only which allocations can become a collective's buffer.
"""

from dataclasses import dataclass

from warploom.core.errors import Refusal, RefusedError
from warploom.core.records import Api
from warploom.propose.protocol import Stage
from warploom.propose.rules.captures import refuse_unopened_capture
from warploom.propose.rules.lexing import Mention, find_mentions
from warploom.propose.rules.places import open_edit, prelude_edit
from warploom.propose.rules.plain import plain_spec, render_plain
from warploom.propose.rules.prelude import (
    CAPTURES,
    CREATIONS,
    GROUPS,
    LAUNCHERS,
    MEMORY,
    NAMESPACE,
    REDUCTIONS,
    PreludeSpec,
    reducible_type,
    render,
)
from warploom.propose.rules.premul_scales import SCALING
from warploom.source import AnalysisReport, SourceFile, TextEdit, apply_edits, parse_source
from warploom.source.edits import decode
from warploom.source.units import is_united

_COMMUNICATOR = {
    **CREATIONS,
    "ncclCommFinalize": "commFinalize",
    "ncclCommDestroy": "commDestroy",
}
_OPERATORS = dict(zip(SCALING, ("redOpCreatePreMulSum", "redOpDestroy"), strict=True))

_ONE_DEVICE = frozenset({"mpi", "file"})
"""Set-up styles in which each process has one device."""

_THREADS = ("thread", "jthread", "async", "pthread_create", "omp_get_thread_num")

_ALLOCATIONS = {
    "cudaMalloc": "windowMalloc",
    "cudaMallocAsync": "windowMallocAsync",
    "cudaMallocFromPoolAsync": "windowMallocAsync",
    "cudaMallocManaged": "windowMallocManaged",
    "ncclMemAlloc": "windowMemAlloc",
}
_FREES = {
    "cudaFree": "windowFree",
    "cudaFreeAsync": "windowFreeAsync",
    "ncclMemFree": "windowMemFree",
}

TALKING = (*LAUNCHERS, *_COMMUNICATOR, *_OPERATORS, "ncclMemAlloc", "ncclMemFree")
"""Calls that a file has where it communicates, or makes or ends communicators."""

REWRITTEN = (*LAUNCHERS, *_COMMUNICATOR, *_OPERATORS, *_ALLOCATIONS, *_FREES)
"""Calls that may have to be rewritten."""


@dataclass(frozen=True, slots=True)
class RewritePlan:
    """What to rewrite.

    `every_allocation` puts all device memory of the program into windows, not only what the
    analysis found to be communicated. `plain` takes the plain form where the program allows it.
    """

    api: Api
    stage: Stage
    every_allocation: bool = False
    markers: bool = False
    plain: bool = False


@dataclass(frozen=True, slots=True)
class Rewrite:
    """The program as rewritten; `windows` are the lines of the allocations that become windows.

    `opened` says that a statement opens the windows; otherwise the first communication does.
    `plain` says that the prelude has the plain form. `moved` are the kinds of memory other than
    cudaMalloc's that become windows, as `Allocation.kind` names them.
    """

    text: str
    windows: tuple[int, ...]
    opened: bool
    every_allocation: bool
    plain: bool
    moved: frozenset[str] = frozenset()


def rewrite(text: str, analysis: AnalysisReport, plan: RewritePlan) -> Rewrite:
    """Return the program with what `plan` asks for.

    Args:
        text: the host-driven program, with or without evolve markers.
        analysis: of this very text.
        plan: what to rewrite.

    Raises:
        RefusedError: no allocation of the program can be the collectives' memory.
    """
    file = parse_source(text, analysis.file)
    lines, every = _window_lines(analysis, plan)
    own = [a for a in analysis.allocations if a.file == analysis.file and a.line in lines]
    moved = frozenset(a.kind for a in own)
    spec = prelude_spec(file, analysis, plan, moved)
    opening = open_edit(file, analysis)
    if opening is None and spec.captures:
        refuse_unopened_capture(file, analysis)
    general = spec.shared or spec.many_devices or spec.threads or opening is None
    plain = None
    if plan.plain and not general:
        plain = plain_spec(file, analysis, plan.api, plan.stage, markers=plan.markers)
    prelude = render_plain(plain) if plain else render(spec)
    renames = _renames(file, plan, lines, groups=plain is None)
    edits = [TextEdit(mention.start, mention.end, new) for mention, new in renames]
    edits.append(prelude_edit(file, prelude, shared=spec.shared))
    if opening is not None:
        edits.append(opening)
    return Rewrite(
        text=apply_edits(file.text, edits),
        windows=tuple(sorted(lines)),
        opened=opening is not None,
        every_allocation=every,
        plain=plain is not None,
        moved=moved - {"device"},
    )


def prelude_spec(
    file: SourceFile, analysis: AnalysisReport, plan: RewritePlan, moved: frozenset[str]
) -> PreludeSpec:
    """Return what the prelude must hold for this program and stage; `moved` become windows."""
    device = plan.stage is Stage.DEVICE
    calls = {m.name for m in find_mentions(file.text, LAUNCHERS)} if device else set[str]()
    types = [c.dtype or "" for c in analysis.collectives if c.name in REDUCTIONS]
    known = [reducible_type(t) for t in types]
    named = frozenset(name for name in known if name is not None)
    memory = {kind for kind in ("nccl", "async") if find_mentions(file.text, MEMORY[kind])}
    return PreludeSpec(
        api=plan.api,
        calls=frozenset(calls),
        types=named if len(known) == len([k for k in known if k is not None]) else frozenset(),
        memory=frozenset(memory) | (moved & {"managed"}),
        markers=plan.markers,
        one_stream=len({call.stream for call in analysis.collectives}) == 1,
        creations=frozenset(m.name for m in find_mentions(file.text, CREATIONS) if m.called),
        many_devices=_has_many_devices(file, analysis),
        threads=analysis.setup.uses_threads or bool(find_mentions(file.text, _THREADS)),
        shared=is_united(decode(file.text)),
        captures=bool(find_mentions(file.text, CAPTURES)),
        scales=bool(types) and device and bool(find_mentions(file.text, SCALING)),
    )


def _has_many_devices(file: SourceFile, analysis: AnalysisReport) -> bool:
    """Tell whether a process may have several devices."""
    setup = analysis.setup
    chosen = find_mentions(file.text, ("cudaSetDevice",))
    return setup.style not in _ONE_DEVICE or setup.uses_threads or len(chosen) > 1


def _window_lines(analysis: AnalysisReport, plan: RewritePlan) -> tuple[frozenset[int], bool]:
    """Return the lines of the allocations to put into windows, and whether these are all."""
    own = [a for a in analysis.allocations if a.file == analysis.file and a.call in _ALLOCATIONS]
    if not own:
        line = analysis.collectives[0].line if analysis.collectives else 1
        reason = "the program's own file allocates no device memory with cudaMalloc or ncclMemAlloc"
        raise RefusedError(f"beyond the rules: {reason}", (Refusal(reason, analysis.file, line),))
    buffers = [b for c in analysis.collectives for b in (*c.send_buffers, *c.recv_buffers)]
    proven = frozenset(line for b in buffers for line in b.allocations)
    # Managed memory is a window only where the refusals have looked at it.
    everything = frozenset(a.line for a in own if a.kind != "managed" or a.line in proven)
    unknown = not buffers or any(not b.allocations for b in buffers)
    if plan.every_allocation or unknown or not proven <= everything:
        return everything, True
    return proven, proven == everything


def _renames(
    file: SourceFile, plan: RewritePlan, lines: frozenset[int], *, groups: bool
) -> list[tuple[Mention, str]]:
    found: list[tuple[Mention, str]] = []
    table = {**_COMMUNICATOR, **_ALLOCATIONS, **_FREES}
    if plan.stage is Stage.DEVICE:
        table |= LAUNCHERS | _OPERATORS
    for mention in find_mentions(file.text, table):
        if mention.name in GROUPS and not groups:
            continue  # NCCL's own, with nothing in it
        if not mention.called:
            continue  # a name in a message or a type; collectives without a call are refused
        if mention.name in _ALLOCATIONS and not _is_window(file, mention, lines):
            continue
        found.append((mention, f"{NAMESPACE}::{table[mention.name]}"))
    return found


def _is_window(file: SourceFile, mention: Mention, lines: frozenset[int]) -> bool:
    """Tell whether an allocation is one of `lines`, or is in a macro, whose uses are not known."""
    if mention.line in lines or mention.name == "cudaMallocManaged":
        return mention.line in lines
    start = file.line_span(mention.line)[0]
    line = mention.line
    while line > 1 and file.slice(*file.line_span(line - 1)).rstrip("\r\n").endswith("\\"):
        line -= 1
        start = file.line_span(line)[0]
    return file.slice(start, mention.start).lstrip().startswith("#")
