"""One process's part of a run: judges seeds, then goes round until there is a reason to stop."""

import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from warploom.core.errors import BadInputError
from warploom.evolve.account import Account
from warploom.evolve.bandit import ModelBandit
from warploom.evolve.candidates import Candidate, Plan
from warploom.evolve.drafts import Drafts
from warploom.evolve.evaluator import (
    describe_failures,
    failed,
)
from warploom.evolve.folder import RunFacts, RunFolder
from warploom.evolve.islands import Housekeeping
from warploom.evolve.judge import NoSteps
from warploom.evolve.judging import Judging, default_workers, engine_for
from warploom.evolve.output import write_best
from warploom.evolve.parts import Parts
from warploom.evolve.planning import Planner
from warploom.evolve.result import EvolutionResult
from warploom.evolve.search import Search
from warploom.evolve.seeds import (
    Seeds,
    keep_seeds,
    kept_seeds,
    require_seeds,
)
from warploom.evolve.space import Mutations, Space, require_steps
from warploom.evolve.steps import (
    Used,
    evaluator_for,
    judged_program,
    reason_to_stop,
    rejections_of,
)
from warploom.evolve.summaries import Summaries
from warploom.evolve.task import reader_for, search_facts
from warploom.llm.choice import AsymmetricUCB
from warploom.propose.llm.sampler import PromptSampler
from warploom.propose.llm.summary import MetaSummarizer
from warploom.store.database import ProgramDatabase
from warploom.store.errors import ClaimLostError, StaleError
from warploom.store.records import Lineage, Outcome
from warploom.workload.workload import Workload

_LOOK = 0.02  # seconds between looks at models' replies while programs are judged
_QUEUE = 5.0  # seconds between looks at whether a cluster has begun anything
_OTHERS = 0.5  # seconds between looks at what other runners have recorded
T = TypeVar("T")


