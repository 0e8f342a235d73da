"""What language models write is judged in a sandbox, on whatever machine, or not at all."""

from dataclasses import dataclass
from pathlib import Path

from warploom.evolve.config import ModelsConfig
from warploom.evolve.evaluator import Evaluator, Question
from warploom.store.records import Outcome
from warploom.toolchain.sandbox import require_sandbox


def require_confined(models: ModelsConfig) -> None:
    """Refuse to judge what models propose where this machine has no sandbox.

    Raises:
        MissingToolError: there is none, and `models.unsafe` does not say that it may be.
    """
    if models.names:
        require_sandbox("a language model", unsafe=models.unsafe, option="models.unsafe=true")


@dataclass(frozen=True, slots=True)
class ConfinedEvaluator:
    """Another evaluator, on machines with a sandbox only: jobs may run on nodes that lack it."""

    inner: Evaluator
    models: ModelsConfig

    @property
    def key(self) -> str:
        """The other one's: where it judges does not change what it says."""
        return self.inner.key

    @property
    def time_source(self) -> str:
        """What the other one's times are."""
        return self.inner.time_source

    def __call__(self, candidate: Path, question: Question) -> Outcome:
        """Judge the program at a path.

        Raises:
            MissingToolError: this machine has no sandbox.
        """
        require_confined(self.models)
        return self.inner(candidate, question)
