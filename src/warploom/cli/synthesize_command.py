"""`warploom synthesize`, and how its result is printed."""

from collections.abc import Sequence
from pathlib import Path

from warploom.cli.first_build import tell_of_first_build
from warploom.cli.output import (
    out,
    paint,
    print_error,
    print_finding,
    print_json,
    say,
    warn_without_sandbox,
)
from warploom.cli.transform_ask import parse_price
from warploom.core.errors import BadInputError
from warploom.core.records import Severity
from warploom.llm import Budget, LLMSettings
from warploom.synthesis.config import STAGES, Retries, SynthesisConfig
from warploom.synthesis.orchestrator import synthesize
from warploom.synthesis.reference.client import require_torch
from warploom.synthesis.result import SynthesisResult


def prompt_of(prompt: str | None, file: Path | None) -> str:
    """Return the prompt from the command line or its file.

    Raises:
        BadInputError: there are both or none, or the file cannot be read.
    """
    if (prompt is None) == (file is None):
        raise BadInputError("either --prompt or --prompt-file must be given")
    if prompt is not None:
        return prompt
    assert file is not None
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"cannot be read: {error}", file=str(file)) from None


def config_of(
    proposer: str, models: Sequence[str], dollars: float | None, requests: int | None,
    price: str | None, *, tune: int, seed: int | None, nvcc: bool, jobs: int | None,
    unsafe: bool, backend: str = "emulator", resume: bool = False, ranks: int = 1,
    stage_models: Sequence[str] = (), retries: Sequence[str] = (), kernel: Path | None = None,
) -> SynthesisConfig:  # fmt: skip
    """Return the configuration that the options ask for.

    Raises:
        BadInputError: an option breaks a rule.
    """
    groups = _by_stage("--stage-model", stage_models)
    counts = {
        stage: _count(values[-1]) for stage, values in _by_stage("--retries", retries).items()
    }
    models = models or groups.get("codegen", [])
    everyone = [*models, *(name for names in groups.values() for name in names)]
    prices = {} if price is None else dict.fromkeys(everyone, parse_price(price))
    if kernel is not None and proposer == "rules":
        proposer = "given"
    return SynthesisConfig(
        proposer=proposer, tune=tune, seed=seed, nvcc=nvcc, jobs=jobs, unsafe=unsafe,
        backend=backend, resume=resume, ranks=ranks, retries=Retries(**counts),
        stage_models={stage: tuple(names) for stage, names in groups.items()},
        kernel=kernel, models=tuple(models), budget=Budget(dollars, None, requests, None),
        settings=LLMSettings(prices=prices),
    )  # fmt: skip


def _by_stage(option: str, words: Sequence[str]) -> dict[str, list[str]]:
    """Read STAGE=VALUE, as often as it is given.

    Raises:
        BadInputError: one is none, or names no stage that asks models.
    """
    found: dict[str, list[str]] = {}
    for word in words:
        stage, equals, value = word.partition("=")
        if not equals or not value or stage not in STAGES:
            raise BadInputError(
                f"{option} must be STAGE=VALUE, STAGE one of {', '.join(STAGES)}, got {word!r}"
            )
        found.setdefault(stage, []).append(value)
    return found


def _count(text: str) -> int:
    if not text.isdigit():
        raise BadInputError(f"--retries must be STAGE=N, N a number, got {text!r}")
    return int(text)


def run_synthesize(
    prompt: str, reference: str, target: str, config: SynthesisConfig, folder: Path, *,
    as_json: bool,
) -> int:  # fmt: skip
    """Synthesize and print the result; returns the exit code."""
    require_torch()
    warn_without_sandbox()
    if not as_json:
        tell_of_first_build()
    try:
        result = synthesize(prompt, reference, target, config, out=folder, tell=say)
    except KeyboardInterrupt:
        if folder.is_dir():
            say(f"{folder} keeps what was done: the same command with --resume goes on")
        raise
    if as_json:
        print_json(result.to_json())
    else:
        print_result(result)
    return result.exit_code


def print_result(result: SynthesisResult) -> None:
    """Print checks, findings, time and the conclusion."""
    if result.error:
        print_error(result.error, file=result.reference, line=result.error_line)
    report = result.correctness
    if report is not None:
        for check in report.checks:
            word = paint("passed", "ok") if check.passed else paint("failed", "error")
            out(f"{check.name}: {word}, {check.times} times{_detail(check.detail)}")
        for finding in report.findings:
            if finding.severity is Severity.ERROR:
                print_finding(finding)
        for build in report.builds:
            word = f"not run: {build.note}" if build.ok is None else "ok" if build.ok else "failed"
            out(f"build: {build.tool} {word}")
        out(f"cases: {report.cases}, seed {result.seed}, sandbox: {report.sandbox}")
        if report.skipped:
            out(f"not tried: {len(report.skipped)}, report.md says what and why")
    if result.spec is not None and result.spec.conditions:
        out(f"sizes: only where {', '.join(result.spec.conditions)}")
    time = result.performance
    if time is not None:
        out(
            f"time: {time.time_ms * 1e3:.2f} us {time.time_source} on {time.machine}; one kernel "
            f"an operation: {time.baseline_ms * 1e3:.2f} us; held back by {time.bottleneck}"
        )
    word = paint("verified", "ok") if result.verified else paint("not verified", "error")
    out(f"{word}, {result.seconds:.1f} s; everything is in {result.folder}")


def _detail(text: str) -> str:
    return f": {text}" if text else ""
