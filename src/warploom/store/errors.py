"""What can be wrong with a store.

StoreError (a BadInputError, exit code 2)
├── StoreVersionError    the database was written by a newer warploom
├── OlderSchemaError     the database was written by an older one, and is not to be changed
├── TakenError           there is such a row already: somebody else was quicker
├── StaleError           another runner recorded something that the decision did not know
├── ClaimLostError       another runner has taken an attempt over
├── StoreWriteError      the disk is full, or the place cannot be written (exit code 3)
└── StoreAwayError       the database's server does not answer (exit code 3)
"""

from collections.abc import Generator
from contextlib import contextmanager
from json import JSONDecodeError

from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError, SQLAlchemyError

from warploom.core.errors import BadInputError


class StoreError(BadInputError):
    """A database cannot be used; the message says why."""


class StoreVersionError(StoreError):
    """A database has a schema that this version of warploom does not know."""


class OlderSchemaError(StoreError):
    """A database of an older schema was opened to be read where it cannot be copied."""


class StoreWriteError(StoreError):
    """A database cannot be written; what was written before is whole."""

    exit_code = 3


class StoreAwayError(StoreError):
    """A database's server does not answer; what was recorded before is whole."""

    exit_code = 3


class TakenError(StoreError):
    """There is such a row already: somebody else was quicker."""


class StaleError(StoreError):
    """Another runner of a shared run recorded something: decide again."""


class ClaimLostError(StoreError):
    """An attempt is another runner's now: this one was thought to be gone."""


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
    ("password authentication failed", StoreError, "the database's server wants another password",
     "name it in ~/.pgpass or PGPASSWORD"),
    ("no password supplied", StoreError, "the database's server wants a password",
     "name it in ~/.pgpass or PGPASSWORD"),
    ("permission denied", StoreError, "the database's user may not do that",
     "give it CREATE on the schema: GRANT CREATE ON SCHEMA public TO user"),
    ("\" does not exist", StoreError, "the server has no such database or user",
     "make it: createdb NAME"),
    ("malformed", StoreError, "the database is corrupted", "restore a backup of the file"),
)  # fmt: skip


@contextmanager
def store_errors(place: str) -> Generator[None]:
    """Turn what the database driver raises in the body into a StoreError that names `place`."""
    try:
        yield
    except SQLAlchemyError as error:
        raise _explained(error, place) from error
    except JSONDecodeError as error:
        raise StoreError(
            f"the database is corrupted: a value in it is no JSON ({error.msg})", file=place,
            hint="restore a backup of the file",
        ) from None  # fmt: skip


def _explained(error: SQLAlchemyError, place: str) -> StoreError:
    if isinstance(error, IntegrityError):
        return TakenError("it is recorded already", file=place)
    cause = error.orig if isinstance(error, DBAPIError) else error
    told = str(cause).strip()
    for words, kind, message, hint in _CAUSES:
        if words in told.lower():
            return kind(message, file=place, hint=hint)
    if isinstance(error, DBAPIError) and is_lost(error):
        return StoreAwayError(
            f"the database's server does not answer: {told.splitlines()[0]}", file=place,
            hint="what was recorded is kept: go on when it is back",
        )  # fmt: skip
    return StoreError(f"the database refused: {told.splitlines()[0]}", file=place)


def is_lost(error: DBAPIError) -> bool:
    """Whether the connection was lost, or two transactions were in each other's way."""
    if error.connection_invalidated:
        return True
    state = str(getattr(error.orig, "sqlstate", None) or "")
    # Of classes 08 (connection), 40 (rolled back for others' sake), 57P (the server ends).
    return state.startswith(("08", "40", "57P")) or (
        isinstance(error, OperationalError) and not state
    )
