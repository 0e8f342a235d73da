"""Opens an SQLite file to be read where it stands in a read-only place, or is of an older schema.

Nothing is written there: a copy in a folder for temporary files is upgraded and read instead.
"""

import os
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from sqlalchemy.engine import URL

from warploom.store.errors import StoreError, StoreWriteError


def is_writable(path: Path) -> bool:
    """Return whether a database can be opened where it is: SQLite makes files beside it."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def url_to_read(path: Path) -> URL | None:
    """Return a URL that reads a file in a read-only place; None where only a copy can be read.

    Who reads what a writer has not merged into the file yet (`-wal`) needs the writer's `-shm`.
    """
    log, shared = (path.with_name(f"{path.name}{end}") for end in ("-wal", "-shm"))
    pending = log.exists() and log.stat().st_size > 0
    if pending and not shared.exists():
        return None
    how = {"mode": "ro"} if pending else {"immutable": "1"}
    return URL.create("sqlite", database=f"file:{quote(str(path))}", query={**how, "uri": "true"})


def copied(path: Path) -> tuple[Path, tempfile.TemporaryDirectory[str]]:
    """Return a copy of a database that may be written, and the folder to clean up behind it.

    Raises:
        StoreWriteError: there is no room for it.
        StoreError: the file cannot be read.
    """
    room = tempfile.TemporaryDirectory(prefix="warploom-read-")
    target = Path(room.name) / path.name
    try:
        if is_writable(path):
            with closing(sqlite3.connect(path)) as old, closing(sqlite3.connect(target)) as new:
                old.backup(new)
        else:
            _copy_files(path, target)
    except sqlite3.Error as error:
        room.cleanup()
        raise StoreError(f"cannot be read: {error}", file=str(path)) from None
    except OSError as error:
        room.cleanup()
        raise StoreWriteError(
            f"a copy of the database is needed to read it, and cannot be made: {error.strerror}",
            file=str(path), hint="set TMPDIR to a folder with room",
        ) from None  # fmt: skip
    return target, room


def _copy_files(path: Path, target: Path) -> None:
    for end in ("", "-wal"):
        source = path.with_name(f"{path.name}{end}")
        if not end or source.exists():
            target.with_name(f"{target.name}{end}").write_bytes(source.read_bytes())
