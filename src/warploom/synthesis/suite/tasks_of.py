"""Finds the tasks of a suite."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from warploom.core.errors import BadInputError

INTERNAL = Path(__file__).with_name("tasks")
"""The folder of the internal suite: one reference for each task."""
_BENCH = "kernelbench:"


@dataclass(frozen=True, slots=True)
class SuiteTask:
    """One reference of a suite; `prompt` is the first line of its documentation."""

    name: str
    file: Path
    prompt: str


def find_suite(
    suite: str, only: Sequence[str] = (), limit: int | None = None
) -> tuple[SuiteTask, ...]:
    """Return the tasks of a suite: `internal`, `kernelbench:PATH` or the path of a folder.

    Files that define no reference are left out (`files_left_out`).

    Raises:
        BadInputError: there is no such folder, it holds no reference, or `only` names none of it.
    """
    tasks = [_task(file) for file in _files_of(suite) if _is_reference(file)]
    if not tasks:
        raise BadInputError(
            "the folder must hold references, but has none", file=str(_folder_of(suite))
        )
    unknown = [name for name in only if name not in {task.name for task in tasks}]
    if unknown:
        raise BadInputError(
            f"--only must name tasks of the suite, got {unknown[0]!r}",
            hint=f"it has: {', '.join(task.name for task in tasks)}",
        )
    chosen = [task for task in tasks if not only or task.name in only]
    return tuple(chosen[:limit])


def files_left_out(suite: str) -> tuple[Path, ...]:
    """Return the Python files of a suite's folder that define no reference.

    Raises:
        BadInputError: there is no such folder.
    """
    return tuple(file for file in _files_of(suite) if not _is_reference(file))


def _files_of(suite: str) -> list[Path]:
    folder = _folder_of(suite)
    if not folder.is_dir():
        raise BadInputError(f"a suite must be internal, {_BENCH}PATH or a folder, got {suite!r}")
    deep = suite.startswith(_BENCH)
    return sorted(folder.rglob("*.py") if deep else folder.glob("*.py"))


def _folder_of(suite: str) -> Path:
    return INTERNAL if suite == "internal" else Path(suite.removeprefix(_BENCH))


def _is_reference(file: Path) -> bool:
    text = file.read_text(encoding="utf-8", errors="replace")
    return any(word in text for word in ("def reference", "REFERENCE", "class Model"))


def _task(file: Path) -> SuiteTask:
    prompt = file.stem.replace("_", " ")
    try:
        doc = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
    except (SyntaxError, UnicodeDecodeError):
        doc = None
    return SuiteTask(file.stem, file, doc.splitlines()[0] if doc else prompt)