class Run:
    """One process's part of a run."""

    def __init__(
        self,
        parts: Parts,
        folder: RunFolder,
        facts: RunFacts,
        task: Workload,
        database: ProgramDatabase,
    ) -> None:
        self.parts, self.config, self.team = parts, parts.config, parts.team
        self.folder, self.facts, self.task, self.database = folder, facts, task, database
        jobs = self.config.jobs
        workers = self.config.evolution.workers or default_workers(facts.given, jobs)
        evaluator = parts.evaluator or evaluator_for(task, self.config, workers)
        self.time_source = evaluator.time_source
        engine = parts.engine or engine_for(jobs, workers, folder)
        self.judging = Judging(
            evaluator, engine, jobs, folder, facts, task.program.name,
            lambda: not database.top(1),
        )  # fmt: skip
        self.account = Account(
            self.config, folder, facts, task, database, parts.desk, self.time_source
        )
        models = self.config.models
        self.capacity = self.judging.slots + (0 if parts.desk is None else models.concurrency)
        self.under_way: dict[int, Candidate | Plan] = {}
        self.ready: dict[int, Outcome] = {}
        self.confirming: int | None = None
        self.recovered: dict[int, Candidate | Plan] = {}
        self.stopped = ""
        self._told = 0.0

    def go(self) -> EvolutionResult:
        """Run to the end."""
        seeds = self._seeds()
        space = self.parts.space or (NoSteps() if self.task.judge else Mutations())
        if self.parts.desk is None:
            require_steps(space, {one.name: one.text for one in seeds.programs})
        self._prepare(seeds, space)
        self._recover()
        self._judge_seeds(seeds, space)
        self._decide(self.house.run)
        self._loop()
        return self.account.result(self.search, self.house, seeds, self.stopped)

    def close(self) -> None:
        """End all work at once."""
        self.judging.close()

    def _prepare(self, seeds: Seeds, space: Space) -> None:
        """Make the parts that look for what is next."""
        config, database, desk = self.config, self.database, self.parts.desk
        apis = {at: one.api for at, one in enumerate(seeds.programs, 1)}
        planner = None
        if desk is not None:
            sampler = PromptSampler(search_facts(self.task, config, self.time_source))
            models = config.models
            choice = AsymmetricUCB(models.exploration, models.cost_weight)
            planner = Planner(config, database, sampler, ModelBandit(models.names, choice))
        self.search = Search(
            config, database, space, self.facts.seed, apis,
            planner=planner, ordered=self.facts.given,
        )  # fmt: skip
        self.house = Housekeeping(self.search)
        self.summaries = Summaries(config, database, desk, MetaSummarizer())
        self.drafts = None if desk is None else Drafts(
            config, desk, self.search.novelty, reader_for(self.task), self.search.text_of,
            ordered=self.facts.given,
        )  # fmt: skip

    def _recover(self) -> None:
        """Find what an earlier process of this runner had begun, and did not record."""
        for candidate in self.folder.kept():
            if candidate.number in self.database.numbers:
                self.folder.drop(candidate.number)
            elif not self.team.shared:  # else it may be another runner's by now
                self.recovered[candidate.number] = candidate
        for work in self.team.mine():
            if isinstance(work, Candidate):
                self.recovered[work.number] = work
            else:
                self._confirm(work)

    def _decide(self, step: Callable[[], T]) -> T:
        """Do a step that follows from all that is recorded: anew, where others were quicker."""
        while True:
            try:
                return step()
            except StaleError:
                self.team.catch_up(self.search)

    # --- seeds ---

    def _seeds(self) -> Seeds:
        found = self.team.seeds(self._own_seeds)
        keep_seeds(self.folder.path, found)
        return found

    def _own_seeds(self) -> Seeds:
        kept = kept_seeds(self.folder.path)
        if kept is None:
            kept = self.parts.seeds(self.task, self.config.apis, self.parts.on_progress)
            require_seeds(kept, self.task)
        return kept

    def _judge_seeds(self, seeds: Seeds, space: Space) -> None:
        """Judge the seeds that are not in the store; each has an island of its own."""
        islands = self.config.database.num_islands or len(seeds.programs)
        for number, one in enumerate(seeds.programs, 1):
            if number in self.database.numbers or number in self.under_way:
                continue
            lineage = Lineage(
                island=(number - 1) % islands, changes=(one.name,),
                directives=dict(space.directives(one.text)),
            )  # fmt: skip
            candidate = Candidate(number, one.text, one.api, lineage)
            mine = self.recovered.pop(number, None) is not None and self.team.shared
            while not mine and number not in (*self.database.numbers, *self.team.numbers):
                mine = self.team.claim(candidate)
            if not mine and self.team.shared:
                continue
            self._submit(candidate)
            while len(self.under_way) >= self.judging.slots:
                self._take()
                while self._record_next():
                    pass
        while len(set(self.database.numbers)) < len(seeds.programs):
            if self._take_over() or self._record_next():
                continue
            self._wait()
        good = self.database.top(len(seeds.programs))
        if not good:
            outcomes = [self.database.get(number).outcome for number in self.database.numbers]
            raise BadInputError(
                f"no seed passes the evaluation: {describe_failures(outcomes)}",
                file=str(self.task.program),
                hint=f"look at it: warploom inspect {self.folder.path}",
            )
        self._decide(partial(self.house.settle, good, islands))

    # --- the loop ---

    def _loop(self) -> None:
        while True:
            self._fill()
            if self._record_next() or self._settle() or self.summaries.finish():
                continue
            if not (self.judging.busy or self.drafts or self.summaries.asking or self.team.others):
                return
            self._wait()

    @property
    def _held(self) -> bool:
        """Whether nothing may be recorded or proposed, so that a seed gives the same run again.

        What is known when an attempt is proposed must not depend on which worker or model was
        quicker: so not while a champion is judged, or the search is summed up.
        """
        return self.facts.given and (self.confirming is not None or self.summaries.asking)

    def _fill(self) -> None:
        """Begin as much as may be under way; what was begun before comes first."""
        self._decide(lambda: self.summaries.begin(self.search.tried))
        while len(self.under_way) + (self.confirming is not None) < self.capacity:
            if self._take_over() or self._challenge():
                continue
            if self.recovered:
                self._begin(self.recovered.pop(min(self.recovered)))
                continue
            if self.facts.given and self.summaries.asking:
                return
            self.stopped = self._reason_to_stop()
            if self.stopped or self._planned_all():
                return
            number = max((self.database.newest, *self.under_way, *self.team.numbers)) + 1
            asked = [one.lineage.model for one in self.under_way.values() if one.lineage.model]
            found = self.search.propose(number, asked)
            if found is None:
                if not self.under_way and self.confirming is None and not self.team.others:
                    self.stopped = "every step from every program has been tried"
                return
            if isinstance(found, Candidate) and not self.team.claim(found):
                self.team.catch_up(self.search)
                continue
            self._begin(found)

    def _challenge(self) -> bool:
        """Have a better program judged once more; returns whether there was one to begin with."""
        if self.confirming is not None or self.team.confirming:
            return False
        number = self.house.challenger()
        if number is None:
            return False
        if self.team.claim_confirmation(number):
            self._confirm(number)
        else:
            self.team.catch_up(self.search)
        return True

    def _take_over(self) -> bool:
        """Go on with what a runner that is gone had begun; returns whether there was something."""
        work = self.team.adopt() if len(self.under_way) < self.capacity else None
        if isinstance(work, Candidate):
            self._submit(work)
        elif work is not None:
            self._confirm(work)
        return work is not None

    def _begin(self, found: Candidate | Plan) -> None:
        if isinstance(found, Candidate):
            self._submit(found)
            return
        assert self.drafts is not None, "a plan needs models, and those of a run stay"
        self.folder.keep(found)
        self.under_way[found.number] = found
        self.drafts.start(found)

    def _settle(self) -> bool:
        """Take one proposal that has come from a model; returns whether there was one."""
        if self.drafts is None:
            return False
        found = self.drafts.settle()
        for number in self.drafts.dropped:
            self.under_way.pop(number, None)
        if found is not None:
            self._submit(found)
        return found is not None

    def _record_next(self) -> bool:
        """Put one attempt that was judged into the store; returns whether there was one.

        With a seed, attempts are recorded in the order of their proposals.
        """
        if not self.ready or self._held:
            return False
        number = min(self.ready)
        if self.facts.given and number != min(self.under_way):
            return False
        candidate = self.under_way[number]
        assert isinstance(candidate, Candidate)
        self._record(candidate, self.ready.pop(number))
        self._tell()
        return True

    def _planned_all(self) -> bool:
        """Whether what is under way uses the evaluations up."""
        others = len(set(self.team.numbers) - set(self.under_way))
        return self.search.tried + len(self.under_way) + others >= self.config.evolution.evaluations

    def _reason_to_stop(self) -> str:
        """Return why no further attempt is made, "" where one is."""
        account = self.account
        used = Used(
            self.search.tried, self.house.improved_at, account.elapsed, account.cost,
            "" if self.drafts is None else self.drafts.capped,
        )  # fmt: skip
        return reason_to_stop(self.config.evolution, used)

    def _submit(self, candidate: Candidate) -> None:
        self.folder.keep(candidate)
        self.under_way[candidate.number] = candidate
        if candidate.failure:
            self.ready[candidate.number] = failed(candidate.failure, candidate.feedback)
            return
        lineage = candidate.lineage
        self.search.pending.add(
            candidate.number, candidate.text, lineage.directives, model=bool(lineage.model),
            api=candidate.api,
        )  # fmt: skip
        self.judging.submit(candidate.number, lineage.proposer, candidate.text, candidate.api)

    def _confirm(self, number: int) -> None:
        """Judge a program once more."""
        self.confirming = number
        program = self.database.get(number)
        api = self.search.api_of(number)
        self.judging.confirm(number, program.lineage.proposer, program.code, api)

    def _wait(self) -> None:
        """Wait until a judge or a model has said something."""
        desk = self.parts.desk
        asking = desk is not None and desk.busy > 0
        if self.judging.busy:
            self._take(_LOOK if asking else _OTHERS if self.team.shared else _QUEUE)
            if self.judging.waits and time.monotonic() >= self._told + _QUEUE:
                self._tell()
        elif asking and desk is not None:
            desk.wait(1.0)
        elif self.team.shared:
            time.sleep(_OTHERS)
        if self.team.shared:
            self.team.catch_up(self.search)

    def _take(self, seconds: float | None = None) -> None:
        """Wait for a judge, and keep what it says until it is recorded."""
        for verdict in self.judging.take(seconds):
            if verdict.again:
                self._confirmed(verdict.number, verdict.outcome)
                self._tell()
            else:
                self.ready[verdict.number] = verdict.outcome

    def _record(self, candidate: Candidate, outcome: Outcome) -> None:
        """Put an attempt into the store, then do what is due."""
        number = candidate.number
        program = judged_program(self.database, candidate, outcome, self.task.program.name)
        events = rejections_of(candidate, len(self.database))
        try:
            self.database.add(
                program, seconds=self.account.elapsed, events=events,
                also=self.team.recorded(number),
            )  # fmt: skip
        except ClaimLostError:  # this runner was thought to be gone: another one records it
            self.team.catch_up(self.search)
        self.folder.drop(number)
        del self.under_way[number]
        self.search.pending.drop(number)
        self.team.catch_up(self.search)
        self._decide(self.house.run)

    def _confirmed(self, number: int, outcome: Outcome) -> None:
        self.confirming = None
        record = partial(self.house.confirm, number, outcome, self.team.confirmed(number))
        try:
            accepted = self._decide(record)
        except ClaimLostError:
            accepted = False
        if accepted:
            write_best(self.folder.path, self.search, self.house, self.task.program.name)

    def _tell(self) -> None:
        self._told = time.monotonic()
        self.parts.on_status(self.account.status(self.search, self.house, self.judging))
