"""The runs that the server shows. Each is opened once, and asked for what is new when needed."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from warploom.core.errors import BadInputError, WarploomError
from warploom.reports.queries.infos import RunInfo
from warploom.reports.queries.opened import OpenRun
from warploom.reports.queries.runs import RunSource, find_runs
from warploom.reports.queries.staged import StagedSource, find_staged, staged_run

Made = TypeVar("Made")


class UnknownRunError(WarploomError):
    """No run has this key."""


class Hub:
    """Knows the runs of a place; safe to use from several threads."""

    def __init__(self, path: Path | None, url: str | None) -> None:
        self._path = path
        self._url = url
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
        with self._lock:
            self._sources = {one.key: one for one in found}
            self._staged = {one.key: one for one in staged}

    def infos(self) -> list[RunInfo]:
        """Return all runs, those that cannot be opened with the reason."""
        with self._lock:
            searches = [self._info(source) for source in self._sources.values()]
            return [*searches, *(_staged_info(source) for source in self._staged.values())]

    def staged(self, key: str) -> StagedSource:
        """Return the folder of a transform or a synthesis.

        Raises:
            UnknownRunError: there is none of this key.
        """
        with self._lock:
            if key not in self._staged:
                raise UnknownRunError(f"there is no transform or synthesis {key}")
            return self._staged[key]

    def run(self, key: str) -> OpenRun:
        """Return a run, up to date.

        Raises:
            UnknownRunError: there is none of this key.
            StoreError: it cannot be read.
        """
        with self._lock:
            if key not in self._sources:
                raise UnknownRunError(f"there is no run {key}")
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

    def close(self) -> None:
        """Close all databases."""
        with self._lock:
            for run in self._open.values():
                run.engine.dispose()
            self._open.clear()

    def _info(self, source: RunSource) -> RunInfo:
        try:
            run = self.run(source.key)
        except WarploomError as error:
            return RunInfo(source.key, source.title, source.name, source.place, "unreadable", 0,
                           None, 0.0, error.message)  # fmt: skip
        best = run.marks.best
        state = run.folder.state if source.folder else "stopped"
        return RunInfo(
            source.key, source.title, source.name, source.place, state, len(run.marks.marks),
            None if best is None else best.score, run.marks.created, "",
        )  # fmt: skip


def _staged_info(source: StagedSource) -> RunInfo:
    run = staged_run(source)
    attempts = len(run.attempts) or sum(one.attempts for one in run.stages)
    state = "verified" if run.verified else "not verified"
    begun = (source.folder / "report.json").stat().st_mtime
    return RunInfo(source.key, run.title, run.facts.get("run", run.title), run.place, state,
                   attempts, None, begun, "", source.kind)  # fmt: skip
