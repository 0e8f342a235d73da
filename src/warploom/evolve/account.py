"""How far a run is, and what it came to."""

import time
from collections import Counter

from warploom.core.errors import BadInputError
from warploom.evolve.candidates import NO_PROGRAM, NOT_NOVEL
from warploom.evolve.config import EvolutionConfig
from warploom.evolve.desk import ModelDesk
from warploom.evolve.evaluator import MODELLED
from warploom.evolve.folder import RunFacts, RunFolder
from warploom.evolve.islands import CHAMPION, Housekeeping
from warploom.evolve.judging import Judging
from warploom.evolve.output import write_best, write_report
from warploom.evolve.result import EvolutionResult, ModelUse, Status
from warploom.evolve.search import Search
from warploom.evolve.seeds import Seeds
from warploom.evolve.summaries import SUMMARY
from warploom.store.database import ProgramDatabase
from warploom.store.records import Outcome
from warploom.workload.workload import Workload


class Tally:
    """Sums over what is recorded; each program and event is looked at once."""

    def __init__(self, database: ProgramDatabase) -> None:
        self._database = database
        self._programs = self._events = 0
        self._cost = 0.0
        self._failures: Counter[str] = Counter()

    @property
    def cost(self) -> float:
        """US dollars of attempts and summaries."""
        self._catch_up()
        return self._cost

    @property
    def failures(self) -> Counter[str]:
        """How many attempts failed, by kind."""
        self._catch_up()
        return self._failures

    def _catch_up(self) -> None:
        database = self._database
        for number in database.numbers[self._programs :]:
            one = database.brief(number)
            self._cost += one.cost
            if not one.outcome.correct:
                self._failures[one.outcome.failure or "run"] += 1
        for event in database.events[self._events :]:
            if event.kind == SUMMARY:
                self._cost += _dollars(event.data.get("cost"))
        self._programs, self._events = len(database.numbers), len(database.events)


class Account:
    """Counts what a run has done, in all of its processes."""

    def __init__(
        self,
        config: EvolutionConfig,
        folder: RunFolder,
        facts: RunFacts,
        task: Workload,
        database: ProgramDatabase,
        desk: ModelDesk | None,
        time_source: str,
    ) -> None:
        self._config = config
        self._folder = folder
        self._facts = facts
        self._task = task
        self._database = database
        self._desk = desk
        self._time_source = time_source
        self._started = time.monotonic()
        self._before = database.seconds
        self._tally = Tally(database)

    @property
    def elapsed(self) -> float:
        """Seconds of all processes of the run."""
        return self._before + time.monotonic() - self._started

    @property
    def cost(self) -> float:
        """US dollars that were paid: of attempts, summaries, and questions that came to nothing."""
        kept = self._tally.cost
        return kept if self._desk is None else max(kept, float(self._desk.spent.dollars))

    def failures(self) -> Counter[str]:
        """Return how many attempts failed, by kind."""
        return Counter(self._tally.failures)

    def status(self, search: Search, house: Housekeeping, judging: Judging) -> Status:
        """Return how far the run is; `judging` is that of this process."""
        judged = judging.judged
        database, tried = self._database, search.tried
        budget = self._config.evolution
        champion = house.champion
        here = time.monotonic() - self._started
        left = None if not judged else here / judged * max(0, budget.evaluations - tried)
        if left is not None and budget.max_hours is not None:
            left = min(left, max(0.0, 3600 * budget.max_hours - self.elapsed))
        exploring = search.phase(len(database) + 1) is self._config.phases.explore
        islands = {
            at: (len(one), _standing(database.brief(one.member(0)).outcome) if len(one) else None)
            for at, one in sorted(database.islands.items())
        }
        return Status(
            tried, budget.evaluations, judging.busy, search.generation_of(len(database)),
            "explore" if exploring else "exploit",
            None if champion is None else champion[1].time_ms,
            None if champion is None else champion[1].public.get("baseline_ms"),
            self._time_source, islands, self.failures(), self.elapsed, left, self.cost,
            None if champion is None else champion[1].score, judging.waits,
        )  # fmt: skip

    def result(
        self, search: Search, house: Housekeeping, seeds: Seeds, stopped: str
    ) -> EvolutionResult:
        """Write the outputs and return what the run came to."""
        database = self._database
        if house.champion is None:
            raise BadInputError(
                "no program passes a second judgment, with other inputs",
                file=str(self._folder.path),
                hint=f"see why: warploom inspect {self._folder.path}",
            )
        best = write_best(self._folder.path, search, house, self._task.program.name)
        briefs = [database.brief(number) for number in database.numbers]
        tried = [one for one in briefs if one.lineage.parent is not None]
        times = {
            one.name: database.brief(number).outcome.time_ms
            for number, one in enumerate(seeds.programs, 1)
        }
        modelled = self._time_source == MODELLED
        result = EvolutionResult(
            folder=self._folder.path,
            stopped=stopped,
            best=best,
            time_source=self._time_source,
            topology=self._config.evaluation.topology if modelled else "",
            baseline_ms=best.outcome.public.get("baseline_ms"),
            seed_ms=times,
            evaluations=len(tried),
            correct=sum(one.outcome.correct for one in tried),
            confirmations=sum(event.kind == CHAMPION for event in database.events),
            failures=dict(self.failures()),
            islands=len(database.islands),
            seconds=self.elapsed,
            cost=self.cost,
            seed=self._facts.seed,
            left_out=seeds.left_out,
            scored_region=self._task.scored_region,
            seed_scores={
                one.name: database.brief(number).outcome.score
                for number, one in enumerate(seeds.programs, 1)
            },
            rejected=sum(one.lineage.rejected for one in briefs),
            summaries=sum(event.kind == SUMMARY for event in database.events),
            models=models_used(database),
        )
        database.keep_seconds(result.seconds)
        write_report(result, self._task, self._facts.workload)
        return result


def cost_of(database: ProgramDatabase) -> float:
    """Return US dollars of what the store holds: attempts and summaries."""
    kept = sum(database.brief(number).cost for number in database.numbers)
    return kept + sum(_dollars(e.data.get("cost")) for e in database.events if e.kind == SUMMARY)


def models_used(database: ProgramDatabase) -> dict[str, ModelUse]:
    """Return what each model proposed, and its cost."""
    found: dict[str, ModelUse] = {}
    for number in database.numbers:
        one = database.brief(number)
        model = one.lineage.model
        if not model:
            continue
        use = found.get(model, ModelUse())
        judged = one.outcome.failure not in (NO_PROGRAM, NOT_NOVEL)
        found[model] = ModelUse(
            use.attempts + 1, use.judged + judged, use.correct + one.outcome.correct,
            use.cost + one.cost,
        )  # fmt: skip
    return found


def _standing(outcome: Outcome) -> float | None:
    return outcome.score if outcome.time_ms is None else outcome.time_ms


def _dollars(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
