"""Which model to ask: in turn, by weight, or what has paid off until now."""

import json
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, cast

from warploom.core.errors import BadInputError
from warploom.core.ids import digest
from warploom.core.jsontext import write_json


@dataclass(slots=True)
class Arm:
    """What is known of one model.

    `picks` were made; for `rewarded` of them a reward came back. `gain` adds up the rewards (each
    0 or more), `best` is the largest, and `cost_usd` what was paid for them.
    """

    picks: int = 0
    rewarded: int = 0
    gain: float = 0.0
    best: float = 0.0
    cost_usd: float = 0.0


@dataclass(slots=True)
class ChoiceState:
    """All that a choice knows; saved after each change.

    `chosen` says who was picked for each call, so that a call that was cut off is asked of the same
    model again; `done` are the calls rewarded already.
    """

    arms: dict[str, Arm] = field(default_factory=dict[str, Arm])
    chosen: dict[str, str] = field(default_factory=dict[str, str])
    done: set[str] = field(default_factory=set[str])

    @property
    def picks(self) -> int:
        """How many picks were made."""
        return sum(arm.picks for arm in self.arms.values())


class ModelChoice(Protocol):
    """Picks a model; it holds no state of its own, so a run that resumes goes on as it would."""

    def pick(self, models: Sequence[str], state: ChoiceState, call_id: str) -> str:
        """Return one of `models` for a call."""
        ...


@dataclass(frozen=True, slots=True)
class RoundRobin:
    """Each model in turn."""

    def pick(self, models: Sequence[str], state: ChoiceState, call_id: str) -> str:  # noqa: ARG002
        """Return the model after the one before."""
        return models[state.picks % len(models)]


@dataclass(frozen=True, slots=True)
class Weighted:
    """Each model with a probability in proportion to its weight; the same for the same call."""

    weights: Mapping[str, float]
    seed: int = 0

    def pick(self, models: Sequence[str], state: ChoiceState, call_id: str) -> str:  # noqa: ARG002
        """Return a model drawn from the call's name and the seed.

        Raises:
            BadInputError: a weight is negative, or none is positive.
        """
        weights = [self.weights.get(model, 0.0) for model in models]
        if min(weights) < 0 or not 0 < sum(weights) < math.inf:
            raise BadInputError(f"weights must be 0 or more, one positive, got {weights}")
        draw = random.Random(digest((str(self.seed), call_id)))  # noqa: S311
        return draw.choices(list(models), weights)[0]


@dataclass(frozen=True, slots=True)
class AsymmetricUCB:
    """The model with the best upper confidence bound on gain, net of what it costs.

    UCB1 of Auer, Cesa-Bianchi, Fischer, "Finite-time Analysis of the Multiarmed Bandit Problem"
    (Machine Learning 47, 2002): mean + c * sqrt(2 ln N / n), for gains in [0, 1]; here in units of
    the largest gain seen. Asymmetric, as in Lange et al., "ShinkaEvolve" (arXiv:2509.19349): only
    improvements are rewarded, since a search keeps its best and one good candidate pays for many
    bad ones; a failure adds 0 and not less. `cost_weight` w in [0, 1] discounts a model's mean gain
    by what it costs: times (1 - w) + w * (the cheapest model's mean cost / its mean cost), so that
    w = 1 ranks by gain per dollar, as budgeted bandits do (Ding et al., "Multi-Armed Bandit with
    Budget Constraint and Variable Costs", AAAI 2013).
    A pick in flight counts as tried (gain 0) until its reward arrives, so concurrent picks spread.
    """

    exploration: float = 1.0
    cost_weight: float = 0.5

    def __post_init__(self) -> None:
        if not 0 <= self.cost_weight <= 1 or not self.exploration >= 0:
            raise BadInputError(
                "cost_weight must be in [0, 1] and exploration 0 or more, "
                f"got {self.cost_weight} and {self.exploration}"
            )

    def pick(self, models: Sequence[str], state: ChoiceState, call_id: str) -> str:  # noqa: ARG002
        """Return the model of the highest index; the first of equals, each once at first."""
        arms = [state.arms.get(model, Arm()) for model in models]
        for model, arm in zip(models, arms, strict=True):
            if arm.picks == 0:
                return model
        index = self.indices(arms)
        return models[index.index(max(index))]

    def indices(self, arms: Sequence[Arm]) -> list[float]:
        """Return the index of each arm; each was picked once at least."""
        total = sum(arm.picks for arm in arms)
        best = max(arm.best for arm in arms) or 1.0
        costs = [_mean_cost(arm) for arm in arms]
        return [
            arm.gain
            / arm.picks
            / best
            * (1 - self.cost_weight + self.cost_weight * min(costs) / cost)
            + self.exploration * math.sqrt(2 * math.log(total) / arm.picks)
            for arm, cost in zip(arms, costs, strict=True)
        ]


class ChoiceFile:
    """A choice with its state in a file of the run."""

    def __init__(self, choice: ModelChoice, models: Sequence[str], path: Path) -> None:
        self._choice = choice
        self._models = models
        self._path = path
        self._state = _load(path)

    def pick(self, call_id: str) -> str:
        """Return a model for a call, and save that it was picked; one model needs no choice."""
        if len(self._models) == 1:
            return self._models[0]
        before = self._state.chosen.get(call_id, "")
        if before in self._models:
            return before
        model = self._choice.pick(self._models, self._state, call_id)
        self._state.arms.setdefault(model, Arm()).picks += 1
        self._state.chosen[call_id] = model
        self._save()
        return model

    def reward(self, call_id: str, model: str, gain: float, cost_usd: float | None) -> None:
        """Add what came of a call, once; a `gain` below 0 counts as 0.

        Raises:
            BadInputError: `gain` is not a finite number.
        """
        if not gain < math.inf:
            raise BadInputError(f"a gain must be a finite number, got {gain} for {call_id}")
        if call_id in self._state.done:
            return
        arm = self._state.arms.setdefault(model, Arm(picks=1))
        arm.rewarded += 1
        arm.gain += max(gain, 0.0)
        arm.best = max(arm.best, gain)
        arm.cost_usd += cost_usd or 0.0
        self._state.done.add(call_id)
        self._save()

    def _save(self) -> None:
        state = self._state
        done = sorted(state.done)
        write_json(self._path, {"arms": state.arms, "chosen": state.chosen, "done": done})


def _mean_cost(arm: Arm) -> float:
    """Dollars for a call; a free model counts a millionth, so that ratios stay finite."""
    return max(arm.cost_usd / max(arm.rewarded, 1), 1e-6)


def _load(path: Path) -> ChoiceState:
    if not path.is_file():
        return ChoiceState()
    try:
        data = cast("dict[str, Any]", json.loads(path.read_text(encoding="utf-8")))
        arms = {name: Arm(**arm) for name, arm in data["arms"].items()}
        return ChoiceState(arms, dict(data["chosen"]), set(data["done"]))
    except (ValueError, KeyError, TypeError) as error:
        raise BadInputError(
            f"not the state of a choice of models: {error}",
            file=str(path),
            hint="the file was changed; delete it to start the choice anew",
        ) from None
