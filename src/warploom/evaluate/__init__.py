"""The evaluator: workloads, `check`, the cascade, and the comparison that no program can fool.

The package can be called: `warploom.evaluate(candidate, workload)` is `cascade.evaluate`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from warploom.core.packages import make_callable

if TYPE_CHECKING:
    from warploom.evaluate.cascade import evaluate
    from warploom.evaluate.check import CheckReport
    from warploom.evaluate.evaluation import Evaluation
    from warploom.workload.workload import Output, Workload

__all__ = ["CheckReport", "Evaluation", "Output", "Workload", "evaluate"]

# `check`, the function, is `warploom.check`: here the name is its module's.
_HOMES = {
    "CheckReport": "warploom.evaluate.check",
    "Evaluation": "warploom.evaluate.evaluation",
    "Output": "warploom.workload.workload",
    "Workload": "warploom.workload.workload",
    "evaluate": "warploom.evaluate.cascade",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


make_callable(__name__, "cascade")
