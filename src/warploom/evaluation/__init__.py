"""The evaluator: workloads, `check`, the cascade, and the comparison that no program can fool."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warploom.evaluation.cascade import evaluate
    from warploom.evaluation.check import CheckReport
    from warploom.evaluation.records import Evaluation
    from warploom.workload.outputs import Output
    from warploom.workload.workload import Workload

__all__ = ["CheckReport", "Evaluation", "Output", "Workload", "evaluate"]

# `check`, the function, is `warploom.check`: here the name is its module's.
_HOMES = {
    "CheckReport": "warploom.evaluation.check",
    "Evaluation": "warploom.evaluation.records",
    "Output": "warploom.workload.outputs",
    "Workload": "warploom.workload.workload",
    "evaluate": "warploom.evaluation.cascade",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
