"""Builds a candidate: level 0, the emulator's build, and nvcc for each architecture."""

import dataclasses
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from warploom.core.errors import MissingToolError, SourceError, ToolFailedError
from warploom.core.process import default_environment
from warploom.core.records import BuildSpec, Finding, Limits, Severity
from warploom.emulator import EmulatorBuild, build
from warploom.evaluation.levels import prepare
from warploom.evaluation.nvcc_findings import nvcc_findings
from warploom.evaluation.runs.plan import ignore_progress
from warploom.synthesis.correctness.frame import (
    EMPTY_BODY,
    HEADERS,
    first_line_of_body,
    includes_of,
    program_text,
)
from warploom.synthesis.correctness.frame_ranks import EMPTY_BODY as EMPTY_BODY_OF_RANKS
from warploom.synthesis.correctness.legality import candidate_findings
from warploom.synthesis.correctness.registers import launches_beyond_registers
from warploom.synthesis.correctness.way_text import watch
from warploom.synthesis.correctness.ways import Condition, UnwatchedError
from warploom.synthesis.nvcc_flags import NVCC_FLAGS
from warploom.synthesis.records import BuildOutcome
from warploom.toolchain.nccl import get_nccl
from warploom.toolchain.nvcc import NvccResult, find_nvcc, parse_nvcc_errors, run_nvcc
from warploom.workload.workload import Workload

PROGRAM = "kernel.cu"
_ENTRY = {"warploom_forward": "entry_forward"}
"""Names that begin with ours are the emulator's alone: it builds the entry point by another."""
_DECLARED = (
    'the entry point must be extern "C" int warploom_forward(void* const* inputs, '
    "void* const* outputs, const long long* sizes, void* stream_handle)"
)
_NCCL = "2.32.3"  # no kernel of this agent calls it; the emulator's rules need a version
_LEVEL = 1
_PTXAS = re.compile(r"Used (\d+) registers")
_SPILLS = re.compile(r"(\d+) bytes spill stores")
_NVCC_LIMITS = Limits(seconds=300.0, memory_mb=8192, output_mb=16)


_USES = {
    "cuda_fp16.h": re.compile("half|fp16", re.IGNORECASE),
    "cuda_bf16.h": re.compile("bfloat|bf16", re.IGNORECASE),
    "cuda_fp8.h": re.compile("fp8|e4m3|e5m2", re.IGNORECASE),
}
"""What names the types of a header: nvcc reads each of them for a second, needed or not."""


@dataclass(frozen=True)
class BuiltCandidate:
    """A candidate after levels 0 and 1; `program` is None where something was refused."""

    program: EmulatorBuild | None
    findings: tuple[Finding, ...]
    outcome: BuildOutcome


@dataclass(frozen=True)
class WatchedCandidate:
    """A candidate whose conditions tell which way they go; `refused` says why there is none."""

    conditions: tuple[Condition, ...]
    program: EmulatorBuild | None
    refused: Finding | None = None


class Builds:
    """Builds of candidates, each made once; a context manager, after which they are gone."""

    def __init__(self, jobs: int | None, ranks: int = 1) -> None:
        self._jobs = jobs
        self._ranks = ranks
        self._known: dict[str, BuiltCandidate] = {}
        self._watched: dict[str, WatchedCandidate] = {}
        self._folder = tempfile.TemporaryDirectory(prefix="warploom-")

    def __enter__(self) -> "Builds":
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def of(self, body: str) -> BuiltCandidate:
        """Return the build of a candidate.

        Raises:
            MissingToolError: there is no C++ compiler.
        """
        if body not in self._known:
            folder = Path(self._folder.name) / str(len(self._known))
            folder.mkdir()
            self._known[body] = build_candidate(body, folder, self._jobs, self._ranks)
        return self._known[body]

    def watched(self, body: str) -> WatchedCandidate:
        """Return the build of a candidate that was built, with its conditions watched."""
        if body not in self._watched:
            folder = Path(self._folder.name) / f"watched{len(self._watched)}"
            folder.mkdir()
            self._watched[body] = build_watched(body, folder, self._ranks)
        return self._watched[body]


def build_watched(body: str, folder: Path, ranks: int = 1) -> WatchedCandidate:
    """Build a candidate that is known to build, with its conditions watched, in `folder`."""

    def refused(what: str, line: int, hint: str) -> WatchedCandidate:
        at = line + first_line_of_body() - 1
        message = f"{what} cannot be watched: that each way of it is right is not shown"
        finding = Finding("unwatched", Severity.ERROR, message, hint, PROGRAM, at)
        return WatchedCandidate((), None, finding)

    try:
        watched = watch(body)
    except UnwatchedError as error:
        return refused(error.what, error.line, "write it with if, ?:, loops and plain calls")
    path = folder / PROGRAM
    text = program_text(watched.text, watched=True, ranks=ranks)
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    task = Workload.from_program(path, ranks=ranks, defines=_ENTRY, nccl=_NCCL)
    try:
        return WatchedCandidate(watched.conditions, build(task.build_spec(_NCCL, path)))
    except SourceError as error:
        line = (error.line or first_line_of_body()) - first_line_of_body() + 1
        return refused("a condition", line, error.message)


