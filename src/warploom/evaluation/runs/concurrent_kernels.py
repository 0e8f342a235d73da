"""Whether a candidate needs kernels of one device to run at once, which CUDA promises to nobody.

Such a program works until the device is full, and hangs then. `check` warns of it. A candidate that
needs it fails, unless the trusted program needs it too.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from warploom.core.records import Finding, RunSpec, Severity

KIND = "concurrent_kernels"


def judge_concurrency(
    told: Sequence[tuple[RunSpec, Sequence[Finding]]],
    trusted: Callable[[RunSpec], Sequence[Finding]],
) -> list[tuple[Finding, ...]]:
    """Return the findings of each run, with what the trusted program does not need as an error.

    Args:
        told: the candidate's runs, each with its findings.
        trusted: gives the findings of the trusted program in such a run.
    """
    needed: dict[RunSpec, bool] = {}

    def judged(spec: RunSpec, finding: Finding) -> Finding:
        if finding.kind != KIND:
            return finding
        if spec not in needed:
            needed[spec] = any(item.kind == KIND for item in trusted(spec))
        return finding if needed[spec] else replace(finding, severity=Severity.ERROR)

    return [tuple(judged(spec, item) for item in findings) for spec, findings in told]
