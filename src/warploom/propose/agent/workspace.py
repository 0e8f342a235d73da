"""The copy of a workload that an agent may change at will; only the program comes back."""

import shutil
import stat
from dataclasses import dataclass
from pathlib import Path

from warploom.core.errors import BadInputError
from warploom.evaluate.workload import Workload

_MAX_PROGRAM_MB = 4
_MAX_COPY_MB = 64
_MAX_FILES = 2000
_LEFT_OUT = shutil.ignore_patterns(".git", "__pycache__", ".venv", "node_modules")


class AgentLeftNothingError(BadInputError):
    """What the agent left is no program: it is gone, no plain file, too large or not text."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """A folder with the workload's files; `program` is the file that the agent is to change."""

    folder: Path
    program: Path
    original: str

    def result(self) -> str:
        """Return the program as the agent left it.

        Raises:
            AgentLeftNothingError: it is gone, no plain file, too large or not UTF-8.
        """
        name = self.program.name
        try:
            info = self.program.lstat()
        except OSError:
            raise AgentLeftNothingError(f"the agent removed {name}") from None
        if not stat.S_ISREG(info.st_mode):
            raise AgentLeftNothingError(f"the agent put something that is no plain file at {name}")
        if info.st_size > _MAX_PROGRAM_MB << 20:
            raise AgentLeftNothingError(
                f"{name} must be at most {_MAX_PROGRAM_MB} MiB, but the agent left "
                f"{info.st_size >> 20} MiB"
            )
        try:
            return self.program.read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            raise AgentLeftNothingError(
                f"the agent left bytes in {name} that are no text"
            ) from None

    @property
    def changed(self) -> bool:
        """Whether the program is another one now; False where it cannot be read."""
        try:
            return self.result() != self.original
        except AgentLeftNothingError:
            return True


def make_workspace(workload: Workload, text: str, folder: Path) -> Workspace:
    """Copy a workload to `folder`, with `text` as its program.

    The whole folder of a workload file is copied; of a bare program only its own and the headers
    beside it.

    Raises:
        BadInputError: the workload's folder is too large to copy.
    """
    root, program = workload.root, own_file(workload)
    if program.is_relative_to(root) and (root / "workload.toml").is_file():
        _require_small(root)
        shutil.copytree(root, folder, ignore=_LEFT_OUT, symlinks=True, dirs_exist_ok=True)
        copy = folder / program.relative_to(root)
    else:
        folder.mkdir(parents=True, exist_ok=True)
        for header in sorted(program.parent.glob("*.h")) + sorted(program.parent.glob("*.cuh")):
            shutil.copy2(header, folder / header.name)
        copy = folder / program.name
    copy.unlink(missing_ok=True)
    copy.write_bytes(text.encode("utf-8", "surrogateescape"))
    return Workspace(folder, copy, text)


def own_file(workload: Workload) -> Path:
    """Return the user's file, where the workload's program is a copy of it elsewhere."""
    name = workload.program.name
    places = (workload.program, *(folder / name for folder in reversed(workload.include_dirs)))
    return next((p for p in places if p.is_relative_to(workload.root) and p.is_file()), places[0])


def _require_small(root: Path) -> None:
    size = 0
    for count, path in enumerate(root.rglob("*"), 1):
        size += path.lstat().st_size
        if count > _MAX_FILES or size > _MAX_COPY_MB << 20:
            raise BadInputError(
                f"an agent works on a copy of the workload's folder, which must hold at most "
                f"{_MAX_FILES} files and {_MAX_COPY_MB} MiB",
                file=str(root),
                hint="move workload.toml and its sources to a folder of their own",
            )
