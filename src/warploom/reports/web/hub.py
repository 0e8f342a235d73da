"""The runs that the server shows. Each is opened once, and asked for what is new when needed."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from warploom.core.errors import BadInputError, WarploomError
from warploom.core.ids import digest
from warploom.reports.queries.damage import broken_reports
from warploom.reports.queries.infos import RunInfo
from warploom.reports.queries.opened import OpenRun
from warploom.reports.queries.ordering import Order, ordered
from warploom.reports.queries.runs import RunSource, find_runs
from warploom.reports.queries.staged import StagedSource, find_staged, staged_run

Made = TypeVar("Made")
_MOST_BROKEN = 100
_MOST_ORDERS = 8


class UnknownRunError(WarploomError):
    """No run has this key."""


class Hub:
    """Knows the runs of a place; safe to use from several threads."""

    def __init__(self, path: Path | None, url: str | None) -> None:
        self._path = path
        self._url = url
        self._place = (path or Path()).absolute()
        self._broken: list[tuple[Path, str]] = []
        self._orders: dict[str, tuple[int, dict[Order, list[int]]]] = {}
        self._lock = threading.RLock()
        self._sources: dict[str, RunSource] = {}
        self._staged: dict[str, StagedSource] = {}
        self._open: dict[str, OpenRun] = {}
        self._kept: dict[tuple[str, str], tuple[int, Any]] = {}
        self.find()

    def find(self) -> None:
        """Look for runs again: new ones may have begun.

        Raises:
            BadInputError: there is none.
        """
        staged = [] if self._url is not None else find_staged(self._path)
        try:
            found = find_runs(self._path, self._url)
        except BadInputError:
            if not staged:
                raise
            found = []
        broken = [] if self._url is not None else list(broken_reports(self._place))[:_MOST_BROKEN]
        with self._lock:
            self._broken = broken
            self._sources = {one.key: one for one in found}
            self._staged = {one.key: one for one in staged}

    def infos(self) -> list[RunInfo]:
        """Return all runs, those that cannot be opened with the reason."""
        with self._lock:
            searches = [self._info(source) for source in self._sources.values()]
            staged = [_staged_info(source) for source in self._staged.values()]
            return [*searches, *staged, *(_broken_info(*one) for one in self._broken)]

    def staged(self, key: str) -> StagedSource:
        """Return the folder of a transform or a synthesis.

        Raises:
            UnknownRunError: there is none of this key.
        """
        with self._lock:
            if key not in self._staged:
                raise UnknownRunError(f"no transform or synthesis here has the key {key!r}")
            return self._staged[key]

    def run(self, key: str) -> OpenRun:
        """Return a run, up to date.

        Raises:
            UnknownRunError: there is none of this key.
            StoreError: it cannot be read.
        """
        with self._lock:
            if key not in self._sources:
                raise UnknownRunError(f"no run here has the key {key!r}")
            if key in self._open:
                self._open[key].marks.refresh()
            else:
                self._open[key] = OpenRun.open(self._sources[key])
            return self._open[key]

    def kept(self, key: str, what: str, make: Callable[[OpenRun], Made]) -> Made:
        """Return what `make` makes of a run; made again only where the run has grown."""
        run = self.run(key)
        with self._lock:
            size = len(run.marks.marks) + len(run.marks.events)
            known = self._kept.get((key, what))
            if known is None or known[0] != size:
                known = size, make(run)
                self._kept[key, what] = known
            return known[1]

    def order(self, key: str, wanted: Order) -> list[int]:
        """Return the numbers of the programs of a run in an order; the last few orders are kept."""
        run = self.run(key)
        with self._lock:
            size = len(run.marks.marks)
            known = self._orders.get(key)
            if known is None or known[0] != size or len(known[1]) >= _MOST_ORDERS:
                known = self._orders[key] = size, {}
            if wanted not in known[1]:
                known[1][wanted] = ordered(run.marks.marks, wanted)
            return known[1][wanted]

    def close(self) -> None:
        """Close all databases."""
        with self._lock:
            for run in self._open.values():
                run.engine.dispose()
            self._open.clear()

    def _info(self, source: RunSource) -> RunInfo:
        try:
            run = self.run(source.key)
            best = run.marks.best
        except WarploomError as error:
            return RunInfo(source.key, source.title, source.name, source.place, "unreadable", 0,
                           None, 0.0, error.message)  # fmt: skip
        state = run.folder.state if source.folder else "stopped"
        return RunInfo(
            source.key, source.title, source.name, source.place, state, len(run.marks.marks),
            None if best is None else best.score, run.marks.created, "",
        )  # fmt: skip


def _staged_info(source: StagedSource) -> RunInfo:
    run = staged_run(source)
    attempts = len(run.attempts) or sum(one.attempts for one in run.stages)
    state = "verified" if run.verified else "unfinished" if run.unfinished else "not verified"
    begun = (source.folder / "report.json").stat().st_mtime
    return RunInfo(source.key, run.title, run.facts.get("run", run.title), run.place, state,
                   attempts, None, begun, "", source.kind)  # fmt: skip


def _broken_info(path: Path, told: str) -> RunInfo:
    folder = path.parent
    return RunInfo(f"broken-{digest((str(folder),))[:10]}", folder.name, folder.name, str(path),
                   "unreadable", 0, None, path.stat().st_mtime, told, "")  # fmt: skip
