"""All warnings about a program: what makes it hard or impossible to verify."""

from collections.abc import Iterator

from warploom.source.analysis import api
from warploom.source.analysis.check_inputs import InputChecks
from warploom.source.analysis.check_results import ResultChecks
from warploom.source.analysis.check_timers import TimerChecks
from warploom.source.analysis.effects import Effects
from warploom.source.analysis.program import Program
from warploom.source.analysis.sites import Call, site_of
from warploom.source.analysis.slices import API, Dependences
from warploom.source.analysis.trace import Trace
from warploom.source.edits import decode
from warploom.source.records import IgnoredStatus, Warn
from warploom.source.regions import marker_faults
from warploom.source.syntax import SourceFile

_HEADERS = frozenset({".h", ".hh", ".hpp", ".hxx", ".cuh", ".inl", ".inc", ".ipp", ".tpp", ""})
_SHOWN = 6  # places of a header that a message names
_GETTERS = frozenset({"cudaGetLastError", "cudaPeekAtLastError"})


def find_warnings(
    trace: Trace,
    effects: Effects,
    calls: list[Call],
    ignored: tuple[IgnoredStatus, ...],
    files: tuple[SourceFile, ...],
) -> tuple[Warn, ...]:
    """Return the warnings by file and line; `ignored` is what `ignored_statuses` found."""
    program = trace.program
    found: dict[Warn, None] = {}
    for file in files:
        found.update(dict.fromkeys(_skipped(file)))
        for line, message in marker_faults(decode(file.text)):
            found[Warn("evolve_markers", str(file.path), line, message)] = None
    found.update(dict.fromkeys(_unchecked(calls, ignored)))
    # Parts of a program, without its main, cannot tell what the rest makes of them.
    if any(f.name == "main" for f in program.functions):
        dependences = Dependences(program)
        results = ResultChecks(trace, effects, dependences)
        found.update(dict.fromkeys(results.unguarded()))
        found.update(dict.fromkeys(results.unread()))
        found.update(dict.fromkeys(InputChecks(trace, effects, dependences).constant()))
        found.update(dict.fromkeys(TimerChecks(trace, effects, dependences).outside()))
    order = {str(f.path): at for at, f in enumerate(files)}
    return tuple(sorted(found, key=lambda w: (order.get(w.file, 0), w.line, w.kind)))


def _skipped(file: SourceFile) -> Iterator[Warn]:
    """Yield a warning for each place of a source that was not read, and one for all of a header.

    Headers are often of others: there, which lines they are matters less than that it is so.
    """
    path = str(file.path)
    if len(file.skipped) > 1 and file.path.suffix in _HEADERS:
        shown = ", ".join(str(lines) for lines in file.skipped[:_SHOWN])
        rest = ", ..." if len(file.skipped) > _SHOWN else ""
        message = (
            f"{len(file.skipped)} places of this header could not be read and were skipped"
            f" (lines {shown}{rest})"
        )
        yield Warn("skipped_lines", path, file.skipped[0].first, message)
        return
    for lines in file.skipped:
        message = f"lines {lines} could not be read and were skipped"
        yield Warn("skipped_lines", path, lines.first, message)


def ignored_statuses(program: Program, calls: list[Call]) -> tuple[IgnoredStatus, ...]:
    """Return the host calls of CUDA and NCCL whose status is dropped, but for those at the end."""
    found: list[IgnoredStatus] = []
    for call in calls:
        if call.name in api.NO_STATUS or not API.match(call.name):
            continue
        if (
            call.name.startswith("MPI_")
            or api.TEARDOWN.fullmatch(call.name)
            or call.owner is not None
            or id(call.function) in program.macros
            or program.functions_named(call.name)  # the program's own, such as a macro cudaErrChk
        ):
            continue
        if call.function.kind == "host" and not site_of(program, call).checked:
            found.append(IgnoredStatus(call.name, call.path, call.line))
    return tuple(found)


def _unchecked(calls: list[Call], ignored: tuple[IgnoredStatus, ...]) -> Iterator[Warn]:
    """Yield one warning per file for ignored statuses, and one for launches never looked at."""
    lines: dict[str, list[int]] = {}
    # cudaLaunchKernel and its like return a status, which is looked at like any other.
    launches = [c for c in calls if c.launch is not None and not API.match(c.name)]
    for status in ignored:
        lines.setdefault(status.file, []).append(status.line)
    for path, at in lines.items():
        shown = ", ".join(str(n) for n in at[:12]) + (", ..." if len(at) > 12 else "")
        yield Warn(
            "unchecked_errors",
            path,
            at[0],
            f"{len(at)} CUDA or NCCL calls ignore their status (lines {shown})",
        )
    if launches and not any(c.name in _GETTERS for c in calls):
        call = launches[0]
        yield Warn(
            "unchecked_errors",
            call.path,
            call.line,
            "no launch is followed by cudaGetLastError: a launch that fails goes unseen",
        )
