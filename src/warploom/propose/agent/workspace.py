"""The copy of a workload that an agent may change at will; only the program comes back."""

import os
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path

from warploom.core.errors import BadInputError
from warploom.workload.workload import Workload

_MAX_PROGRAM_MB = 4
_MAX_COPY_MB = 64
_MAX_FILES = 2000
_LEFT_OUT = ("__pycache__", "node_modules")
_RUN = "run.json"  # what the folder of a run holds, and that of a search
_KEYS = ".env*"


class AgentLeftNothingError(BadInputError):
    """What the agent left is no program: it is gone, no plain file, too large or not text."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """A folder with the workload's files; `program` is the file that the agent is to change.

    `keys` are files beside the user's own ones that may hold keys: no agent needs to read them.
    """

    folder: Path
    program: Path
    original: str
    keys: tuple[Path, ...] = ()

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

    The whole folder of a workload file is copied, without hidden files (which may hold keys) and
    without the folders of runs; of a bare program only its own and the headers beside it.

    Raises:
        BadInputError: the workload's folder is too large to copy.
    """
    root, program = workload.root, own_file(workload)
    if program.is_relative_to(root) and (root / "workload.toml").is_file():
        folder.mkdir(parents=True, exist_ok=True)
        for path in _files(root, folder):
            at = folder / path.relative_to(root)
            at.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, at, follow_symlinks=False)
        copy = folder / program.relative_to(root)
    else:
        folder.mkdir(parents=True, exist_ok=True)
        for header in sorted(program.parent.glob("*.h")) + sorted(program.parent.glob("*.cuh")):
            shutil.copy2(header, folder / header.name)
        copy = folder / program.name
    copy.unlink(missing_ok=True)
    copy.write_bytes(text.encode("utf-8", "surrogateescape"))
    return Workspace(folder, copy, text, _keys_near(program, root))


def _keys_near(program: Path, root: Path) -> tuple[Path, ...]:
    """Return the files that may hold keys, in the workload's folder and in those above it."""
    near = [root, program.parent, *root.parents]
    found = [path for folder in near for path in folder.glob(_KEYS)]
    found += root.glob(f"*/{_KEYS}")
    return tuple(dict.fromkeys(path.resolve() for path in found if path.is_file()))


def own_file(workload: Workload) -> Path:
    """Return the user's file, where the workload's program is a copy of it elsewhere."""
    name = workload.program.name
    places = (workload.program, *(folder / name for folder in reversed(workload.include_dirs)))
    return next((p for p in places if p.is_relative_to(workload.root) and p.is_file()), places[0])


def _files(root: Path, into: Path) -> list[Path]:
    """Return what of a workload's folder is copied.

    Raises:
        BadInputError: it is too much to copy.
    """
    found: list[Path] = []
    size = 0
    for directory, folders, names in os.walk(root):
        here = Path(directory)
        folders[:] = [name for name in folders if _is_part(here / name, into)]
        links = [name for name in folders if (here / name).is_symlink()]
        for path in (here / name for name in (*names, *links) if not name.startswith(".")):
            found.append(path)
            size += path.lstat().st_size
            if len(found) > _MAX_FILES or size > _MAX_COPY_MB << 20:
                raise BadInputError(
                    f"an agent works on a copy of the workload's folder, which must hold at most "
                    f"{_MAX_FILES} files and {_MAX_COPY_MB} MiB",
                    file=str(root),
                    hint="move workload.toml and its sources to a folder of their own",
                )
    return found


def _is_part(folder: Path, into: Path) -> bool:
    """Whether a folder belongs to a workload: no hidden one, and no run's, ours least of all."""
    hidden = folder.name.startswith(".") or folder.name in _LEFT_OUT
    around = into.resolve().is_relative_to(folder.resolve())
    return not (hidden or around or (folder / _RUN).exists())
