"""Plans what a model is asked: which one, about which programs, in which words.

A plan follows from the store alone; `drafts.py` asks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from warploom.core.records import Api
from warploom.evolve.bandit import ModelBandit
from warploom.evolve.candidates import NO_PROGRAM, NOT_NOVEL, Plan
from warploom.evolve.config import EvolutionConfig
from warploom.evolve.showing import shown_of
from warploom.evolve.summaries import latest_advice
from warploom.propose.llm.sampler import Material, PromptSampler
from warploom.store.database import ProgramDatabase
from warploom.store.records import Lineage

_MOST_FIXES = 2  # of one failed program
_FAILED = 8  # latest failures, among which one is mended
_HISTORY = 8  # latest programs made of the parent
_ELSEWHERE = 4  # latest failures of the island besides


@dataclass(frozen=True, slots=True)
class Chosen:
    """What selection has chosen for an attempt; `same_api` are programs that may be partners."""

    number: int
    operator: str
    parent: int
    archive: tuple[int, ...]
    top_k: tuple[int, ...]
    same_api: tuple[int, ...]
    island: int
    generation: int
    api: str


class Planner:
    """Makes plans, and learns which models pay."""

    def __init__(
        self,
        config: EvolutionConfig,
        database: ProgramDatabase,
        sampler: PromptSampler,
        models: ModelBandit,
    ) -> None:
        self._config = config
        self._database = database
        self._sampler = sampler
        self.models = models

    def plan(self, chosen: Chosen, rng: Random, asked: Sequence[str]) -> Plan | None:
        """Return a plan; None where the operator has nothing to work on.

        Args:
            chosen: what selection has chosen.
            rng: draws the failed program, the partner and the style.
            asked: models of attempts that are under way.

        Raises:
            BadInputError: a program does not fit into a prompt.
        """
        parent, partner = chosen.parent, None
        if chosen.operator == "fix":
            broken = self._broken(chosen)
            if not broken:
                return None
            parent = rng.choice(broken)
        elif chosen.operator == "llm_crossover":
            others = [one for one in chosen.same_api if one != parent]
            if not others:
                return None
            partner = rng.choice(others)
        shown = [at for at in (*chosen.archive, *chosen.top_k) if at not in (parent, partner)]
        material = Material(
            shown_of(self._database, parent),
            None if partner is None else shown_of(self._database, partner),
            tuple(shown_of(self._database, at) for at in shown),
            tuple(shown_of(self._database, at) for at in self._history(parent, chosen.island)),
            self._config.models.island_tasks.get(chosen.island, ""),
            latest_advice(self._database),
            Api(chosen.api) if chosen.api else None,
        )
        prompt = self._sampler.sample(chosen.operator, material, rng)
        lineage = Lineage(
            parent, partner, chosen.archive, chosen.top_k, chosen.island, chosen.generation,
            chosen.operator, "llm", self.models.pick(asked),
        )  # fmt: skip
        return Plan(chosen.number, chosen.api, lineage, prompt.name, prompt.system, prompt.text)

    def _broken(self, chosen: Chosen) -> list[int]:
        """Return the latest failed programs of an island that may yet be mended."""
        fixes: dict[int, int] = {}
        found: list[int] = []
        for number in self._database.numbers:
            one = self._database.brief(number)
            if one.lineage.operator == "fix" and one.lineage.parent is not None:
                mended = _MOST_FIXES if one.outcome.correct else 1
                fixes[one.lineage.parent] = fixes.get(one.lineage.parent, 0) + mended
            failed = not one.outcome.correct and one.lineage.parent is not None
            if failed and one.lineage.island == chosen.island and _has_text(one.outcome.failure):
                found.append(number)
        return [number for number in found if fixes.get(number, 0) < _MOST_FIXES][-_FAILED:]

    def _history(self, parent: int, island: int) -> list[int]:
        """Return what was made of the parent, and what else failed on its island, lately."""
        made, failed = list[int](), list[int]()
        for number in self._database.numbers:
            one = self._database.brief(number)
            if one.lineage.parent == parent:
                made.append(number)
            elif not one.outcome.correct and one.lineage.island == island and number != parent:
                failed.append(number)
        return sorted((*made[-_HISTORY:], *failed[-_ELSEWHERE:]))


def _has_text(failure: str) -> bool:
    return failure not in (NO_PROGRAM, NOT_NOVEL)
