"""What nvcc says of a candidate, as findings."""

from collections.abc import Mapping
from pathlib import Path

from warploom.core.records import Finding, Severity
from warploom.toolchain.nvcc import NvccResult
from warploom.toolchain.registers import PER_BLOCK, too_many


def nvcc_findings(result: NvccResult, path: Path) -> list[Finding]:
    """Return nvcc's errors as findings; its whole log where it names no line."""
    found = [
        Finding("nvcc", Severity.ERROR, item.message, file=item.file, line=item.line)
        for item in result.errors
    ]
    log = result.log.strip()[-2000:]
    return found or [Finding("nvcc", Severity.ERROR, log, file=str(path))]


def register_findings(
    result: NvccResult, largest_blocks: Mapping[str, int], path: Path
) -> list[Finding]:
    """Return a finding for each kernel whose largest block has too few registers on a GPU.

    `largest_blocks`: the threads of a block with which runs launched each kernel.
    """
    return [
        Finding(
            "launch_error",
            Severity.ERROR,
            f"kernel {kernel} takes {registers} registers per thread, as nvcc compiles it, and is "
            f"launched with {threads} threads per block: a block has {PER_BLOCK} registers, so the "
            "launch fails on a GPU",
            "launch smaller blocks, or bound the kernel's registers by "
            f"__launch_bounds__({threads})",
            file=str(path),
            kernel=kernel,
        )
        for kernel, (registers, threads) in too_many(result.registers, largest_blocks).items()
    ]