def build_candidate(body: str, folder: Path, jobs: int | None, ranks: int = 1) -> BuiltCandidate:
    """Judge a candidate's text and build it for the emulator, in `folder`.

    Raises:
        MissingToolError: there is no C++ compiler.
    """
    found = candidate_findings(body, PROGRAM, ranks)
    if found:
        return BuiltCandidate(None, tuple(found), BuildOutcome("emulator", None, note="refused"))
    trusted, work, given = folder / "trusted", folder / "work", folder / "given"
    for place in (trusted, work, given):
        place.mkdir(exist_ok=True)
    empty = EMPTY_BODY if ranks == 1 else EMPTY_BODY_OF_RANKS
    (trusted / PROGRAM).write_text(program_text(empty, ranks=ranks))
    path = given / PROGRAM
    path.write_text(program_text(body, ranks=ranks), encoding="utf-8", errors="surrogateescape")
    task = Workload.from_program(trusted / PROGRAM, ranks=ranks, defines=_ENTRY, nccl=_NCCL)
    ready = prepare(path, task, work, level=_LEVEL, jobs=jobs, on_progress=ignore_progress)
    told = tuple(_renamed(f, given) for group in ready.findings for f in group)
    if not ready.passed:
        return BuiltCandidate(None, told, BuildOutcome("emulator", ok=False))
    spec = dataclasses.replace(task.build_spec(_NCCL, ready.path), timed=True)
    program = build(spec)
    return BuiltCandidate(program, told, BuildOutcome("emulator", ok=True, seconds=program.seconds))


def _renamed(finding: Finding, folder: Path) -> Finding:
    if _ENTRY["warploom_forward"] in finding.message:  # a conflict with our declaration of it
        return dataclasses.replace(finding, file=PROGRAM, line=None, message=_DECLARED, hint="")
    file = None if finding.file is None else Path(finding.file).name
    message = finding.message.replace(f"{folder}/", "").replace("region 'kernel'", "a kernel file")
    return dataclasses.replace(finding, file=file, message=message)


def nvcc_outcomes(
    body: str, architectures: Sequence[str], folder: Path, ranks: int = 1
) -> tuple[list[BuildOutcome], list[Finding]]:
    """Compile a kernel file with nvcc for each architecture, where nvcc is at hand."""
    if not architectures:
        return [], []
    try:
        nvcc = find_nvcc()
        headers = [] if ranks == 1 else [f"-I{get_nccl().include}"]
    except MissingToolError as error:
        return [BuildOutcome("nvcc", None, note=error.message)], []
    source = folder / "nvcc" / PROGRAM
    source.parent.mkdir(exist_ok=True)
    source.write_text(kernel_file(body, ranks), encoding="utf-8", errors="surrogateescape")
    outcomes: list[BuildOutcome] = []
    findings: list[Finding] = []
    for arch in architectures:
        with tempfile.TemporaryDirectory(prefix="warploom-nvcc-") as work:
            command = [
                str(nvcc.path), *NVCC_FLAGS, f"-arch={arch}", "-O2", "-w", "-Xptxas", "-v",
                *headers, "-x", "cu", "-c", PROGRAM, "-o", f"{work}/unit.o",
            ]  # fmt: skip
            result = run_nvcc(command, BuildSpec(source), _NVCC_LIMITS, default_environment())
        name = f"nvcc {arch}"
        if result.stopped or result.signal:
            raise ToolFailedError(f"nvcc must end within its limits, but was stopped: {arch}")
        registers = max((int(n) for n in _PTXAS.findall(result.log)), default=None)
        spills = sum(int(n) for n in _SPILLS.findall(result.log)) if result.ok else None
        outcomes.append(
            BuildOutcome(name, result.ok, result.seconds, registers=registers, spills=spills)
        )
        if not result.ok:
            errors = parse_nvcc_errors(result.log, source.parent)
            said = NvccResult(False, result.log, result.seconds, False, errors, "")
            findings += [_renamed(f, source.parent) for f in nvcc_findings(said, source)]
            break
        findings = findings or launches_beyond_registers(
            body, result.log, PROGRAM, first_line_of_body()
        )
    return outcomes, findings


def kernel_file(body: str, ranks: int = 1) -> str:
    """Return a kernel as a file of its own, with those of the includes that it uses.

    Its text begins on the line on which it does in the program that is judged: findings name it.
    """
    lines = includes_of(ranks)
    for at, name in enumerate(HEADERS):
        if name in _USES and not _USES[name].search(body):
            lines[at] = f"// not used: {name}"
    lines += [""] * (first_line_of_body() - 1 - len(lines))
    return "".join(f"{line}\n" for line in lines) + body
