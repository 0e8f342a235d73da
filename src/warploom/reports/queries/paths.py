"""Which folder the paths in a report are relative to: GitHub and editors want the repository's."""

import os
from pathlib import Path


def source_root(program: Path) -> Path:
    """Return the folder of the repository that a program lies in.

    Outside of any it is the working folder where the program lies below that, else its own.
    """
    place = Path(os.path.normpath(program.absolute()))
    for folder in place.parents:
        if (folder / ".git").exists():  # a file in worktrees and submodules
            return folder
    here = Path.cwd()
    return here if here in place.parents else place.parent


def relative(file: str, root: Path) -> str:
    """Return a path relative to `root`, with slashes, where it lies below it."""
    path = Path(os.path.normpath(Path(file).absolute()))
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()
