"""Decides what is tried next. All it knows follows from what the store holds, and in which order.

So a run that resumes goes on as if it had never stopped: random numbers are drawn anew for each
attempt from the run's seed and the attempt's number, and nothing but the store is remembered.
"""

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from random import Random

from warploom.evolve.bandit import OperatorBandit, StepStatistics, gain
from warploom.evolve.candidates import Candidate, Plan, with_steps
from warploom.evolve.config import MODEL_KINDS, RULES, EvolutionConfig, PhaseConfig
from warploom.evolve.effects import Effects
from warploom.evolve.frontier import Frontier
from warploom.evolve.novelty import Novelty, Pending
from warploom.evolve.operators import OPERATORS, Draft, Material, follow
from warploom.evolve.planning import Chosen, Planner
from warploom.evolve.predicted import API, Predictor
from warploom.evolve.showing import sound_ancestor
from warploom.evolve.space import HasRecipes, Space, label
from warploom.store.database import ProgramDatabase
from warploom.store.fingerprint import code_hash
from warploom.store.records import Lineage, Outcome, StoredProgram

_OTHERS = 8  # programs that a crossover chooses its partner from
_ORIGINS = 4  # best programs of an island that predicted steps begin from


class Search:
    """Proposes candidates, from the store's programs: by the space's steps, or by asking models.

    `planner` None: no model takes part. `ordered`: nothing may depend on who is quicker.
    """

    def __init__(
        self,
        config: EvolutionConfig,
        database: ProgramDatabase,
        space: Space,
        seed: str,
        apis: Mapping[int, str],
        *,
        planner: Planner | None = None,
        ordered: bool = False,
    ) -> None:
        self.config = config
        self.database = database
        self.space = space
        self.seed = seed
        self.apis = apis  # of the seeds, by number
        self.operators = OperatorBandit(config.bandit)
        self.steps = StepStatistics(config.bandit)
        self.novelty = Novelty(config.novelty, database, space, Pending(ordered, database.language))
        self._planner = planner
        self._has_rules = False
        self._text = lru_cache(maxsize=256)(self._read)
        self.effects = Effects(config.bandit.failure)
        self._predictor = Predictor(self.effects, space, self.novelty.is_known)
        self._frontier = Frontier(space, self._text, self.novelty.is_known)
        self._observed = 0  # of the programs that are recorded, in order
        self.catch_up()

    @property
    def seeds(self) -> int:
        """How many of the programs are seeds: they have the first numbers."""
        return len(self.apis)

    @property
    def tried(self) -> int:
        """How many attempts are recorded, without seeds."""
        return max(0, len(self.database) - self.seeds)

    def generation_of(self, number: int) -> int:
        """Return the generation of an attempt; seeds are generation 0."""
        size = self.config.evolution.generation_size
        return 0 if number <= self.seeds else (number - self.seeds - 1) // size + 1

    def rng(self, number: int, what: str) -> Random:
        """Return the random numbers for one purpose of one attempt."""
        return Random(f"{self.seed}:{number}:{what}")  # noqa: S311 - no secret

    def catch_up(self) -> None:
        """Learn from what was recorded since, whoever recorded it."""
        fresh = self.database.numbers[self._observed :]
        self._observed += len(fresh)
        for number in fresh:
            self._observe(self.database.brief(number))

    def _observe(self, program: StoredProgram) -> None:
        lineage, outcome = program.lineage, program.outcome
        if outcome.correct and outcome.score is not None:
            self._frontier.add(program.number, outcome.score)
        if lineage.directives:
            self.effects.observe(self._point(program.number), _log_time(outcome))
        parent = sound_ancestor(self.database, program.number)
        if parent is None:
            return
        failure = self.config.bandit.failure
        found = gain(parent.outcome, program.outcome, failure)
        seed = self.database.brief(self.seed_of(program.number)).outcome
        paid = gain(seed, program.outcome, failure) if seed.correct else found
        # What a bad parent's child makes good is no merit of the operator's.
        self.operators.observe(lineage.operator, min(found, paid))
        if lineage.operator in RULES:  # a model changes more than its steps
            self.steps.observe(lineage.changes, found)
        elif self._planner is not None:
            self._planner.models.observe(lineage.model, found, program.cost)

    def phase(self, number: int) -> PhaseConfig:
        """Return the phase of an attempt."""
        phases = self.config.phases
        planned = self.config.evolution.evaluations
        explored = (number - self.seeds - 1) < phases.explore_share * planned
        return phases.explore if explored else phases.exploit

    @property
    def pending(self) -> Pending:
        """The texts that are being judged."""
        return self.novelty.pending

    def propose(self, number: int, asked: Sequence[str] = ()) -> Candidate | Plan | None:
        """Return the next candidate, or what to ask a model; None where nothing is left to try.

        `asked` are the models of attempts that are under way.

        Raises:
            BadInputError: a program does not fit into a prompt.
        """
        rng = self.rng(number, "propose")
        phase = self.phase(number)
        island = self._island(number)
        weights = phase.weights(rules=self._rules_apply(), models=self._planner is not None)
        rejected = 0
        if weights.get("several") and (first := self._recipe(number, island)) is not None:
            return first
        for _ in range(self.config.evolution.max_tries):
            if not any(weights.values()):
                break
            parent = self.database.sample_parent(island, phase.selection, rng)
            operator = self.operators.pick(weights, rng)
            archive, top_k = self.database.inspirations(parent, rng)
            if operator in MODEL_KINDS:
                plan = self._plan(number, operator, parent, archive, top_k, island, rng, asked)
                if plan is not None:
                    return plan
                if operator == "fix":  # nothing on this island is to be mended
                    weights.pop(operator)
                continue
            if operator == "predicted":
                foreseen = self._predicted(island, parent, rng)
                if foreseen is None:  # nothing new is in reach
                    weights.pop(operator)
                    continue
                parent, draft = foreseen
            else:
                draft = OPERATORS[operator](self._material(parent, archive, top_k), rng)
            if draft is None:
                continue
            if self.novelty.is_known(draft.text):
                rejected += 1
                continue
            return self._candidate(
                number, draft,
                Lineage(
                    parent, draft.partner, archive, top_k, island, self.generation_of(number),
                    operator, changes=draft.changes, rejected=rejected,
                ),
            )  # fmt: skip
        return self._exhaustive(number, island, rejected)

    def _predicted(self, island: int, drawn: int, rng: Random) -> tuple[int, Draft] | None:
        """Return what the model of effects expects most of, from an island's best programs on.

        `drawn` is one more program to begin from.
        """
        best = self.database.islands[island].members[:_ORIGINS]
        origins = [
            self._predictor.origin(
                number, self._text(number), self._point(number)
            )
            for number in dict.fromkeys((*best, drawn))
        ]  # fmt: skip
        least = _log_time(self.database.brief(best[0]).outcome)
        if least is None:
            return None
        waiting = [self._placed(levers, api) for levers, api in self.pending.by_rules()]
        return self._predictor.draft(origins, least, waiting, rng)

    def _point(self, number: int) -> dict[str, str]:
        """Return where a recorded program lies for the model of effects."""
        return self._placed(self.database.brief(number).lineage.directives, self.api_of(number))

    def _placed(self, directives: Mapping[str, str], api: str) -> dict[str, str]:
        return {**directives, **({API: api} if len(set(self.apis.values())) > 1 else {})}

    def _recipe(self, number: int, island: int) -> Candidate | None:
        """Return the next recipe of an island's seed that nobody has tried.

        None is part of another. A search begins with these, for a third of its evaluations at
        most: they are known to pay.
        """
        latest = len(self.apis) + self.config.evolution.evaluations // 3
        if number > latest or not isinstance(self.space, HasRecipes):
            return None
        for seed in self.apis:
            if seed not in self.database.numbers or self._island_of(seed) != island:
                continue
            known = self.space.recipes(self._text(seed))
            for recipe in known:
                if any(set(recipe) < set(other) for other in known):
                    continue
                draft = follow(self.space, self._text(seed), recipe)
                if draft is not None and not self.novelty.is_known(draft.text):
                    lineage = Lineage(
                        seed, None, (), (), island, self.generation_of(number), "several",
                        changes=draft.changes,
                    )  # fmt: skip
                    return self._candidate(number, draft, lineage)
        return None

    def _island_of(self, number: int) -> int:
        return self.database.brief(number).lineage.island

    def seed_of(self, number: int) -> int:
        """Return the seed that a program descends from."""
        at = number
        while (parent := self.database.brief(at).lineage.parent) is not None:
            at = parent
        return at

    def api_of(self, number: int) -> str:
        """Return what the seed communicates by that a program descends from."""
        return self.apis.get(self.seed_of(number), "")

    def _island(self, number: int) -> int:
        """Return the island of an attempt: each in its turn, where it has a program."""
        ready = sorted(at for at, one in self.database.islands.items() if len(one))
        return ready[number % len(ready)]

    def _rules_apply(self) -> bool:
        """Whether rules change any of the seeds."""
        if not self._has_rules:
            seeds = [number for number in self.apis if number in self.database.numbers]
            self._has_rules = any(self.space.steps(self._text(number)) for number in seeds)
        return self._has_rules

    def _plan(
        self,
        number: int,
        operator: str,
        parent: int,
        archive: tuple[int, ...],
        top_k: tuple[int, ...],
        island: int,
        rng: Random,
        asked: Sequence[str],
    ) -> Plan | None:
        assert self._planner is not None
        chosen = Chosen(
            number, operator, parent, archive, top_k, self._partners(parent, archive, top_k),
            island, self.generation_of(number), self.api_of(parent),
        )  # fmt: skip
        return self._planner.plan(chosen, rng, asked)

    def _partners(
        self, parent: int, archive: tuple[int, ...], top_k: tuple[int, ...]
    ) -> tuple[int, ...]:
        """Return programs that a crossover may choose its partner from."""
        near = (*archive, *top_k, *self.database.archive.members[:_OTHERS])
        api = self.api_of(parent)
        same = [one for one in dict.fromkeys(near) if one != parent and self.api_of(one) == api]
        return tuple(same[:_OTHERS])

    def _material(self, parent: int, archive: tuple[int, ...], top_k: tuple[int, ...]) -> Material:
        others = {one: self._text(one) for one in self._partners(parent, archive, top_k)}
        most = self.config.bandit.most_steps
        return Material(self._text(parent), others, self.space, self.steps, most)

    def _exhaustive(self, number: int, island: int, rejected: int) -> Candidate | None:
        """Return the first single step that is not known, from the best program on."""
        found = self._frontier.first()
        if found is None:
            return None
        parent, text, step = found
        draft = Draft(text, (label(step),))
        lineage = Lineage(
            parent, None, (), (), island, self.generation_of(number), "single",
            changes=draft.changes, rejected=rejected,
        )  # fmt: skip
        return self._candidate(number, draft, lineage)

    def _candidate(self, number: int, draft: Draft, lineage: Lineage) -> Candidate:
        assert lineage.parent is not None
        values = dict(self.space.directives(draft.text))
        kept = with_steps(lineage, values, lineage.changes, lineage.rejected)
        return Candidate(number, draft.text, self.api_of(lineage.parent), kept)

    def text_of(self, number: int) -> str:
        """Return the text of a recorded program."""
        return self._text(number)

    def _read(self, number: int) -> str:
        return self.database.get(number).code


def _log_time(outcome: Outcome) -> float | None:
    """Return the logarithm of a time, None where there is none."""
    if not outcome.correct or not outcome.time_ms or outcome.time_ms <= 0:
        return None
    return math.log(outcome.time_ms)


def question_key(evaluator: str, text: str, api: str, inputs: tuple[int, ...]) -> str:
    """Return the key by which a judgment is found again."""
    return "-".join((evaluator, code_hash(text), api, *map(str, inputs)))
