"""One run opened to be read: its marks, programs, and what its folder says."""

from dataclasses import dataclass
from types import TracebackType
from typing import Self

from sqlalchemy import Engine

from warploom.reports.queries.marks import RunMarks, champion_number
from warploom.reports.queries.programs import ProgramQueries
from warploom.reports.queries.runs import FolderFacts, RunSource, folder_facts, open_run
from warploom.store.errors import StoreError


@dataclass(slots=True)
class OpenRun:
    """A run that can be asked for everything; `refresh` reads what is new."""

    source: RunSource
    engine: Engine
    marks: RunMarks

    @classmethod
    def open(cls, source: RunSource) -> Self:
        """Open a run and read its marks.

        Raises:
            StoreError: its database cannot be read, or has no such run and none is beginning.
        """
        engine = open_run(source)
        marks = RunMarks(engine, source.name, source.place)
        try:
            marks.refresh()
            if not marks.run_id and not folder_facts(source).running:
                raise StoreError(
                    f"the database has no run {source.name}", file=source.place,
                    hint="it may have been replaced: restore a backup of the file",
                )  # fmt: skip
        except BaseException:
            engine.dispose()
            raise
        return cls(source, engine, marks)

    @property
    def programs(self) -> ProgramQueries:
        """What its programs can be asked."""
        return ProgramQueries(self.engine, self.marks.run_id, self.source.place)

    @property
    def folder(self) -> FolderFacts:
        """What its folder says now."""
        return folder_facts(self.source)

    @property
    def leader(self) -> int | None:
        """The champion, or else the best program so far."""
        champion, best = champion_number(self.marks.events), self.marks.best
        return champion if champion is not None else None if best is None else best.number

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.engine.dispose()
