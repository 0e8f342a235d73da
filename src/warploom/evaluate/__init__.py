"""The evaluator: workloads, `check`, the cascade, and the comparison that no program can fool."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warploom.evaluate.cascade import evaluate
    from warploom.evaluate.check import CheckReport, check
    from warploom.evaluate.evaluation import Evaluation
    from warploom.evaluate.workload import Output, Workload

__all__ = ["CheckReport", "Evaluation", "Output", "Workload", "check", "evaluate"]

_HOMES = {
    "CheckReport": "check",
    "Evaluation": "evaluation",
    "Output": "workload",
    "Workload": "workload",
    "check": "check",
    "evaluate": "cascade",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
