"""What is to be judged, and what a model is asked for: frozen, on disk before they are used."""

from dataclasses import dataclass, replace

from warploom.core.records import Json
from warploom.store.records import Lineage

NO_PROGRAM, NOT_NOVEL = "no_program", "not_novel"
"""Failures of attempts that came to nothing that could be judged."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """A proposal that was turned away before anything was built.

    `by` is "text" (the same but for comments and blanks), "embedding" or "judge"; `near` is the
    program that it is too much like, `similarity` the cosine. `why` tells its author.
    """

    by: str
    near: int
    similarity: float
    why: str

    def to_json(self) -> dict[str, Json]:
        """Return it as plain JSON values."""
        return {
            "by": self.by, "near": self.near, "similarity": self.similarity, "why": self.why,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Candidate:
    """What is to be judged next: a text, where it comes from, and by what it communicates.

    `cost` is what models took for it, in US dollars. With a `failure` there is no text to judge:
    `feedback` says why.
    """

    number: int
    text: str
    api: str
    lineage: Lineage
    cost: float = 0.0
    rejections: tuple[Rejection, ...] = ()
    failure: str = ""
    feedback: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """A question to a model that is to become a candidate.

    All that decides about it is here, so that a run that was killed asks the same again and is
    answered from its records. `template` is the prompt's name; the model is `lineage.model`.
    """

    number: int
    api: str
    lineage: Lineage
    template: str
    system: str
    prompt: str


def with_steps(
    lineage: Lineage, directives: dict[str, str], changes: tuple[str, ...] = (), rejected: int = 0
) -> Lineage:
    """Return a lineage that knows its program's directives."""
    return replace(lineage, directives=directives, changes=changes, rejected=rejected)
