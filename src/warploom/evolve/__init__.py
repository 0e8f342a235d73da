"""The search: from a verified program to a faster one, judged at every step."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warploom.evolve.config import EvolutionConfig
    from warploom.evolve.result import EvolutionResult
    from warploom.evolve.runner import EvolutionRunner

__all__ = ["EvolutionConfig", "EvolutionResult", "EvolutionRunner"]

_HOMES = {
    "EvolutionConfig": "config",
    "EvolutionResult": "result",
    "EvolutionRunner": "runner",
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
