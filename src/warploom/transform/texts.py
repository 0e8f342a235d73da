"""Sources as text: read, written and analyzed in place of a workload's program."""

from pathlib import Path

from warploom.source import AnalysisReport, CUDAAnalyzer
from warploom.workload.workload import Workload


def analysis_of(path: Path, workload: Workload) -> AnalysisReport:
    """Analyze a text at `path` in place of the workload's program."""
    folders = (*workload.include_dirs, workload.program.parent)
    return CUDAAnalyzer(path, include_dirs=folders, defines=workload.defines).analyze()


def read_text(path: Path) -> str:
    """Read a source; bytes that are not UTF-8 survive."""
    return path.read_bytes().decode("utf-8", "surrogateescape")


def write_text(path: Path, text: str) -> Path:
    """Write a source, with its folder; return `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    return path
