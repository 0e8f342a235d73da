"""Finds runs: in a folder, below it, or in a database."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from sqlalchemy import Engine, select
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from warploom.core.errors import BadInputError
from warploom.core.ids import digest
from warploom.core.records import Json
from warploom.reports.queries.clean import cleaned
from warploom.reports.queries.damage import broken_reports
from warploom.store.database import sqlite_url
from warploom.store.errors import store_errors
from warploom.store.opening import open_engine
from warploom.store.schema import RUNS

_ENDINGS = (".db", ".sqlite", ".sqlite3")
_MOST_RUNS = 500


@dataclass(frozen=True, slots=True)
class RunSource:
    """Where a run is kept. `folder` is None where only its database is known."""

    name: str
    url: str
    folder: Path | None = None

    @property
    def key(self) -> str:
        """A short word for it in addresses; the same each time."""
        return digest((self.url, self.name))[:10]

    @property
    def place(self) -> str:
        """What messages call it; without a password."""
        if self.folder is not None:
            return str(self.folder)
        return make_url(self.url).render_as_string(hide_password=True)

    @property
    def settings(self) -> dict[str, Any]:
        """The run's configuration; empty where there is none that can be read."""
        return {} if self.folder is None else _settings_in(self.folder)

    @property
    def title(self) -> str:
        """What people call it: its folder's name, or its own."""
        return self.name if self.folder is None else self.folder.name


@dataclass(frozen=True, slots=True)
class FolderFacts:
    """What a run's folder says of it besides the store. Each is empty where there is none."""

    run: dict[str, Json] = field(default_factory=dict[str, Json])
    report: dict[str, Json] = field(default_factory=dict[str, Json])
    running: bool = False

    @property
    def state(self) -> str:
        """One of "running", "finished" and "stopped"."""
        return "running" if self.running else "finished" if self.report else "stopped"


def find_runs(path: Path | None, url: str | None = None) -> list[RunSource]:
    """Return the runs of a folder, a database file or a database URL.

    Raises:
        BadInputError: there is none, or the place cannot be read.
    """
    if url is not None:
        return _of_database(url)
    place = (path or Path()).absolute()
    if place.is_file() and place.suffix in _ENDINGS:
        return _of_database(sqlite_url(place))
    if not place.is_dir():
        what = "is no database file" if place.exists() else "does not exist"
        raise BadInputError(
            f"must be the folder of a run or a .db file, but {what}", file=str(place)
        )
    found = [place] if (place / "run.json").is_file() else _below(place)
    if not found and (place / "programs.db").is_file():
        return _of_database(sqlite_url(place / "programs.db"))
    for path, told in () if found else broken_reports(place):
        raise BadInputError(
            told, file=str(path),
            hint="restore it, or make the run again into a new folder (--out DIR)",
        )  # fmt: skip
    if not found:
        raise BadInputError(
            "holds no run: neither it nor a folder in it has a run.json", file=str(place),
            hint="make one: warploom evolve WORKLOAD --out DIR",
        )  # fmt: skip
    if len(found) == 1:
        return [_of_folder(found[0])]
    return [_of_one_among(one) for one in found]


def one_run(path: Path) -> RunSource:
    """Return the only run of a place.

    Raises:
        BadInputError: there is none, or there are several.
    """
    found = find_runs(path)
    if len(found) > 1:
        raise BadInputError(
            f"must name one run, but holds {len(found)}: "
            f"{', '.join(one.title for one in found[:5])}",
            file=str(path),
        )
    return found[0]


def open_run(source: RunSource) -> Engine:
    """Return an engine that reads a run's database.

    Raises:
        StoreError: it cannot be read, is broken, or is of a newer warploom.
    """
    return open_engine(source.url, read_only=True)


def folder_facts(source: RunSource) -> FolderFacts:
    """Return what the folder of a run says; a file that cannot be read counts as missing."""
    if source.folder is None:
        return FolderFacts()
    return FolderFacts(
        read_object(source.folder / "run.json"),
        read_object(source.folder / "report.json"),
        _is_locked(source.folder / ".lock"),
    )


def read_object(path: Path) -> dict[str, Json]:
    """Return a JSON object of a file; empty where it is none (half-written, gone, damaged)."""
    try:
        data: Any = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return cleaned(cast("dict[str, Json]", data)) if isinstance(data, dict) else {}


def _below(place: Path) -> list[Path]:
    """Return folders of runs in a folder, and one level below that, the newest first."""
    found = [*place.glob("*/run.json"), *place.glob("*/*/run.json")]
    newest = sorted(found, key=lambda one: one.stat().st_mtime, reverse=True)
    return [one.parent for one in newest[:_MOST_RUNS]]


def _of_one_among(folder: Path) -> RunSource:
    """Return the run of a folder; where it is damaged, one that will be found to be unreadable."""
    try:
        return _of_folder(folder)
    except BadInputError:
        return RunSource(folder.name, sqlite_url(folder / "programs.db"), folder)


def _of_folder(folder: Path) -> RunSource:
    name = read_object(folder / "run.json").get("id")
    if not isinstance(name, str):
        raise BadInputError("is damaged: it names no run", file=str(folder / "run.json"))
    kept = _database_in(folder)
    url = kept.get("url") or sqlite_url(folder / "programs.db")
    return RunSource(kept.get("run") or name, url, folder)


def _database_in(folder: Path) -> dict[str, str]:
    """Return what a configuration says of its `database`: `url`, and `run` if it is shared."""
    kept = _settings_in(folder).get("database")
    items = cast("dict[str, Any]", kept).items() if isinstance(kept, dict) else ()
    return {name: value for name, value in items if isinstance(value, str)}


def _settings_in(folder: Path) -> dict[str, Any]:
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException
    from yaml import YAMLError

    try:
        data: Any = OmegaConf.to_container(OmegaConf.load(folder / "config.yaml"))
    except (OSError, YAMLError, OmegaConfBaseException):
        return {}
    return cast("dict[str, Any]", data) if isinstance(data, dict) else {}


def _of_database(url: str) -> list[RunSource]:
    engine = open_engine(url, read_only=True)
    try:
        with store_errors(url), engine.connect() as connection:
            names = connection.execute(select(RUNS.c.name).order_by(RUNS.c.id.desc())).scalars()
            found = [RunSource(name, url, _folder_of(url, name)) for name in names]
    finally:
        engine.dispose()
    if not found:
        raise BadInputError("the database holds no run", file=RunSource("", url).place)
    return found


def _folder_of(url: str, name: str) -> Path | None:
    """Return the folder beside an SQLite file, where it is the run's own."""
    try:
        parsed = make_url(url)
    except ArgumentError:
        return None
    if parsed.get_backend_name() != "sqlite" or not parsed.database:
        return None
    folder = Path(parsed.database).parent
    return folder if read_object(folder / "run.json").get("id") == name else None


def _is_locked(path: Path) -> bool:
    """Return whether a process holds the lock of a run's folder, without touching the lock.

    Taking it, for however short a time, could turn away a run that is about to start.
    """
    try:
        ours = path.stat().st_ino
        lines = Path("/proc/locks").read_text(encoding="ascii").splitlines()
    except OSError:
        return False
    for line in lines:
        parts = line.split()
        if "FLOCK" in parts and any(part.endswith(f":{ours}") for part in parts):
            return True
    return False
