"""The levels of the cascade: legality, build, verification and modelled time of one candidate."""

import contextlib
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from warploom.core.errors import (
    BadInputError,
    MissingToolError,
    SourceError,
    ToolFailedError,
    UnsupportedError,
    WarploomError,
)
from warploom.core.records import BuildSpec, Finding, RunSpec, Severity
from warploom.emulator import EmulatorBuild, Topology, build
from warploom.emulator.building.elf import dynamic_symbols
from warploom.evaluation.compare.readers import Frames, frames_of
from warploom.evaluation.compare.reference import Reference, reference_for
from warploom.evaluation.depends.dependence import judge_dependence
from warploom.evaluation.depends.input_origin import origin_findings
from warploom.evaluation.depends.iterations import kept_findings, work_findings
from warploom.evaluation.depends.spoiler import Pair, Spoiler
from warploom.evaluation.free_text import given_by, host_call_findings, no_frame
from warploom.evaluation.kept.check import kept_check_findings
from warploom.evaluation.kept.edited_check import edited_check_findings
from warploom.evaluation.legality.check import ENDINGS, check_legality
from warploom.evaluation.legality.imports import import_findings
from warploom.evaluation.legality.object_rules import (
    init_findings,
    replaced_findings,
    runs_by_itself,
)
from warploom.evaluation.legality.unread_text import UNREAD
from warploom.evaluation.merged_findings import merge, renamed
from warploom.evaluation.nvcc_findings import launch_findings, nvcc_findings
from warploom.evaluation.parts import Parts, add, serious, verified
from warploom.evaluation.reading import frame_of, read_program
from warploom.evaluation.records import BENCHMARK, BuildRecord, Evaluation
from warploom.evaluation.runs.plan import (
    Progress,
    ProgressCallback,
)
from warploom.evaluation.runs.printed import printed_findings, printed_verdict
from warploom.evaluation.runs.record import record
from warploom.evaluation.survey import Survey, as_built, nccl_version, survey
from warploom.evaluation.times.benchmark import benchmark
from warploom.evaluation.transform_rule import (
    TransformRule,
    text_findings,
    traffic_findings,
)
from warploom.evaluation.verify import Verification, verify
from warploom.source.regions import Program
from warploom.toolchain.kernel_needs import LargestBlock
from warploom.toolchain.nvcc import NvccResult, compile_gate
from warploom.workload.paths import require_file
from warploom.workload.workload import Workload


@dataclass(frozen=True, slots=True)
class Prepared:
    """A candidate after levels 0 and 1: `path` is the text to build, its frame spliced back.

    `frame` is "kept" where the candidate contributed its regions only, else "free".
    """

    findings: tuple[tuple[Finding, ...], ...]
    passed: bool
    path: Path
    frame: str


def prepare(
    candidate: Path,
    task: Workload,
    folder: Path,
    *,
    level: int,
    jobs: int | None,
    on_progress: ProgressCallback,
) -> Prepared:
    """Judge a candidate's legality and, at level 1, its emulator build, for another backend.

    Its text is written to `folder` where it is not taken as it is.
    """
    judge = Judge(task, task, None, None, False, jobs, on_progress, folder)
    parts, path = judge.cascade(candidate, None, level, ())
    findings = tuple(tuple(map(judge.named, group)) for group in parts.findings)
    frame = "kept" if judge.frame is not None else "free"
    return Prepared(findings, not serious(parts), path, frame)


