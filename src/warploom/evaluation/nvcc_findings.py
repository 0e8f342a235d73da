"""What nvcc says of a candidate, as findings."""

from pathlib import Path

from warploom.core.records import Finding, Severity
from warploom.toolchain.nvcc import NvccResult


def nvcc_findings(result: NvccResult, path: Path) -> list[Finding]:
    """Return nvcc's errors as findings; its whole log where it names no line."""
    found = [
        Finding("nvcc", Severity.ERROR, item.message, file=item.file, line=item.line)
        for item in result.errors
    ]
    log = result.log.strip()[-2000:]
    return found or [Finding("nvcc", Severity.ERROR, log, file=str(path))]
