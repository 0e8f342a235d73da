"""What comes of a synthesis, and its report."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from warploom.core.records import Json, to_json
from warploom.synthesis.records import (
    CorrectnessReport,
    KernelArtifact,
    KernelSpec,
    PerformanceReport,
    StageTrace,
)

_UNSUPPORTED = 3


@dataclass(frozen=True, slots=True)
class SynthesisResult:
    """What a synthesis came to. `verified`: a kernel passed every check of acceptance.

    `error` is why there is none, with its exit code; `folder` is where everything lies. `seed`
    repeats the run, all other things equal.
    """

    run: str
    verified: bool
    folder: Path
    reference: str
    spec: KernelSpec | None = None
    kernel: KernelArtifact | None = None
    correctness: CorrectnessReport | None = None
    performance: PerformanceReport | None = None
    stages: tuple[StageTrace, ...] = ()
    seconds: float = 0.0
    seed: int | None = None
    error: str = ""
    error_line: int | None = None
    error_code: int = 0

    @property
    def exit_code(self) -> int:
        """0: verified; else that of the error, or 1."""
        if self.verified:
            return 0
        return self.error_code or 1

    @property
    def dollars(self) -> float:
        """What models cost."""
        return sum(stage.dollars for stage in self.stages)

    def to_json(self) -> dict[str, Json]:
        """Return the report as JSON."""
        data = to_json(self)
        assert isinstance(data, dict)
        return {**data, "dollars": self.dollars, "exit_code": self.exit_code}


SynthesisReport = Mapping[str, Json]
"""The report of a run as it lies in its folder: `SynthesisResult.to_json`."""


def report_text(result: SynthesisResult) -> str:
    """Return a report for people, in Markdown."""
    head = "verified" if result.verified else "not verified"
    lines = [f"# {result.spec.name if result.spec else result.reference}: {head}", ""]
    if result.error:
        where = f" (line {result.error_line})" if result.error_line else ""
        lines += [f"{result.reference}{where}: {result.error}", ""]
    lines += [*_spec_lines(result), *_check_lines(result), *_time_lines(result)]
    lines += [
        "## Stages",
        "",
        "| stage | status | attempts | seconds | notes |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {s.stage} | {s.status} | {s.attempts} | {s.seconds:.1f} | {'; '.join(s.notes)} |"
        for s in result.stages
    ]
    lines += [
        "",
        f"Run {result.run}, {result.seconds:.1f} s, ${result.dollars:.4f} for models.",
        "",
    ]
    return "\n".join(lines)


def _spec_lines(result: SynthesisResult) -> list[str]:
    spec = result.spec
    if spec is None:
        return []
    several = f"; {spec.ranks} ranks" if spec.ranks > 1 else ""
    head = f"Target {spec.target}{several}; reference {result.reference}."
    lines = ["## Specification", "", head, ""]
    for role, tensors in (("in", spec.inputs), ("out", spec.outputs)):
        lines += [f"- {role}: `{t.name}` {t.dtype}[{', '.join(t.shape)}]" for t in tensors]
    lines += [f"- only for sizes with `{text}`" for text in spec.conditions]
    for rule in spec.tolerances:
        lines.append(
            f"- tolerance: {rule.rtol:.3g} relative, and {rule.room:.3g} + n/2 times what a "
            f"rounding of each input moves a result, n = {rule.reduction}"
        )
    return [*lines, ""]


def _check_lines(result: SynthesisResult) -> list[str]:
    report = result.correctness
    if report is None:
        return []
    lines = ["## Checks", "", "| check | times | result |", "|---|---|---|"]
    lines += [
        f"| {c.name} | {c.times} | {'passed' if c.passed else c.detail} |" for c in report.checks
    ]
    lines += ["", f"Seed {result.seed} (--seed repeats it); sandbox: {report.sandbox}.", ""]
    lines += [f"- not tried: {words}" for words in report.skipped]
    for build in report.builds:
        word = build.note if build.ok is None else "ok" if build.ok else "failed"
        more = (
            f", {build.registers} registers, {build.spills} bytes spilled"
            if build.registers
            else ""
        )
        lines.append(f"- build: {build.tool} {word}{more}")
    return [*lines, ""]


def _time_lines(result: SynthesisResult) -> list[str]:
    report = result.performance
    if report is None:
        return []
    return [
        "## Time", "",
        f"{report.time_ms * 1e3:.2f} us **{report.time_source}** on {report.machine} at "
        f"{dict(report.sizes)}; {report.baseline_ms * 1e3:.2f} us for one kernel an operation; "
        f"{report.floor_ms * 1e3:.3f} us is what moving {report.bytes_moved} bytes takes.",
        f"Kernels: {report.kernels}; held back by {report.bottleneck}; "
        f"{report.tried} settings tried. {report.note}", "",
    ]  # fmt: skip
