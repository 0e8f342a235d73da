"""`warploom transform`: the summary that fits one screen."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

from warploom.cli.comparisons import describe_error
from warploom.cli.eval_command import SPOILED, print_evaluation
from warploom.cli.output import out, paint, print_finding, print_json, progress, say, short_path
from warploom.cli.transform_ask import (
    RUN_FILE,
    config_of,
    resumed,
    save,
    with_models_of,
    workload_of,
)
from warploom.cli.transform_options import TransformChoices
from warploom.core.errors import WarploomError
from warploom.core.records import Severity
from warploom.evaluation.records import Evaluation
from warploom.llm import LLMError
from warploom.llm.ledger import Spent
from warploom.llm.recorder import Recorder
from warploom.propose.agent.proposer import session_costs
from warploom.transform import PipelineResult, PreTransformPipeline, StageResult, StepStatus
from warploom.transform.agents import SESSIONS
from warploom.transform.outputs import free_run_dir
from warploom.transform.proposers import CALLS

_MAX_FINDINGS = 5


def run_transform(choices: TransformChoices, resume: Path | None) -> int:
    """Transform one program, print what was proved; returns the exit code.

    With `resume` the run in that folder goes on: what it has paid for is not paid for again.
    """
    asked = resumed(resume, choices) if resume else with_models_of(choices, os.environ)
    workload, config = workload_of(asked), config_of(asked)
    place = asked.out or Path(f"{workload.name}-device")
    run = resume
    if run is None and config.keeps_run:
        run = free_run_dir(place)
        save(replace(asked, out=place), run, workload.program)
    try:
        with progress(not asked.as_json) as on_progress:
            result = PreTransformPipeline(config, on_progress).run(workload, place, run_dir=run)
    except (WarploomError, KeyboardInterrupt) as error:
        _tell_how_to_resume(run, error)
        raise
    if asked.as_json:
        print_json(result.to_json())
    else:
        print_result(result)
    return result.exit_code


def _tell_how_to_resume(run: Path | None, error: WarploomError | KeyboardInterrupt) -> None:
    """Say how to go on; a run that holds nothing yet is removed."""
    if run is None or not run.is_dir():
        return
    spent = Recorder(run / CALLS).spent()[0]
    paid = bool(spent.requests or spent.uncertain_requests)
    paid = paid or any((run / SESSIONS).glob("*/session.json"))
    if not paid and not _holds_work(run):
        shutil.rmtree(run)
        return
    told = f"go on with: warploom transform --resume {short_path(run)}"
    told = f"what was paid for is kept, {told}" if paid else told
    if isinstance(error, LLMError):
        error.hint = "; ".join(part for part in (error.hint, told) if part)
    else:
        say(told)


def _holds_work(run: Path) -> bool:
    """Whether a run's folder holds more than what was asked for: attempts, or an agent's words."""
    ours = {run / RUN_FILE, run / CALLS / ".lock"}
    return any(path.is_file() and path not in ours for path in run.rglob("*"))


def print_result(result: PipelineResult) -> None:
    """Print what a transform did and proved."""
    out(f"{short_path(result.source)}: {len(result.collectives)} collective calls")
    for item in result.collectives[:8]:
        own = Path(item.file).name == result.source.name
        where = f"line {item.line:>4}" if own else f"{short_path(item.file)}:{item.line}"
        out(f"  {where}  {item.name} {item.send or '-'} -> {item.recv or '-'}")
    if len(result.collectives) > 8:
        out(f"  and {len(result.collectives) - 8} more")
    for step in result.steps:
        reason = step.error or str(step.details.get("reason", ""))
        color = "error" if step.status is StepStatus.FAILED else "ok"
        word = paint(str(step.status), color)
        out(f"{step.name:<15} {word} {step.seconds:6.1f} s  {reason}".rstrip())
    for stage in result.stages:
        tries = f" ({stage.attempts} attempts)" if stage.attempts > 1 else ""
        out(f"  stage {stage.stage}: {stage.summary}{tries}")
        if stage.problem:
            out(f"    no program: {stage.problem}")
        for note in stage.notes:
            out(f"    note: {note}")
    if result.evaluation is not None:
        _print_proof(result.evaluation)
    if result.hardware is not None:
        print_evaluation(result.hardware)
    if not result.verified:
        _print_failure(result)
    if result.spent is not None and result.spent.requests:
        _print_spent(result.spent)
    elif result.run is not None and (costs := session_costs(result.run / SESSIONS)):
        _print_agents(costs)
    _print_outputs(result)


def _print_spent(spent: Spent) -> None:
    """Say what models were paid, in this process and in those that it goes on from."""
    usage = spent.usage
    cached = f" ({usage.cached} cached)" if usage.cached else ""
    out(
        f"models: {spent.requests} calls, {usage.input} tokens in{cached}, {usage.output} out, "
        f"{_dollars(spent)}"
    )
    if spent.uncertain_requests:
        out(
            f"  and {spent.uncertain_requests} calls without a reply, which may have cost up to "
            f"${spent.uncertain_dollars:.4f}"
        )


def _dollars(spent: Spent) -> str:
    if not spent.unpriced_requests:
        return f"${spent.dollars:.4f}"
    if spent.unpriced_requests == spent.requests:
        return "cost unknown (--price IN,OUT tells it)"
    return f"${spent.dollars:.4f} and {spent.unpriced_requests} calls of unknown cost"


def _print_agents(costs: tuple[float | None, ...]) -> None:
    """Say what sessions of an agent have cost that asked its provider itself."""
    known = [cost for cost in costs if cost is not None]
    unknown = len(costs) - len(known)
    told = f"${sum(known):.4f} as it tells" if known else ""
    more = f"the cost of {unknown} is unknown" if unknown else ""
    out(f"agent: {len(costs)} sessions, {', '.join(part for part in (told, more) if part)}")


def _print_proof(evaluation: Evaluation) -> None:
    """Say what was tried, and against what."""
    seeds = len({run.seed for run in evaluation.runs})
    timings = ", ".join(dict.fromkeys(str(run.timing) for run in evaluation.runs))
    out(
        f"verification: {len(evaluation.runs)} of {evaluation.planned} runs "
        f"({seeds} seeds x {timings}), {evaluation.ranks} ranks, NCCL {evaluation.nccl} rules, "
        "happens-before check on"
    )
    if evaluation.dependence:
        out(f"  {SPOILED[evaluation.dependence]}")
    out(f"  seeds {','.join(map(str, evaluation.seeds))} (--seeds-from repeats them)")
    for item in evaluation.comparisons:
        word = paint("match", "ok") if item.passed else paint("differ", "error")
        weak = f"; {item.weak} in the reference: this proves little" if item.weak else ""
        out(
            f"  {item.buffer or 'unnamed'} ({item.dtype}): {item.compared} read-backs, "
            f"{item.elements} elements {word}, {describe_error(item)}{weak}"
        )
    if evaluation.left_out:
        out(f"  left out: {', '.join(evaluation.left_out)}, not compared")
    for item in evaluation.findings:
        if item.finding.kind == "edited_check":
            out(f"  {paint('edited check', 'warning')}: {item.finding.message}")
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
    for name, path in (("diff", result.diff), ("report", result.report), ("run", result.run)):
        if path is not None:
            out(f"  {name:<8} {short_path(path)}")
