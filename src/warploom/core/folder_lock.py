"""A run's folder belongs to one process at a time."""

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from warploom.core.errors import BadInputError

LOCK = ".lock"
"""The file in a run's folder that says whose it is."""


@contextmanager
def held_alone(folder: Path) -> Generator[None]:
    """Hold a folder, made if absent, for this process alone.

    Raises:
        BadInputError: another process holds it, or it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
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


def taken(folder: Path) -> BadInputError:
    """Return what to say of a folder that a new run must not overwrite."""
    return BadInputError(
        "holds a run already", file=str(folder),
        hint="go on with it: --resume; or name another folder: --out DIR",
    )  # fmt: skip
