"""Opens a database: makes it, upgrades it, or says why it cannot be used."""

import os
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import Engine, create_engine, event, inspect, text
from sqlalchemy.engine import URL, Connection, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError, NoSuchModuleError
from sqlalchemy.pool import NullPool

from warploom.core.errors import MissingToolError
from warploom.store.errors import (
    OlderSchemaError,
    StoreError,
    StoreVersionError,
    StoreWriteError,
    store_errors,
)
from warploom.store.reading import copied, is_writable, url_to_read

SCHEMA_VERSION = 2
"""The newest migration in `migrations/versions`."""

_SUCH = "such as sqlite:///run/programs.db or postgresql://user@host/name"
_BUSY_SECONDS = 5.0
_MAPPED_BYTES = 1 << 31
_CONNECT_SECONDS = 10
_UPGRADE_LOCK = 0x77617270  # of PostgreSQL's advisory locks: whoever upgrades, does so alone


def open_engine(url: str, *, read_only: bool = False) -> Engine:
    """Return an engine for `url` whose schema is `SCHEMA_VERSION`; makes or upgrades the tables.

    With `read_only` nothing is made, upgraded or written: of a file of an older schema a copy is
    upgraded and read. Each connection ends with its use: no file of SQLite's stays beside it.

    Raises:
        StoreError: the URL is wrong, the file is corrupted or no database of ours, or it is of a
            newer warploom.
        StoreWriteError: it cannot be made or written.
        MissingToolError: the URL needs a driver that is not installed.
    """
    parsed = _parse(url)
    place = parsed.database or url if _is_sqlite(parsed) else parsed.render_as_string()
    if _is_sqlite(parsed):
        _require_place(parsed, read_only=read_only)
    if read_only and _is_sqlite(parsed) and _is_file(parsed):
        return _open_to_read(parsed)
    return _opened(_engine(parsed), place, read_only=read_only)


def _opened(engine: Engine, place: str, *, read_only: bool) -> Engine:
    try:
        with store_errors(place):
            _bring_up_to_date(engine, place, read_only=read_only)
    except BaseException:
        engine.dispose()
        raise
    return engine


def _is_file(url: URL) -> bool:
    return bool(url.database) and url.database != ":memory:"


def _open_to_read(url: URL) -> Engine:
    """Return an engine on a file as it is, or on a copy where it cannot be read as it is."""
    path = Path(str(url.database))
    there = url if is_writable(path) else url_to_read(path)
    if there is not None:
        engine = _engine(there, as_it_is=True)
        try:
            return _opened(engine, str(path), read_only=True)
        except OlderSchemaError:
            pass  # of a copy it can be brought up to date
    target, room = copied(path)
    engine = _engine(URL.create("sqlite", database=str(target)))

    def clean_up(_: Engine) -> None:
        room.cleanup()

    event.listen(engine, "engine_disposed", clean_up)
    return _opened(engine, str(path), read_only=False)


def _parse(url: str) -> URL:
    try:
        found = make_url(url)
    except ArgumentError:
        raise StoreError(
            f"database.url must be an SQLAlchemy URL, got {url!r}", hint=_SUCH
        ) from None
    kind = found.get_backend_name()
    if kind in ("postgresql", "postgres"):
        return found.set(drivername="postgresql+psycopg")
    if kind != "sqlite":
        raise StoreError(
            f"database.url must be of SQLite or PostgreSQL, got one of {kind}", hint=_SUCH
        )
    return found


def _is_sqlite(url: URL) -> bool:
    return url.get_backend_name() == "sqlite"


def _require_place(url: URL, *, read_only: bool) -> None:
    """Raise where the file of an SQLite database cannot be what it must be."""
    if not url.database or url.database == ":memory:":
        return
    path = Path(url.database)
    if path.is_dir():
        raise StoreError("must be a file, but is a folder", file=str(path))
    if path.exists():
        if not os.access(path, os.R_OK if read_only else os.R_OK | os.W_OK):
            raise StoreWriteError("cannot be read and written", file=str(path))
    elif read_only:
        raise StoreError("there is no database", file=str(path))
    if not read_only and not os.access(path.parent, os.W_OK):
        why = "cannot be written" if path.parent.is_dir() else "does not exist"
        raise StoreWriteError(f"the folder of the database {why}", file=str(path.parent))


def _engine(url: URL, *, as_it_is: bool = False) -> Engine:
    try:
        engine = create_engine(
            url,
            connect_args=_connecting(url),
            pool_pre_ping=not _is_sqlite(url),
            # Whoever closes a file last takes SQLite's -wal and -shm away: a reader that is killed
            # in between, or outlives the writer, would leave them.
            poolclass=NullPool if as_it_is else None,
        )
    except NoSuchModuleError as error:
        raise StoreError(f"the database of {url.render_as_string()!r} is not known") from error
    except ModuleNotFoundError as error:
        raise MissingToolError(
            f"the database driver {error.name} is needed for {url.render_as_string()!r}",
            hint="install it: pip install 'warploom[postgres]'",
        ) from None
    if _is_sqlite(url):
        event.listen(engine, "connect", _set_up_reading if as_it_is else _set_up_sqlite)
    return engine


def _connecting(url: URL) -> dict[str, Any]:
    if _is_sqlite(url):
        return {"timeout": _BUSY_SECONDS}
    if url.get_backend_name() == "postgresql":  # a network that fails is noticed in a minute
        return {"connect_timeout": _CONNECT_SECONDS, "keepalives_idle": 20,
                "keepalives_interval": 10, "keepalives_count": 4,
                "client_encoding": "utf8"}  # fmt: skip
    return {}


def _set_up_sqlite(connection: DBAPIConnection, _: object) -> None:
    """Readers never wait for the writer (WAL), and a commit survives the end of the process."""
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.close()
    _set_up_reading(connection, _)


def _set_up_reading(connection: DBAPIConnection, _: object) -> None:
    cursor = connection.cursor()
    # Programs of any age are drawn: pages come from the system's cache, with no call for each.
    cursor.execute(f"PRAGMA mmap_size={_MAPPED_BYTES}")
    cursor.close()


def _bring_up_to_date(engine: Engine, place: str, *, read_only: bool) -> None:
    with engine.connect() as connection:
        version = _version(connection, place)
        if version > SCHEMA_VERSION:
            raise StoreVersionError(
                f"the database has schema {version}, and this warploom knows up to "
                f"{SCHEMA_VERSION}",
                file=place,
                hint="upgrade it: pip install --upgrade warploom",
            )
        if version < SCHEMA_VERSION and read_only:
            raise OlderSchemaError(
                f"the database has schema {version}, and {SCHEMA_VERSION} is needed",
                file=place,
                hint="it is upgraded when its run is resumed",
            )
        if version < SCHEMA_VERSION:
            if engine.dialect.name == "postgresql":
                connection.execute(text(f"SELECT pg_advisory_xact_lock({_UPGRADE_LOCK})"))
            if _version(connection, place) < SCHEMA_VERSION:
                _upgrade(connection)
            connection.commit()


def _version(connection: Connection, place: str) -> int:
    """Return the schema's version, 0 for an empty database."""
    tables = inspect(connection).get_table_names()
    if "alembic_version" not in tables:
        if tables:
            raise StoreError(
                f"is a database of something else: it has the tables {', '.join(tables[:5])}",
                file=place,
            )
        return 0
    found = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return int(found) if found and str(found).isdecimal() else 0


def _upgrade(connection: Connection) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
