"""Which files may be part of a program: those below its folders, and no hidden ones.

A program's text can name any file of the user's. What is compiled, quoted in a message or shown to
a model comes from the folders that the user named.
"""

import os
from collections.abc import Iterable
from pathlib import Path


class Roots:
    """Folders whose files a program may include."""

    def __init__(self, folders: Iterable[Path]) -> None:
        self._folders = tuple(dict.fromkeys(Path(os.path.realpath(folder)) for folder in folders))

    def hold(self, path: Path) -> bool:
        """Whether `path` really lies below one of the folders, links followed.

        A folder or file with a leading dot below a root belongs to some tool, not to the program.
        """
        real = Path(os.path.realpath(path))
        for folder in self._folders:
            if real.is_relative_to(folder):
                inner = real.relative_to(folder).parts
                if not any(part.startswith(".") for part in inner):
                    return True
        return False

    def __str__(self) -> str:
        return ", ".join(map(str, self._folders))
