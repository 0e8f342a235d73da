"""Whether a candidate needs what CUDA and MPI promise to nobody.

Kernels of one device that run at once, sends that MPI buffers, collectives that return before all
have come: such a program works until the device is full or the library is another one, and hangs
then. `check` warns of it. A candidate that needs it fails, unless the trusted program needs the
same.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from warploom.core.records import Finding, RunSpec, Severity

KINDS = frozenset({"concurrent_kernels", "mpi_unpromised", "mpi_not_finalized"})


def judge_unpromised(
    told: Sequence[tuple[RunSpec, Sequence[Finding]]],
    trusted: Callable[[RunSpec], Sequence[Finding]],
) -> list[tuple[Finding, ...]]:
    """Return the findings of each run, with what the trusted program does not need as an error.

    Args:
        told: the candidate's runs, each with its findings.
        trusted: gives the findings of the trusted program in such a run.
    """
    needed: dict[RunSpec, set[str]] = {}

    def judged(spec: RunSpec, finding: Finding) -> Finding:
        if finding.kind not in KINDS:
            return finding
        if spec not in needed:
            needed[spec] = {item.kind for item in trusted(spec)}
        same = finding.kind in needed[spec]
        return finding if same else replace(finding, severity=Severity.ERROR)

    return [tuple(judged(spec, item) for item in findings) for spec, findings in told]
