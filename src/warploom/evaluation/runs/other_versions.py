"""Whether a program that fails by the rules of one NCCL would be right by those of another.

Names, defaults of requirements and rules of barriers differ between versions. A program that was
written for another one is told so, with the option that says which rules hold.
"""

from collections.abc import Sequence
from dataclasses import replace

from warploom.core.errors import BadInputError, UnsupportedError, WarploomError
from warploom.core.records import Finding, Severity, Verdict
from warploom.emulator import EmulatorRun, NotEmulatedError, build, run
from warploom.toolchain.nccl import version_key
from warploom.workload.workload import Workload

VERSIONS = ("2.32.3", "2.31.2", "2.30.7", "2.29.7", "2.28.9")
"""One version of each minor whose rules are known."""

_KINDS = frozenset({"gin_not_enabled", "barrier_team", "requirements_initializer"})


def others(nccl: str) -> list[str]:
    """Return versions with other rules than those of `nccl`, the nearest first."""
    own = version_key(nccl)[:2]
    found = [version for version in VERSIONS if version_key(version)[:2] != own]
    return sorted(found, key=lambda version: abs(version_key(version)[1] - own[1]))


def add_build_hint(error: WarploomError, workload: Workload, nccl: str) -> None:
    """Say in the hint of a failed build by which other version's names the program compiles."""
    named = [use.name for use in error.uses] if isinstance(error, NotEmulatedError) else []
    if not any("nccl" in text.lower() for text in (error.message, *named)):
        return
    for version in others(nccl):
        try:
            build(workload.build_spec(version))
        except (BadInputError, UnsupportedError):
            continue
        told = f"with NCCL {version} it compiles: --nccl {version}"
        error.hint = f"{told}; {error.hint}" if error.hint else told
        return


def with_run_hints(runs: Sequence[EmulatorRun], workload: Workload, nccl: str) -> list[EmulatorRun]:
    """Return `runs` with hints at findings that there are by the rules of `nccl` only.

    The first run that has such a finding is made by other rules, until one finds nothing.
    """
    failed = next((outcome for outcome in runs if any(map(_depends, outcome.findings))), None)
    better = _better(failed, workload, nccl) if failed else None
    if better is None:
        return list(runs)
    told = f"by the rules of NCCL {better} nothing is wrong here: --nccl {better}"
    return [
        replace(
            outcome,
            findings=tuple(
                replace(found, hint=f"{found.hint} ({told})") if _depends(found) else found
                for found in outcome.findings
            ),
        )
        for outcome in runs
    ]


def _depends(found: Finding) -> bool:
    return found.kind in _KINDS and found.severity is Severity.ERROR


def _better(failed: EmulatorRun, workload: Workload, nccl: str) -> str | None:
    for version in others(nccl):
        try:
            program = build(workload.build_spec(version))
        except (BadInputError, UnsupportedError):
            continue
        if run(program, replace(failed.options, trace=0)).verdict is Verdict.OK:
            return version
    return None
