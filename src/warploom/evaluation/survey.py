"""What the evaluator must know of a program before it runs it, from the analyzer."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from warploom.core.errors import SourceError, WarploomError
from warploom.core.records import BuildSpec, Finding, Severity
from warploom.emulator import EmulatorBuild, build
from warploom.evaluation.element_types import element_types, resolved
from warploom.evaluation.sites import Site
from warploom.source import AnalysisReport, CUDAAnalyzer
from warploom.source.records import Readback
from warploom.workload.workload import Workload

# Warnings of the analyzer that tell of a verification which would prove nothing.
_NOT_FOR_CHECK = frozenset({"no_communication"})
_STARTS_MPI = frozenset({"MPI_Init", "MPI_Init_thread"})
_RANK_CALLS = frozenset({"ncclCommInitRank", "ncclCommInitRankConfig", "ncclCommInitRankScalable"})

# What the analyzer has no record of: properties of devices, versions, and what libraries do.
_DEVICE_WORDS = re.compile(
    rb"\b(?:cuda|nccl|cublas|curand)[A-Z]\w*[ \t]*\(|\bthrust\s*::|\bcub\s*::\s*Device"
)


@dataclass(frozen=True, slots=True)
class Survey:
    """A program's facts.

    `sites` are its device-to-host copies. `processes` is "per_rank" where each rank is a process
    (MPI), "single" where one process drives all devices; `uses_mpi` is whether it starts MPI. Both
    come from the text, of which nobody knows what the preprocessor leaves: see `as_built`.
    `findings` are warnings about the source.
    """

    reports: tuple[AnalysisReport, ...]
    sites: tuple[Site, ...]
    processes: str
    nccl: str
    findings: tuple[Finding, ...]
    uses_mpi: bool

    @property
    def communicates(self) -> bool:
        """Whether the program moves data between ranks with NCCL, from the host or a kernel."""
        return any(r.has_host_communication() or r.has_device_communication() for r in self.reports)


def survey(
    workload: Workload,
    *,
    nccl: str | None = None,
    program: Path | None = None,
    outputs: bool = True,
) -> Survey:
    """Analyze the workload's program (or `program` in its place) and its further sources.

    `nccl` overrides the workload's NCCL version. Without `outputs` there are no `sites`, for which
    a compiler preprocesses the program.

    Raises:
        SourceError: no CUDA in it, or no `main`.
    """
    spec, reports = analyzed(workload, nccl=nccl, program=program)
    return Survey(
        reports=reports,
        sites=readback_sites(reports, spec) if outputs else (),
        processes=_processes(reports),
        nccl=spec.nccl,
        findings=_warnings(spec.program, reports),
        uses_mpi=any(report.setup.uses_mpi for report in reports),
    )


def analyzed(
    workload: Workload, *, nccl: str | None = None, program: Path | None = None
) -> tuple[BuildSpec, tuple[AnalysisReport, ...]]:
    """Return the part of a survey that the text alone says, and what is to be built.

    Raises:
        SourceError: as `survey`.
    """
    spec = workload.build_spec(nccl or nccl_version(workload), program)
    reports = analyze_spec(spec)
    _require_program(spec, reports)
    return spec, reports


def as_built(facts: Survey, program: EmulatorBuild) -> Survey:
    """Return the facts with the launch form of what was compiled.

    A call in a branch that the preprocessor leaves out is no call, and one that a macro makes is.
    """
    uses_mpi = not _STARTS_MPI.isdisjoint(program.imports)
    through_file = any(report.setup.style == "file" for report in facts.reports)
    if through_file:  # what is left of it: ranks that are made one by one, and something written
        through_file = not _RANK_CALLS.isdisjoint(program.imports) and any(
            "write" in name and not name.startswith("__tsan") for name in program.imports
        )
    processes = "per_rank" if uses_mpi or through_file else "single"
    return replace(facts, processes=processes, uses_mpi=uses_mpi)


def survey_built(workload: Workload) -> Survey:
    """Analyze the workload's program, and build it for what the text alone does not say.

    Where the emulator does not build it, the text decides.

    Raises:
        SourceError: no CUDA in it, or no `main`.
    """
    facts = survey(workload)
    try:
        return as_built(facts, build(workload.build_spec(facts.nccl)))
    except WarploomError:
        return facts


def nccl_version(workload: Workload) -> str:
    """Return the version whose rules hold: the workload's, or the newest at hand."""
    if workload.shape.nccl is not None:
        return workload.shape.nccl
    from warploom.toolchain.nccl import newest_version

    return newest_version()


def analyze_spec(spec: BuildSpec) -> tuple[AnalysisReport, ...]:
    """Analyze all files of a build, the program first."""
    return tuple(
        CUDAAnalyzer(
            file, include_dirs=spec.include_dirs, defines=spec.defines, roots=spec.roots
        ).analyze()
        for file in (spec.program, *spec.sources)
    )


