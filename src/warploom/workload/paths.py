"""The files and folders that a workload names."""

import difflib
from collections.abc import Sequence
from pathlib import Path

from warploom.core.errors import BadInputError, SourceError

WORKLOAD_FILE = "workload.toml"


def is_workload(path: Path) -> bool:
    """Whether `path` is a workload file or a folder that holds one."""
    return path.suffix == ".toml" or (path / WORKLOAD_FILE).is_file()


def require_file(path: Path) -> Path:
    """Return `path` made absolute; raise SourceError where it is not a file."""
    if path.is_dir() and is_workload(path):
        raise SourceError(
            "a program must be named here, but this is the folder of a workload",
            file=str(path),
            hint="name its .cu file",
        )
    if path.is_dir():
        raise SourceError(
            f"is a folder without a {WORKLOAD_FILE}",
            file=str(path),
            hint="name a .cu file in it, or start a workload with: warploom init DIR",
        )
    if not path.exists():
        near = difflib.get_close_matches(path.name, _names_beside(path), n=3)
        hint = f"did you mean {', '.join(str(path.with_name(name)) for name in near)}?"
        raise SourceError("no such file", file=str(path), hint=hint if near else "")
    if not path.is_file():
        raise SourceError("is no ordinary file", file=str(path))
    return path.resolve()


def _names_beside(path: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in path.parent.iterdir())
    except OSError:
        return []


def require_dir(path: Path) -> Path:
    """Return `path` made absolute; raise SourceError where it is not a folder."""
    if not path.is_dir():
        raise SourceError("no such include folder", file=str(path))
    return path.resolve()


def require_once(files: Sequence[Path]) -> None:
    """Raise BadInputError where a file of a program is named twice."""
    for at, file in enumerate(files):
        if file in files[:at]:
            raise BadInputError(
                "this file of the program is named twice",
                file=str(file),
                hint="the program (or the workload's) comes first, then only its further files",
            )
