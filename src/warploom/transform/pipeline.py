"""The transform pipeline: analyze, host_to_device, evolve_markers, warmup, hardware."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from warploom.core.errors import BadInputError, RefusedError, UnsupportedError, WarploomError
from warploom.core.records import Json, Severity, Verdict
from warploom.evaluation.check import CheckReport, check
from warploom.evaluation.runs.plan import ProgressCallback, ignore_progress
from warploom.evaluation.survey import nccl_version
from warploom.llm.recorder import Recorder
from warploom.propose import Stage
from warploom.propose.protocol import add_costs
from warploom.propose.rules import PLAIN, RewritePlan, rewrite
from warploom.source.markers import insert_evolve_markers
from warploom.source.regions import Program, strip_markers
from warploom.transform.config import TransformConfig, choose_api
from warploom.transform.host_to_device import HostToDeviceTransformer, Task
from warploom.transform.on_gpus import judge_on_gpus, require_hardware
from warploom.transform.outputs import free_run_dir, require_writable, write_outputs
from warploom.transform.proposers import CALLS
from warploom.transform.records import PipelineResult, PipelineStepResult, StepStatus
from warploom.transform.seen_results import without_results_seen
from warploom.transform.state import RunState, opened, see_results, unmarked
from warploom.transform.texts import analysis_of, read_text, write_text
from warploom.transform.trials import describe
from warploom.transform.warmup import add_warmup
from warploom.workload.workload import Workload, load_target

STEPS = ("analyze", "host_to_device", "evolve_markers", "warmup", "hardware")
FILES = "files"
"""The step after these of a program of several files: it is judged as the files that it becomes."""


@dataclass(frozen=True, slots=True)
class _Done:
    """What a step came to."""

    status: StepStatus
    details: dict[str, Json]
    error: str = ""
    cost: float | None = 0.0


def _skipped(reason: str) -> _Done:
    return _Done(StepStatus.SKIPPED, {"reason": reason})


class PreTransformPipeline:
    """Makes a host-driven program device-initiated, marks what may evolve, adds a warm-up.

    The emulator judges each stage; where this machine has GPUs, they judge the outcome as well.
    """

    def __init__(
        self, config: TransformConfig | None = None, on_progress: ProgressCallback = ignore_progress
    ) -> None:
        self.config = config or TransformConfig()
        self.on_progress = on_progress
        self.transformer = HostToDeviceTransformer(self.config, on_progress)

    def run(
        self,
        source_path: Path | str | Workload,
        output_dir: Path | str,
        *,
        run_dir: Path | str | None = None,
    ) -> PipelineResult:
        """Transform the program or workload at `source_path` and write to `output_dir`.

        Nothing is written to `output_dir` before the outcome is known; a refusal writes nothing.
        Where a model or an agent may take part, attempts and paid calls are kept in `run_dir`. A
        run with the same `run_dir` goes on where an earlier one ended, and pays for nothing twice.
        Default: `output_dir` with `.run` behind its name, or `.run-2` and so on where that is
        taken.

        Raises:
            BadInputError: the input is wrong, does not communicate, or fails before it is changed.
            RefusedError: the program is beyond the rules; names every reason and line.
            UnsupportedError: the program uses what the emulator has not.
            MissingToolError: there is no C++ compiler; or GPUs must take part and cannot.
            LLMError: a model was needed and could not be had, or a cap stands before the next call.
        """
        started = time.monotonic()
        if self.config.keeps_run:
            kept = Path(run_dir) if run_dir else free_run_dir(Path(output_dir))
            self.transformer.run_dir = kept
        given = source_path if isinstance(source_path, Workload) else load_target(source_path)
        workload = self.config.applied_to(given)
        require_writable(Path(output_dir), workload.program)
        api, reason = choose_api(self.config.api_type, workload)
        with TemporaryDirectory(prefix="warploom-transform-") as folder:
            run = opened(workload, Path(folder))
            run.api, run.api_reason = api, reason
            try:
                self._steps(run)
            except RefusedError as error:
                raise error if run.places is None else run.places.refused(error) from None
            result = _result(run, started, self.transformer.run_dir)
            return write_outputs(result, run.written(), Path(output_dir))

    def _steps(self, run: RunState) -> None:
        self._step(run, "analyze", self._analyze)
        self._step(run, "host_to_device", self._host_to_device)
        self._step(run, "evolve_markers", self._evolve_markers)
        self._step(run, "warmup", self._warmup)
        self._prove(run)
        self._step(run, "hardware", self._hardware)
        if run.seen:  # else what was judged is what is written, to the last line
            before = run.original
            run.text = without_results_seen(run.text, before)
            run.stages = tuple(
                replace(s, text=without_results_seen(s.text, before)) for s in run.stages
            )
        if run.files is not None or run.seen:
            self._step(run, FILES, self._judge_files)

    def _step(self, run: RunState, name: str, action: "_Action") -> None:
        started = time.monotonic()
        done = _skipped("a step before it failed") if run.failed else action(run)
        run.steps.append(
            PipelineStepResult(
                name=name,
                status=done.status,
                seconds=time.monotonic() - started,
                cost=done.cost,
                error=done.error,
                details=done.details,
            )
        )

    def _analyze(self, run: RunState) -> _Done:
        workload = run.workload
        report = analysis_of(workload.program, workload)
        if not report.has_host_communication() and not report.has_device_communication():
            raise BadInputError(
                "the program has no communication: it calls no NCCL operation",
                file=str(workload.program),
                hint="there is nothing to make device-initiated",
            )
        require_hardware(self.config.backend, workload)
        run.original = run.text = read_text(workload.program)
        run.task = Task(run.text, report, unmarked(workload, run.text, run.folder))
        baseline = check(
            run.files.workload if run.files else workload,
            seeds=1,
            jobs=self.config.jobs,
            on_progress=self.on_progress,
        )
        _require_good(baseline)
        if run.files is not None:
            run.files.require_one_unit(workload, nccl_version(workload))
        places = run.places
        run.calls = (
            tuple(map(places.collective, report.collectives)) if places else report.collectives
        )
        if not report.readbacks and not workload.outputs:
            see_results(run, report)
        return _Done(
            StepStatus.DONE,
            {
                "collectives": len(report.collectives),
                "setup": report.setup.style,
                "runs": len(baseline.runs),
                "warnings": [f"{w.file}:{w.line}: {w.message}" for w in report.warnings],
            },
        )

    def _host_to_device(self, run: RunState) -> _Done:
        task, api = run.task, run.api
        assert task is not None and api is not None
        if not self.config.host_to_device:
            return _skipped("switched off")
        if not task.analysis.has_host_communication():
            return _skipped("the program is device-initiated already")
        run.stages = self.transformer.transform(task, api)
        last = run.stages[-1]
        run.text, run.evaluation = last.text, last.evaluation
        details: dict[str, Json] = {
            "api": str(api),
            "reason": run.api_reason,
            "stages": [f"{s.stage}: {s.summary}" for s in run.stages],
            "notes": [note for s in run.stages for note in s.notes],
        }
        cost = add_costs(stage.cost for stage in run.stages)
        if last.passed:
            return _Done(StepStatus.DONE, details, cost=cost)
        error = describe(last.evaluation) if last.evaluation else last.problem
        return _Done(StepStatus.FAILED, details, f"stage {last.stage}: {error}", cost)

    def _evolve_markers(self, run: RunState) -> _Done:
        if not self.config.evolve_markers:
            return _skipped("switched off")
        if Program(run.text).regions:
            return _skipped("the program has markers already")
        try:
            marked = self._marked(run)
        except BadInputError as error:
            return _skipped(f"no region can be marked: {error.message}")
        regions = Program(marked, run.workload.program).regions
        if strip_markers(Program(marked)) != run.text:
            return _Done(StepStatus.FAILED, {}, "the markers changed more than comment lines")
        run.text = marked
        return _Done(StepStatus.DONE, {"regions": [region.name for region in regions]})

    def _marked(self, run: RunState) -> str:
        """Return the program with markers; the host-driven text says best what the pipeline is."""
        task, api = run.task, run.api
        assert task is not None and api is not None
        if run.stages and not run.trusted:  # not the rules' text: mark it as it is
            path = write_text(run.folder / "to-mark" / run.workload.program.name, run.text)
            return insert_evolve_markers(run.text, analysis_of(path, run.workload))
        text = insert_evolve_markers(task.text, task.analysis)
        if not run.stages:
            return text
        path = run.folder / "marked" / run.workload.program.name
        report = analysis_of(write_text(path, text), run.workload)
        plain = PLAIN in run.text
        every = "all device memory of the program is in windows" in run.stages[-1].notes
        plan = RewritePlan(api, Stage.DEVICE, every_allocation=every, markers=True, plain=plain)
        return rewrite(text, report, plan).text

    def _warmup(self, run: RunState) -> _Done:
        if not self.config.warmup:
            return _skipped("switched off")
        task = run.task
        assert task is not None
        path = write_text(run.folder / "warmup" / run.workload.program.name, run.text)
        found = add_warmup(run.text, analysis_of(path, run.workload), task.analysis)
        if found.text is None:
            return _skipped(found.reason)
        api = run.api if run.stages else None
        evaluation = self.transformer.evaluate(
            write_text(path, found.text), task, api=api, trusted=run.trusted
        )
        if not evaluation.passed:
            return _skipped(f"a second round changes the results: {describe(evaluation)}")
        run.text, run.evaluation = found.text, evaluation
        return _Done(StepStatus.DONE, {"line": found.line})

    def _prove(self, run: RunState) -> None:
        """Judge what no step has judged: a program whose communication was left as it is."""
        if run.failed or run.evaluation is not None:
            return
        assert run.task is not None
        path = write_text(run.folder / "final" / run.workload.program.name, run.text)
        run.evaluation = self.transformer.evaluate(path, run.task)

    def _judge_files(self, run: RunState) -> _Done:
        """Judge the files that the one text becomes, against those that it was made of."""
        files, task = run.files, run.task
        assert task is not None
        if run.evaluation is None or not run.evaluation.verified:
            return _skipped("the emulator has not verified the program")
        made = files.divided(run.text) if files and run.trusted else None
        if files is None or made is None:
            if run.seen:
                place = run.folder / "as-written" / run.workload.program.name
                return self._checked(replace(run.workload, program=write_text(place, run.text)))
            assert files is not None, "one file, whose results are its own, is judged by now"
            return _skipped(f"what a model wrote is one file, in place of {files.names}")
        run.made = made
        workload = files.at(run.folder / "files", made)
        if run.seen:
            return self._checked(workload)
        text = read_text(workload.program)
        judged = unmarked(workload, text, run.folder / "files-unmarked")
        run.evaluation = self.transformer.evaluate(
            workload.program,
            Task(text, task.analysis, judged, files.workload),
            api=run.api if run.stages else None,
        )
        if run.evaluation.verified:
            return _Done(StepStatus.DONE, {"files": list(made)})
        return _Done(StepStatus.FAILED, {}, f"as files: {describe(run.evaluation)}")

    def _checked(self, workload: Workload) -> _Done:
        """Run the program as it is written, without the reads that the proof needed."""
        report = check(
            workload, seeds=1, jobs=self.config.jobs,
            on_progress=self.on_progress,
        )  # fmt: skip
        if report.verdict is Verdict.OK:
            return _Done(StepStatus.DONE, {"reason": "results were read back for the proof alone"})
        kinds = ", ".join(sorted({merged.finding.kind for merged in report.findings}))
        return _Done(StepStatus.FAILED, {}, f"without these reads: {report.verdict} {kinds}")

    def _hardware(self, run: RunState) -> _Done:
        assert run.task is not None
        if run.evaluation is None or not run.evaluation.verified:
            return _skipped("the emulator has not verified the program")
        path = write_text(run.folder / "hardware" / run.workload.program.name, run.text)
        verdict = judge_on_gpus(self.config.backend, path, run.task.workload, self.on_progress)
        run.hardware = verdict.evaluation
        if verdict.status is StepStatus.FAILED:
            return _Done(verdict.status, {}, verdict.why)
        return _Done(verdict.status, {"reason": verdict.why} if verdict.why else {})


_Action = Callable[[RunState], _Done]


def _require_good(baseline: CheckReport) -> None:
    """Raise unless the program passes as it is: what fails before cannot be judged after."""
    if baseline.verdict is Verdict.OK:
        return
    errors = [m.finding for m in baseline.findings if m.finding.severity is Severity.ERROR]
    first = errors[0] if errors else None
    codes = sorted({str(code) for run in baseline.runs for code in run.exit_codes})
    why = first.message if first else f"{baseline.verdict}, exit codes {', '.join(codes)}"
    failure: type[WarploomError] = BadInputError
    message = f"the program fails before it is changed: {why}"
    if baseline.verdict is Verdict.UNSUPPORTED:
        failure, message = UnsupportedError, why
    raise failure(
        message,
        file=first.file if first and first.file else str(baseline.program),
        line=first.line if first else None,
        hint=f"look at it with: warploom check {baseline.program}",
    )


def _result(run: RunState, started: float, run_dir: Path | None) -> PipelineResult:
    verified = not run.failed and run.evaluation is not None and run.evaluation.verified
    return PipelineResult(
        verified=verified,
        source=run.source,
        api=run.api if run.stages else None,
        api_reason=run.api_reason if run.stages else "",
        steps=tuple(run.steps),
        stages=run.stages,
        collectives=run.calls,
        evaluation=run.evaluation,
        hardware=run.hardware,
        program=None,
        unverified=None,
        diff=None,
        report=None,
        added_lines=0,
        removed_lines=0,
        cost=add_costs(step.cost for step in run.steps),
        seconds=time.monotonic() - started,
        run=run_dir,
        spent=None if run_dir is None else Recorder(run_dir / CALLS).spent()[0],
    )
