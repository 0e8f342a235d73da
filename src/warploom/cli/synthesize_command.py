"""`warploom synthesize`, and how its result is printed."""

from pathlib import Path

from warploom.cli.output import (
    out,
    paint,
    print_error,
    print_finding,
    print_json,
    say,
    warn_without_sandbox,
)
from warploom.core.errors import BadInputError
from warploom.core.records import Severity
from warploom.synthesize import SynthesisConfig, SynthesisResult, synthesize
from warploom.synthesize.reference.client import require_torch


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


def run_synthesize(
    prompt: str, reference: str, target: str, config: SynthesisConfig, folder: Path, *,
    as_json: bool,
) -> int:  # fmt: skip
    """Synthesize and print the result; returns the exit code."""
    require_torch()
    warn_without_sandbox()
    result = synthesize(prompt, reference, target, config, out=folder, tell=say)
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
        out(f"cases: {report.cases}, seed {report.seed}, sandbox: {report.sandbox}")
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
