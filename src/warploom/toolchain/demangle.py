"""Symbols as people read them, by c++filt."""

import shutil
from collections.abc import Sequence

from warploom.core.records import Limits
from warploom.toolchain.sandbox import run_sandboxed_tool

_LIMITS = Limits(seconds=120.0, memory_mb=4096, output_mb=256)


def readable_names(symbols: Sequence[str], *, parameters: bool = True) -> list[str]:
    """Return the names of symbols; the symbols themselves where there is no c++filt.

    Raises:
        ToolFailedError: c++filt fails.
    """
    if not symbols or shutil.which("c++filt") is None:
        return list(symbols)
    options = [] if parameters else ["-p"]
    # Symbols may be a stranger's.
    result = run_sandboxed_tool(["c++filt", *options, *symbols], limits=_LIMITS, readable=[])
    names = result.stdout.decode(errors="replace").splitlines()
    return names if len(names) == len(symbols) else list(symbols)