class Judge:
    """Runs the levels for one candidate, in the emulator.

    `topology` is the machine whose time level 3 models; the other arguments are those of
    `cascade.evaluate`. What is written goes to `folder`.
    """

    def __init__(
        self,
        task: Workload,
        trusted: Workload,
        rule: TransformRule | None,
        nccl: str | None,
        nvcc: bool,
        jobs: int | None,
        on_progress: ProgressCallback,
        folder: Path,
        topology: Topology | None = None,
        *,
        trust_candidate: bool = False,
    ) -> None:
        self.topology = topology
        self.trust_candidate = trust_candidate
        self.task = task
        self.trusted = trusted
        self.rule = rule
        self.nccl = nccl or nccl_version(task)
        self.nvcc = nvcc
        self.jobs = jobs
        self.on_progress = on_progress
        self.folder = folder
        self.frame: Program | None = None
        self.dependence = ""
        self.written: dict[str, str] = {}  # paths that we wrote, and what their text is called

    def cascade(
        self,
        candidate: Program | Path | str,
        frame: Program | None,
        level: int,
        plan: Sequence[RunSpec],
    ) -> tuple[Parts, Path]:
        """Run levels 0 to `level`; returns what they said and the path that was built."""
        parts, path = self._legality(candidate, frame)
        if level < 1 or serious(parts):
            return parts, path
        reference = None
        if level >= 2:  # a broken reference must be told before the candidate is blamed
            reference = reference_for(
                self.trusted,
                list(dict.fromkeys(spec.seed for spec in plan)),
                nccl=self.nccl,
                jobs=self.jobs,
                on_progress=self.on_progress,
            )
        with ThreadPoolExecutor(max_workers=1) as pool, contextlib.ExitStack() as leaving:
            needless = threading.Event()
            leaving.callback(needless.set)
            # The text that is timed is the one that is verified, to the last operation.
            unread = any(f.kind == UNREAD for group in parts.findings for f in group)
            spec = replace(self.task.build_spec(self.nccl, path), timed=True, unread=unread)
            gate = pool.submit(self._gate, spec, needless) if self.nvcc else None
            parts, built = self._emulator_build(parts, spec)
            if built is None:
                return parts, path
            if reference is not None:
                frames = None
                if self.frame is not None:
                    task = replace(self.task, program=self._write(self.frame, "frame.cu"))
                    frames = frames_of(
                        self.frame, path, reference, task, self.jobs, self.on_progress
                    )
                parts = self._verify(parts, *built, reference, plan, frames)
                if self.topology is not None and verified(parts):
                    parts = self._benchmark(parts, spec, built[1], reference, plan, level)
            return self._with_gate(parts, gate, path), path

    def _legality(
        self, candidate: Program | Path | str, frame: Program | None
    ) -> tuple[Parts, Path]:
        """Level 0; returns the path of the text to build."""
        given = None if isinstance(candidate, Program) else require_file(Path(candidate))
        program = candidate if isinstance(candidate, Program) else read_program(Path(candidate))
        trusted = frame or frame_of(self.task)
        if trusted is None:
            return self._free(program, given)
        self.frame = trusted
        legality = check_legality(
            program, trusted, str(program.path), given_by(self.task, self.nccl)
        )
        parts = Parts(0, (legality.findings,))
        if legality.program is None or (given and legality.program.text == program.text):
            return parts, given or self._write(program)
        return parts, self._write(legality.program)

    def _free(self, program: Program, given: Path | None) -> tuple[Parts, Path]:
        """Level 0 of a program that keeps no frame: all of its text is judged, or none."""
        found = [no_frame(self.trust_candidate)] if self.rule is None else []
        if not self._is_untrusted():
            path = given or self._write(program)
        else:
            # A copy: headers beside the candidate are its own, those of the workload are trusted.
            path = self._write(program)
            rule = self.rule or TransformRule(None, untrusted=True)
            trusted = read_program(self.task.program)
            name = str(program.path)
            found += text_findings(program, trusted, rule, name, given_by(self.task, self.nccl))
        if self.rule is not None:
            original = read_program(self.task.program)
            if self.rule.check:
                original = replace(original, text=self.rule.check)
            found += edited_check_findings(program, original, str(program.path))
            found += kept_check_findings(
                program, original, str(program.path), given_by(self.task, self.nccl)
            )
            found += host_call_findings(self.task, self.nccl, path, self.rule, str(program.path))
        return Parts(0, (tuple(found),)), path

    def _is_untrusted(self) -> bool:
        """Whether nobody vouches for the text of a program without a frame."""
        return self.rule.untrusted if self.rule is not None else not self.trust_candidate

    def _write(self, program: Program, name: str = "") -> Path:
        path = self.folder / (name or self.task.program.name)
        path.write_bytes(program.text.encode("utf-8", "surrogateescape"))
        self.written[str(path)] = str(program.path)
        return path

    def _emulator_build(
        self, parts: Parts, spec: BuildSpec
    ) -> tuple[Parts, tuple[EmulatorBuild, Survey] | None]:
        """Level 1: build for the emulator, and look at what the object asks of the system."""
        started = time.monotonic()
        self.on_progress(Progress("build", 0, 1))
        try:
            facts = survey(self.task, nccl=self.nccl, program=spec.program)
            program = build(spec)
            facts = as_built(facts, program)
        except RecursionError:
            message = "expressions and statements must lie in each other less deeply than these"
            finding = Finding("unsupported", Severity.ERROR, message, file=str(spec.program))
            record = BuildRecord("emulator", ok=False, seconds=time.monotonic() - started)
            return add(parts, 1, [finding], record), None
        except (BadInputError, UnsupportedError) as error:
            kind = "unsupported" if isinstance(error, UnsupportedError) else "build"
            finding = Finding(
                kind=kind,
                severity=Severity.ERROR,
                message=error.message,
                hint=error.hint,
                file=error.file,
                line=error.line,
            )
            record = BuildRecord("emulator", ok=False, seconds=time.monotonic() - started)
            return add(parts, 1, [finding], record), None
        self.on_progress(Progress("build", 1, 1))
        seconds = time.monotonic() - started
        record = BuildRecord("emulator", ok=True, seconds=seconds, cached=program.cached)
        refused = self._object_findings(program)
        return add(parts, 1, refused, record), None if refused else (program, facts)

    def _object_findings(self, program: EmulatorBuild) -> list[Finding]:
        """Say what the object calls and runs by itself, and the trusted program's does not."""
        trusted_text = self.frame
        if trusted_text is None and self._is_untrusted():
            trusted_text = read_program(self.task.program)
        if trusted_text is None:
            return []
        path = self._write(trusted_text, f"trusted-{self.task.program.name}")
        trusted = build(replace(self.task.build_spec(self.nccl, path), timed=True))
        ours = trusted.imports if self.frame is not None else trusted.imports | ENDINGS
        name = str(program.spec.program)
        return [
            *import_findings(program.imports, ours, name, dynamic_symbols(program.runtime).exports),
            *replaced_findings(program.replaced, trusted.replaced, name),
            *init_findings(runs_by_itself(program.guard), runs_by_itself(trusted.guard), name),
        ]

    def _gate(self, spec: BuildSpec, cancel: threading.Event) -> NvccResult | WarploomError:
        try:
            return compile_gate(spec, self.nccl, cancel=cancel)
        except (MissingToolError, ToolFailedError, SourceError) as error:
            return error

    def _with_gate(
        self, parts: Parts, gate: "Future[NvccResult | WarploomError] | None", path: Path
    ) -> Parts:
        if gate is None:
            record = BuildRecord("nvcc", None, note="not asked for")
            return replace(parts, builds=(*parts.builds, record))
        result = gate.result()
        if isinstance(result, MissingToolError):
            record = BuildRecord("nvcc", None, note=result.message)
            return replace(parts, builds=(*parts.builds, record))
        if isinstance(result, WarploomError):
            found = [Finding("nvcc", Severity.ERROR, result.message, result.hint, result.file)]
            record = BuildRecord("nvcc", ok=False)
        else:
            if result.ok:
                found = launch_findings(result, _largest_blocks(parts), path)
            else:
                found = nvcc_findings(result, path)
            record = BuildRecord("nvcc", result.ok, result.seconds, result.cached)
        if not found:
            return replace(parts, builds=(*parts.builds, record))
        return replace(add(parts, 1, found, record), benchmark=None)

    def _verify(
        self,
        parts: Parts,
        program: EmulatorBuild,
        facts: Survey,
        reference: Reference,
        plan: Sequence[RunSpec],
        frames: Frames | None,
    ) -> Parts:
        result = verify(
            program, facts, reference, plan, jobs=self.jobs, on_progress=self.on_progress,
            frames=frames,
        )  # fmt: skip
        behavior = ()
        if result.passed:
            behavior = self._behavior(program, facts, reference, result, plan)
        traffic = (
            traffic_findings(result.outcomes, reference.traffic, self.rule) if self.rule else []
        )
        if self.rule and result.passed:
            traffic += printed_findings(result.outcomes, reference.printed)
        found = (*parts.findings, *result.findings, *traffic, behavior)
        return replace(parts, level=2, findings=found, verification=result)

    def _behavior(
        self,
        program: EmulatorBuild,
        facts: Survey,
        reference: Reference,
        result: Verification,
        plan: Sequence[RunSpec],
    ) -> tuple[Finding, ...]:
        """Return what spoil runs and counters say of a candidate whose results are right."""
        outcomes = dict(zip(plan, result.outcomes, strict=True))
        spoiler = Spoiler(
            reference, Pair(program, facts), self.jobs, self.on_progress, result.outcomes,
            wider=result.wider,
        )  # fmt: skip
        seed = plan[-1].seed
        shown = judge_dependence(spoiler, outcomes, seed)
        self.dependence = shown.form
        work = tuple(work_findings(outcomes, reference.stats))
        kept = () if work else tuple(kept_findings(spoiler, outcomes, seed))
        origin = () if shown.findings else tuple(origin_findings(spoiler, outcomes, seed))
        return (*shown.findings, *origin, *work, *kept)

    def _benchmark(
        self,
        parts: Parts,
        spec: BuildSpec,
        facts: Survey,
        reference: Reference,
        plan: Sequence[RunSpec],
        level: int,
    ) -> Parts:
        """Levels 3 and 4: modelled time, of the candidate and of the trusted program."""
        assert self.topology is not None
        assert parts.verification is not None
        timed, wrong = benchmark(
            spec, self.trusted.build_spec(self.nccl), facts, reference, plan, self.topology,
            verified=dict(zip(plan, parts.verification.outcomes, strict=True)), jobs=self.jobs,
            on_progress=self.on_progress,
        )  # fmt: skip
        reached = level if timed else BENCHMARK
        findings = (*parts.findings, wrong)
        return replace(parts, level=reached, findings=findings, benchmark=timed)

    def named(self, finding: Finding) -> Finding:
        """Return the finding with the candidate's own name in place of our copy's, everywhere."""
        return renamed(finding, self.written, self.folder)

    def evaluation(
        self, parts: Parts, path: Path, plan: Sequence[RunSpec], seconds: float
    ) -> Evaluation:
        """Put together what the levels said."""
        result = parts.verification
        outcomes = result.outcomes if result else ()
        passed = not serious(parts) and (result is None or result.passed)
        timed = parts.benchmark.renamed(self.written) if parts.benchmark else None
        return Evaluation(
            level_reached=parts.level,
            passed=passed,
            findings=merge(map(self.named, group) for group in parts.findings),
            comparisons=result.comparisons if result else (),
            printed_verdict=printed_verdict(outcomes[0].stdout) if outcomes else "",
            runs=tuple(record(spec, run) for spec, run in zip(plan, outcomes, strict=False)),
            builds=parts.builds,
            seconds=seconds,
            time_source="modelled" if timed else "none",
            frame="free" if self.frame is None else "kept",
            nccl=self.nccl,
            ranks=self.task.shape.ranks,
            lsa_size=self.task.shape.lsa_size,
            node_size=self.task.shape.node_size,
            planned=len(plan),
            dependence=self.dependence,
            seeds=tuple(dict.fromkeys(spec.seed for spec in plan)),
            sandbox=outcomes[0].sandbox if outcomes else "",
            program=Path(self.written.get(str(path), str(path))),
            reference=self.trusted.program,
            benchmark=timed,
            left_out=self.task.leave_out,
        )


def _largest_blocks(parts: Parts) -> Mapping[str, LargestBlock]:
    """Return what launches of each kernel asked for, in any run."""
    found: dict[str, LargestBlock] = {}
    for outcome in parts.verification.outcomes if parts.verification else ():
        for kernel, block in outcome.largest_blocks.items():
            found[kernel] = block.joined(found.get(kernel, block))
    return found
