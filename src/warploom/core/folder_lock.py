"""A run's folder belongs to one process at a time."""

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from warploom.core.errors import BadInputError


@contextmanager
def held_alone(folder: Path, lock: str) -> Generator[None]:
    """Hold a folder, made if absent, for this process alone, by the file `lock` in it.

    Raises:
        BadInputError: another process holds it, or it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise BadInputError(
            f"cannot be written: {error.strerror}", file=str(folder),
            hint="name another folder with --out",
        ) from None  # fmt: skip
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise BadInputError(
                "another process works on this run", file=str(folder),
                hint="wait until it ends, or name another folder with --out",
            ) from None  # fmt: skip
        yield
    finally:
        os.close(handle)
