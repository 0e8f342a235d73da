"""Learns which operators and which steps pay. Pure functions of what was recorded, in order."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random

from warploom.evolve.config import BanditConfig
from warploom.llm.choice import Arm, AsymmetricUCB, ChoiceState
from warploom.store.records import Outcome


def gain(parent: Outcome, child: Outcome, failure: float) -> float:
    """Return the logarithm of the speed-up from parent to child, or -`failure`.

    Where a judge of the workload's own gives scores, it is the difference of these.
    """
    if not child.correct:
        return -failure
    if child.time_ms is None or parent.time_ms is None:
        if child.score is None or parent.score is None:
            return -failure
        return child.score - parent.score
    return math.log(parent.time_ms / child.time_ms) if child.time_ms > 0 else 0.0


class OperatorBandit:
    """Picks operators by UCB1 (Auer et al. 2002) with rewards that fade.

    The reward is the gain where that is positive, as a share of the largest one so far. A few
    rewards tell no operators apart: the more there are, the more often they decide.
    """

    def __init__(self, config: BanditConfig) -> None:
        self._config = config
        self._counts: dict[str, float] = {}
        self._sums: dict[str, float] = {}
        self._largest = 0.0

    def observe(self, operator: str, found: float) -> None:
        """Learn what an operator gained."""
        for name in self._counts:
            self._counts[name] *= self._config.decay
            self._sums[name] *= self._config.decay
        self._largest = max(self._largest, found)
        self._counts[operator] = self._counts.get(operator, 0.0) + 1.0
        self._sums[operator] = self._sums.get(operator, 0.0) + max(0.0, found)

    def pick(self, weights: Mapping[str, float], rng: Random) -> str:
        """Return an operator among those with a weight above 0."""
        arms = {name: weight for name, weight in weights.items() if weight > 0}
        known = sum(self._counts.values())
        share = self._config.share * known / (known + self._config.patience) if known else 0.0
        if len(arms) > 1 and rng.random() < share and self._largest > 0:
            return max(arms, key=lambda name: (self._bound(name), arms[name]))
        return rng.choices(list(arms), list(arms.values()))[0]

    def means(self) -> dict[str, float]:
        """Return the mean reward of each operator, for people."""
        return {name: self._sums[name] / count for name, count in self._counts.items() if count}

    def _bound(self, name: str) -> float:
        count = self._counts.get(name, 0.0)
        if count <= 0:
            return math.inf
        total = sum(self._counts.values())
        mean = self._sums[name] / count / self._largest
        bonus = math.sqrt(2.0 * math.log(max(total, 1.0)) / count)
        return mean + self._config.exploration * bonus


class ModelBandit:
    """Picks the model of a proposal, by what the store says that each one gained and cost."""

    def __init__(self, models: Sequence[str], choice: AsymmetricUCB) -> None:
        self._models = tuple(models)
        self._choice = choice
        self._state = ChoiceState()

    def observe(self, model: str, found: float, cost: float) -> None:
        """Learn what a recorded proposal of a model gained, and its cost in US dollars."""
        arm = self._state.arms.setdefault(model, Arm())
        arm.picks += 1
        arm.rewarded += 1
        arm.gain += max(0.0, found)
        arm.best = max(arm.best, found)
        arm.cost_usd += cost

    def pick(self, under_way: Sequence[str]) -> str:
        """Return a model; those that are being asked count as tried."""
        arms = {name: replace(arm) for name, arm in self._state.arms.items()}
        for name in under_way:
            arms.setdefault(name, Arm()).picks += 1
        return self._choice.pick(self._models, ChoiceState(arms), "")

    def arms(self) -> Mapping[str, Arm]:
        """Return what is known of each model that was asked."""
        return self._state.arms


class StepStatistics:
    """Learns what each step (`lever=value`) gained, wherever it was taken.

    A step that was taken seldom is judged by its lever, and a lever (`unroll:combine_tokens`) by
    its family (`unroll`): each mean counts its own observations and one of the level above.
    """

    def __init__(self, config: BanditConfig) -> None:
        self._config = config
        self._counts: dict[str, int] = {}
        self._sums: dict[str, float] = {}

    def observe(self, changes: Sequence[str], found: float) -> None:
        """Share what a program gained among the steps that made it."""
        for change in changes:
            for name in _levels(change):
                self._counts[name] = self._counts.get(name, 0) + 1
                self._sums[name] = self._sums.get(name, 0.0) + found / len(changes)

    def weight(self, change: str) -> float:
        """Return how likely a step is to be taken, relative to others.

        exp(mean gain / temperature), and up to half as much again where its lever was seldom moved.
        """
        mean = 0.0
        for name in _levels(change):
            mean = (self._sums.get(name, 0.0) + mean) / (self._counts.get(name, 0) + 1)
        high = min(30.0, max(-30.0, mean / self._config.temperature))
        moved = self._counts.get(_levels(change)[1], 0)
        return math.exp(high) * (1.0 + 0.5 / (1 + moved))

    def pick(self, changes: Sequence[str], rng: Random) -> int:
        """Return the place of the step to take; there is one at least."""
        return rng.choices(range(len(changes)), [self.weight(one) for one in changes])[0]


def _levels(change: str) -> tuple[str, str, str]:
    """Return the names of a step's family, lever and itself: no two of them are the same."""
    lever = change.partition("=")[0]
    return f"{lever.partition(':')[0]}:*", lever, change
