"""What the levels of the cascade have said so far."""

from dataclasses import dataclass, replace

from warploom.core.records import Finding, Severity
from warploom.evaluation.modelled_time import Benchmark
from warploom.evaluation.records import BuildRecord
from warploom.evaluation.verify import Verification


@dataclass(frozen=True, slots=True)
class Parts:
    """What the levels have said so far."""

    level: int
    findings: tuple[tuple[Finding, ...], ...] = ()
    builds: tuple[BuildRecord, ...] = ()
    verification: Verification | None = None
    benchmark: Benchmark | None = None


def verified(parts: Parts) -> bool:
    """Whether the candidate passed verification, and nothing else speaks against it."""
    return bool(parts.verification and parts.verification.passed) and not serious(parts)


def serious(parts: Parts) -> bool:
    """Whether any level has found an error."""
    return any(f.severity == Severity.ERROR for group in parts.findings for f in group)


def add(parts: Parts, level: int, findings: list[Finding], build: BuildRecord) -> Parts:
    """Return `parts` with what `level` said of a build."""
    return replace(
        parts,
        level=level,
        findings=(*parts.findings, tuple(findings)),
        builds=(*parts.builds, build),
    )
