"""What can be wrong with a store.

StoreError (a BadInputError, exit code 2)
├── StoreVersionError    the database was written by a newer warploom
└── StoreWriteError      the disk is full, or the place cannot be written (exit code 3)
"""

from collections.abc import Generator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from warploom.core.errors import BadInputError


class StoreError(BadInputError):
    """A database cannot be used; the message says why."""


class StoreVersionError(StoreError):
    """A database has a schema that this version of warploom does not know."""


class StoreWriteError(StoreError):
    """A database cannot be written; what was written before is whole."""

    exit_code = 3


_CAUSES = (
    ("disk is full", StoreWriteError, "the disk is full", "free some space, then go on"),
    ("disk i/o error", StoreWriteError, "the disk cannot be read or written", "look at the disk"),
    ("readonly database", StoreWriteError, "the database cannot be written",
     "its file and folder need write permission"),
    ("unable to open database", StoreWriteError, "the database cannot be opened or made",
     "its folder must exist and be writable"),
    ("database is locked", StoreError, "another process is writing to the database",
     "wait for that process, or end it"),
    ("not a database", StoreError, "is no warploom database: the file holds something else",
     "name another file; a backup may help"),
    ("malformed", StoreError, "the database is corrupted", "restore a backup of the file"),
)  # fmt: skip


@contextmanager
def store_errors(place: str) -> Generator[None]:
    """Turn what the database driver raises in the body into a StoreError that names `place`."""
    try:
        yield
    except SQLAlchemyError as error:
        raise _explained(error, place) from error


def _explained(error: SQLAlchemyError, place: str) -> StoreError:
    cause = error.orig if isinstance(error, DBAPIError) else error
    told = str(cause).strip()
    for words, kind, message, hint in _CAUSES:
        if words in told.lower():
            return kind(message, file=place, hint=hint)
    return StoreError(f"the database refused: {told.splitlines()[0]}", file=place)
