"""`warploom transform`: the summary that fits one screen."""

from dataclasses import replace
from pathlib import Path

from warploom.cli.options import RunChoices
from warploom.cli.output import out, paint, print_finding, print_json, progress, short_path
from warploom.core.records import Severity
from warploom.evaluate.evaluation import Evaluation
from warploom.transform import (
    PipelineResult,
    PreTransformPipeline,
    StageResult,
    StepStatus,
    TransformConfig,
)

_MAX_FINDINGS = 5


def run_transform(
    target: Path,
    choices: RunChoices,
    folder: Path | None,
    *,
    api: str,
    two_stage: bool,
    nvcc: bool,
    markers: bool,
    warmup: bool,
    as_json: bool,
) -> int:
    """Transform one program, print what was proved; returns the exit code."""
    workload = choices.apply(target)
    config = TransformConfig(
        api_type=api,
        two_stage=two_stage,
        nvcc=nvcc,
        evolve_markers=markers,
        warmup=warmup,
        jobs=choices.jobs,
    )
    place = folder or Path(f"{workload.name}-device")
    with progress(not as_json) as on_progress:
        result = PreTransformPipeline(config, on_progress).run(workload, place)
    if as_json:
        print_json(result.to_json())
    else:
        _print(result)
    return result.exit_code


def _print(result: PipelineResult) -> None:
    out(f"{short_path(result.source)}: {len(result.collectives)} collective calls")
    for item in result.collectives[:8]:
        out(f"  line {item.line:>4}  {item.name} {item.send or '-'} -> {item.recv or '-'}")
    if len(result.collectives) > 8:
        out(f"  and {len(result.collectives) - 8} more")
    for step in result.steps:
        reason = step.error or str(step.details.get("reason", ""))
        colour = "error" if step.status is StepStatus.FAILED else "ok"
        word = paint(str(step.status), colour)
        out(f"{step.name:<15} {word} {step.seconds:6.1f} s  {reason}".rstrip())
    for stage in result.stages:
        out(f"  stage {stage.stage}: {stage.summary}")
        for note in stage.notes:
            out(f"    note: {note}")
    if result.evaluation is not None:
        _print_proof(result.evaluation)
    if not result.verified:
        _print_failure(result)
    _print_outputs(result)


def _print_proof(evaluation: Evaluation) -> None:
    """Say what was tried, and against what."""
    seeds = len({run.seed for run in evaluation.runs})
    timings = ", ".join(dict.fromkeys(str(run.timing) for run in evaluation.runs))
    out(
        f"verification: {len(evaluation.runs)} of {evaluation.planned} runs "
        f"({seeds} seeds x {timings}), {evaluation.ranks} ranks, NCCL {evaluation.nccl} rules, "
        "happens-before check on"
    )
    for item in evaluation.comparisons:
        word = paint("match", "ok") if item.passed else paint("differ", "error")
        weak = f"; {item.weak} in the reference: this proves little" if item.weak else ""
        out(
            f"  {item.buffer or 'unnamed'} ({item.dtype}): {item.compared} read-backs, "
            f"{item.elements} elements {word}, largest error {item.max_error:.3g}{weak}"
        )
    for build in evaluation.builds:
        if build.tool == "nvcc":
            state = {True: "compiles", False: "does not compile", None: f"not run: {build.note}"}
            out(f"  nvcc with the headers of NCCL {evaluation.nccl}: {state[build.ok]}")


def _print_failure(result: PipelineResult) -> None:
    evaluation = result.evaluation or _last_evaluation(result.stages)
    errors = [
        item.finding
        for item in (evaluation.findings if evaluation else ())
        if item.finding.severity is Severity.ERROR
    ]
    for finding in errors[:_MAX_FINDINGS]:
        name = finding.file if finding.file is None else Path(finding.file).name
        print_finding(replace(finding, file=name))
    if len(errors) > _MAX_FINDINGS:
        out(f"and {len(errors) - _MAX_FINDINGS} more: see {result.report}")
    for stage in result.stages:
        if stage.diagnosis:
            out(f"diagnosis of stage {stage.stage}: {stage.diagnosis}")


def _last_evaluation(stages: tuple[StageResult, ...]) -> Evaluation | None:
    return next((stage.evaluation for stage in reversed(stages) if stage.evaluation), None)


def _print_outputs(result: PipelineResult) -> None:
    if result.verified and result.program is not None:
        api = f" to {str(result.api).upper()}" if result.api else ""
        lines = f"+{result.added_lines} -{result.removed_lines} lines"
        out(f"{paint('verified', 'ok')}: transformed{api}, {lines}, {result.seconds:.1f} s")
        out(f"  program  {short_path(result.program)}")
    else:
        out(f"{paint('not verified', 'error')}: {result.seconds:.1f} s")
        if result.unverified is not None:
            out(f"  rejected {short_path(result.unverified)}")
    for name, path in (("diff", result.diff), ("report", result.report)):
        if path is not None:
            out(f"  {name:<8} {short_path(path)}")
