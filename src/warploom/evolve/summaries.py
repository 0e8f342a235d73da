"""Sums the search up each few generations: by a model where there is one, else by counting."""

from typing import Any

from pydantic import TypeAdapter

from warploom.core.records import Json
from warploom.evolve.config import EvolutionConfig
from warploom.evolve.desk import ModelDesk, Said
from warploom.evolve.showing import shown_of
from warploom.llm.errors import LLMBudgetError
from warploom.propose.llm.summary import MetaSummarizer, MetaSummary
from warploom.propose.llm.unusable import UNUSABLE
from warploom.store.database import ProgramDatabase
from warploom.store.records import Event

SUMMARY = "summary"
_KEY = 0  # of the question: attempts count from 1
_MOST = 60  # latest programs that a summary is about


def latest_summary(database: ProgramDatabase) -> MetaSummary | None:
    """Return the newest summary that the store holds."""
    found = [event for event in database.events if event.kind == SUMMARY]
    if not found:
        return None
    data: Any = {name: found[-1].data[name]
                 for name in ("summary", "scratchpad", "recommendations")}  # fmt: skip
    return TypeAdapter(MetaSummary).validate_python(data)


def latest_advice(database: ProgramDatabase) -> str:
    """Return what the newest summary says to those who go on, "" without one."""
    found = latest_summary(database)
    return "" if found is None else found.advice


class Summaries:
    """Says when the search is to be summed up, asks, and records what was said."""

    def __init__(
        self,
        config: EvolutionConfig,
        database: ProgramDatabase,
        desk: ModelDesk | None,
        summarizer: MetaSummarizer,
    ) -> None:
        self._config = config
        self._database = database
        self._desk = desk if config.summary.model else None
        self._summarizer = summarizer
        self.asking = False
        self._about: list[int] = []

    def begin(self, tried: int) -> None:
        """Sum up where it is due after `tried` attempts: at once, or by a question to a model."""
        if self.asking or not self._is_due(tried):
            return
        self._about = list(self._database.numbers[self._upto() :])[-_MOST:]
        if self._desk is None:
            self._digest(0.0)
            return
        model = self._config.models.judging
        key = f"summary-{self._done() + 1:03d}"
        shown = [shown_of(self._database, number) for number in self._about]
        before = latest_summary(self._database)
        self._desk.ask(_KEY, self._summarizer.request(shown, before, key, model), beside=True)
        self.asking = True

    def finish(self) -> bool:
        """Record what a model said, if it is there; returns whether it was.

        Raises:
            LLMError: the model could not be asked.
        """
        said = self._desk.take(_KEY) if self._desk is not None and self.asking else None
        if said is None:
            return False
        self.asking = False
        self._take(said)
        return True

    def _take(self, said: Said) -> None:
        if said.reply is not None:
            found = self._summarizer.read(said.reply)
            self._record(found, said.reply.model, said.cost)
        elif isinstance(said.error, (*UNUSABLE, LLMBudgetError)):
            self._digest(said.cost)
        else:
            assert said.error is not None
            raise said.error

    def _digest(self, cost: float) -> None:
        shown = [shown_of(self._database, number) for number in self._about]
        found = self._summarizer.digest(shown, latest_summary(self._database))
        self._record(found, "", cost)

    def _record(self, found: MetaSummary, model: str, cost: float) -> None:
        ideas: list[Json] = list(found.recommendations)
        last = self._about[-1] if self._about else 0
        numbers = self._database.numbers
        data: dict[str, Json] = {
            "upto": numbers.index(last) + 1 if last in numbers else len(numbers),
            "summary": found.summary, "scratchpad": found.scratchpad, "recommendations": ideas,
            "model": model, "cost": cost,
        }  # fmt: skip
        self._database.record(Event(SUMMARY, len(self._database), data))

    def _is_due(self, tried: int) -> bool:
        span = self._config.summary.interval * self._config.evolution.generation_size
        return bool(span) and self._done() < tried // span

    def _done(self) -> int:
        return sum(1 for event in self._database.events if event.kind == SUMMARY)

    def _upto(self) -> int:
        found = [event.data["upto"] for event in self._database.events if event.kind == SUMMARY]
        upto = found[-1] if found else 0
        return upto if isinstance(upto, int) else 0