def readback_sites(reports: tuple[AnalysisReport, ...], spec: BuildSpec) -> tuple[Site, ...]:
    """Return the device-to-host copies of a program and its MPI receives, by file and lines."""
    shared = [*_shared_allocations(reports), *_managed_variables(spec)]
    written = {copy: _written_type(report, copy) for report in reports for copy in report.readbacks}
    arrivals = {call: call.dtype for report in reports for call in report.arrivals}
    written |= arrivals
    types = element_types([*written.values(), *(site.dtype for site in shared)], spec)
    sites = {
        Site(
            copy.file, copy.line, copy.end_line,
            "".join((copy.host if copy in arrivals else copy.device).split()),
            resolved(spelling, types), mpi=copy in arrivals,
        )
        for copy, spelling in written.items()
    }  # fmt: skip
    sites |= {replace(site, dtype=resolved(site.dtype, types)) for site in shared}
    return tuple(
        sorted(sites, key=lambda site: (site.file, site.first, site.last, site.buffer, site.dtype))
    )


_BOTH_SIDES = frozenset({"managed", "pinned"})
_MAIN = re.compile(r"\bmain\s*\(")
_MANAGED = re.compile(
    r"\b__managed__\s+(?:(?:__device__|static|volatile|alignas\([^)]*\))\s+)*"
    r"([A-Za-z_][\w:]*(?:\s*<[^<>;]*>)?(?:\s+(?!\w+\s*[;,=\[{])\w+)*)\s+([A-Za-z_]\w*)"
)


def _shared_allocations(reports: tuple[AnalysisReport, ...]) -> Iterator[Site]:
    """Yield where memory is allocated that the host reads in place, and calls of what does so."""
    for report in reports:
        for a in report.allocations:
            if a.kind in _BOTH_SIDES:
                last = max(a.line, a.site.end_line)
                yield Site(a.file, a.line, last, a.name, a.element, shared=True)
                for call in a.calls:
                    yield Site(call.file, call.line, call.line, call.name, a.element, shared=True)


def _managed_variables(spec: BuildSpec) -> Iterator[Site]:
    """Yield where managed variables are declared, with their types as written."""
    for file in (spec.program, *spec.sources):
        text = file.read_text(errors="replace")
        for found in _MANAGED.finditer(text):
            line = text.count("\n", 0, found.start()) + 1
            yield Site(str(file), line, line, found[2], found[1], shared=True)


def _written_type(report: AnalysisReport, copy: Readback) -> str:
    """Return the element type of a read-back: of its host side, or else of what it reads."""
    if copy.dtype:
        return copy.dtype
    found = {a.element for a in report.allocations if a.name in copy.device_roots and a.element}
    return found.pop() if len(found) == 1 else ""


def _require_program(spec: BuildSpec, reports: tuple[AnalysisReport, ...]) -> None:
    name = str(spec.program)
    files = (spec.program, *spec.sources)
    if not any(is_cuda(report) for report in reports) and not any(map(_asks_devices, files)):
        raise not_cuda(name)
    if all(report.main is None for report in reports):
        for report in reports:
            _require_read(report)
        raise SourceError(
            "a program must define main, but no source of this one does",
            file=name,
            hint="pass the file with main; further files of the program come after it",
        )


def _require_read(report: AnalysisReport) -> None:
    """Say where the parser gave up on a file whose text has a main that it did not find."""
    for part in report.skipped:
        if not part.lines or _MAIN.search(Path(part.file).read_text(errors="replace")) is None:
            continue
        first = part.lines[0]
        raise SourceError(
            f"main cannot be found: the parser gave up on {len(part.lines)} parts of the file, "
            f"lines {first} first",
            file=part.file,
            line=first.first,
            hint="write what stands there in a plainer way, or move it to a header of its own",
        )


def _asks_devices(file: Path) -> bool:
    """Whether a file uses the runtime or a library of the device where no record tells of it."""
    return _DEVICE_WORDS.search(file.read_bytes()) is not None


def analyze_program(
    file: Path, defines: Mapping[str, str], include_dirs: Sequence[Path]
) -> AnalysisReport:
    """Analyze one file.

    Raises:
        SourceError: the file is missing or unreadable, or has no CUDA in it.
    """
    report = CUDAAnalyzer(file, include_dirs=include_dirs, defines=defines).analyze()
    if not is_cuda(report):
        raise not_cuda(str(file))
    return report


def not_cuda(name: str) -> SourceError:
    """Return the error for a file that holds no CUDA."""
    return SourceError(
        "a CUDA program must call the CUDA runtime or have a kernel, but this file does neither",
        file=name,
        hint="pass the .cu file that has main, or a workload.toml or its folder",
    )


def is_cuda(report: AnalysisReport) -> bool:
    """Whether the program does anything with a device."""
    facts = (report.kernels, report.launches, report.allocations, report.copies)
    more = (report.collectives, report.communicators, report.streams, report.events, report.syncs)
    return any(facts) or any(more)


def _processes(reports: tuple[AnalysisReport, ...]) -> str:
    styles = {report.setup.style for report in reports}
    own_process = any(report.setup.uses_mpi for report in reports) or "file" in styles
    return "per_rank" if own_process else "single"


def _warnings(program: Path, reports: tuple[AnalysisReport, ...]) -> tuple[Finding, ...]:
    found = [
        Finding(
            kind=warning.kind,
            severity=Severity.WARNING,
            message=warning.message,
            file=warning.file,
            line=warning.line,
        )
        for report in reports
        for warning in report.warnings
        if warning.kind not in _NOT_FOR_CHECK
    ]
    if not any(r.has_host_communication() or r.has_device_communication() for r in reports):
        message = "the program calls no NCCL operation: only its kernels and copies are checked"
        found.append(Finding("no_communication", Severity.WARNING, message, file=str(program)))
    return tuple(found)
