"""Whether a text is new: by its tokens, then by its embedding. Nothing is built for that."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from warploom.core.errors import BadInputError
from warploom.evolve.candidates import Rejection
from warploom.evolve.config import NoveltyConfig
from warploom.evolve.space import Space
from warploom.store.database import ProgramDatabase
from warploom.store.fingerprint import CUDA, embedding_of, normal_hash
from warploom.store.records import Vector


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A text that is being judged."""

    normal_hash: str
    directives: Mapping[str, str]
    text: str
    api: str


@dataclass(slots=True)
class Pending:
    """Texts that are being judged: known, as those in the store are.

    `ordered` says that nothing may depend on which model answered first. Rules then do not look at
    what models have proposed meanwhile, which looks at all with smaller numbers.
    """

    ordered: bool = False
    language: str = CUDA
    _rules: dict[int, _Waiting] = field(default_factory=dict[int, _Waiting])
    _models: dict[int, _Waiting] = field(default_factory=dict[int, _Waiting])
    _by_rules: Counter[str] = field(default_factory=Counter[str])
    _by_models: Counter[str] = field(default_factory=Counter[str])

    def add(
        self, number: int, text: str, directives: Mapping[str, str], *, model: bool, api: str = ""
    ) -> None:
        """Note a text."""
        one = _Waiting(normal_hash(text, self.language), directives, text, api)
        self.drop(number)
        group, hashes = (self._models, self._by_models) if model else (self._rules, self._by_rules)
        group[number] = one
        hashes[one.normal_hash] += 1

    def drop(self, number: int) -> None:
        """Forget a text: it is in the store now."""
        groups = ((self._rules, self._by_rules), (self._models, self._by_models))
        for group, hashes in groups:
            one = group.pop(number, None)
            if one is not None:
                hashes[one.normal_hash] -= 1
                if not hashes[one.normal_hash]:
                    del hashes[one.normal_hash]

    def is_seen_by_rules(self, text: str) -> bool:
        """Whether a proposal by rules must not be this text."""
        found = normal_hash(text, self.language)
        return found in self._by_rules or (not self.ordered and found in self._by_models)

    def by_rules(self) -> list[tuple[Mapping[str, str], str]]:
        """Return the directives of what rules have proposed, each with what it communicates by."""
        return [(one.directives, one.api) for _, one in sorted(self._rules.items())]

    def before(self, number: int) -> Iterator[tuple[int, _Waiting]]:
        """Yield what a model's proposal of this number is compared with, by number."""
        both = {**self._rules, **self._models}
        yield from ((at, both[at]) for at in sorted(both) if at < number or not self.ordered)

    def text(self, number: int) -> str | None:
        """Return a text that is being judged."""
        found = self._rules.get(number) or self._models.get(number)
        return None if found is None else found.text


@dataclass(frozen=True, slots=True)
class Look:
    """What a look at a model's proposal says: why it is known, and what it is most like."""

    rejection: Rejection | None
    near: int | None = None
    similarity: float = 0.0


class Novelty:
    """Compares texts with all that the run has had."""

    def __init__(
        self, config: NoveltyConfig, database: ProgramDatabase, space: Space, pending: Pending
    ) -> None:
        self._config = config
        self._database = database
        self._space = space
        self.pending = pending

    def is_known(self, text: str) -> bool:
        """Whether a proposal by rules is known, or too much like one that is.

        Once it is, it always will be: a search need not ask again.
        """
        if self._database.duplicate_of(text) is not None or self.pending.is_seen_by_rules(text):
            return True
        near = self._database.alike(self.levers(text), embedding_of(text))
        return near >= self._config.similarity

    def levers(self, text: str) -> dict[str, str]:
        """Return the levers of a text; what a model wrote may be beyond the rules."""
        try:
            return dict(self._space.directives(text))
        except BadInputError:
            return {}

    def look(self, text: str, number: int) -> Look:
        """Compare a model's proposal with all of smaller numbers."""
        same = self._same(text, number)
        if same is not None:
            why = f"it is program {same} again, comments and blanks aside"
            return Look(Rejection("text", same, 1.0, why), same, 1.0)
        near, similarity, theirs = self._nearest(text, number)
        if near is None:
            return Look(None)
        limit = self._config.model_similarity
        if limit is not None and similarity >= limit and self.levers(text) == dict(theirs):
            why = f"it is too much like program {near}: cosine similarity {similarity:.4f}"
            return Look(Rejection("embedding", near, similarity, why), near, similarity)
        return Look(None, near, similarity)

    def _same(self, text: str, number: int) -> int | None:
        found = self._database.duplicate_of(text)
        if found is not None:
            return found
        wanted = normal_hash(text, self.pending.language)
        waiting = self.pending.before(number)
        return next((at for at, one in waiting if one.normal_hash == wanted), None)

    def _nearest(self, text: str, number: int) -> tuple[int | None, float, Mapping[str, str]]:
        vector = embedding_of(text)
        stored = self._database.nearest(vector)
        best: tuple[int | None, float, Mapping[str, str]] = (None, 0.0, {})
        if stored is not None:
            best = (stored[0], stored[1], self._database.brief(stored[0]).lineage.directives)
        for at, one in self.pending.before(number):
            similarity = _cosine(vector, embedding_of(one.text))
            if best[0] is None or similarity > best[1]:
                best = (at, similarity, one.directives)
        return best


def _cosine(one: Vector, other: Vector) -> float:
    lengths = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(np.einsum("i,i->", one, other)) / lengths if lengths > 0 else 0.0
