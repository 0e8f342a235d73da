"""How the bandit that chooses among models would rank them now."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from warploom.llm.choice import Arm, AsymmetricUCB
from warploom.reports.queries.marks import Mark
from warploom.reports.queries.views import gain_of


def weights_of(marks: Sequence[Mark], settings: Mapping[str, float]) -> dict[str, float]:
    """Return the index of each model that was asked: the highest one is asked next.

    It is that of the search's own bandit (docs/evolve.md), from gains and costs in the store.
    """
    known = {one.number: one for one in marks}
    arms: dict[str, Arm] = {}
    for one in marks:
        if not one.model:
            continue
        gain = gain_of(one, known)
        reward = max(0.0, math.log(gain)) if gain else 0.0
        arm = arms.setdefault(one.model, Arm())
        arm.picks += 1
        arm.rewarded += 1
        arm.gain += reward
        arm.best = max(arm.best, reward)
        arm.cost_usd += one.cost
    choice = AsymmetricUCB(**settings)
    return dict(zip(arms, choice.indices(list(arms.values())), strict=True)) if arms else {}


def bandit_settings(settings: Mapping[str, Any]) -> dict[str, float]:
    """Return what a run's configuration says of the bandit; empty where it says nothing."""
    try:
        models: Any = settings["models"]
        found = {name: float(models[name]) for name in ("exploration", "cost_weight")}
    except (KeyError, TypeError, ValueError):
        return {}
    return found if 0 <= found["cost_weight"] <= 1 and found["exploration"] >= 0 else {}
