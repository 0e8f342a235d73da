"""What nvcc says of a candidate, as findings."""

from collections.abc import Mapping
from pathlib import Path

from warploom.core.records import Finding, Severity
from warploom.toolchain.kernel_needs import LargestBlock, lacks, named, needs_of
from warploom.toolchain.nvcc import NvccResult


def nvcc_findings(result: NvccResult, path: Path) -> list[Finding]:
    """Return nvcc's errors as findings; its whole log where it names no line."""
    found = [
        Finding("nvcc", Severity.ERROR, item.message, file=item.file, line=item.line)
        for item in result.errors
    ]
    log = result.log.strip()[-2000:]
    return found or [Finding("nvcc", Severity.ERROR, log, file=str(path))]


def launch_findings(
    result: NvccResult, largest_blocks: Mapping[str, LargestBlock], path: Path
) -> list[Finding]:
    """Return a finding for each kernel of which runs launched blocks that no GPU has room for.

    `largest_blocks`: what launches asked for, by the kernel's name in the text.
    """
    if not largest_blocks:
        return []
    text = path.read_text(errors="replace")
    known = needs_of(result.log)
    found: list[Finding] = []
    for kernel, block in largest_blocks.items():
        needs = named(kernel, known, text)
        if needs is not None and (why := lacks(needs, block)):
            message = f"kernel {kernel} {why}; the launch fails on a GPU"
            hint = (
                f"launch smaller blocks, or bound registers by __launch_bounds__({block.threads}); "
                "what names no kernel of its own counts as the largest"
            )
            found.append(
                Finding("launch_error", Severity.ERROR, message, hint, str(path), kernel=kernel)
            )
    return found
