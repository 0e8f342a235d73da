"""What a process knows of one run: islands, archive, hashes; texts stay in the database."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random

from warploom.core.errors import BadInputError
from warploom.store.archive import Archive, features_of
from warploom.store.config import DatabaseConfig, SelectionConfig
from warploom.store.embeddings import EmbeddingMatrix
from warploom.store.errors import StoreError
from warploom.store.fingerprint import code_hash, normal_hash
from warploom.store.island import Island
from warploom.store.parent_selection import draw, sample
from warploom.store.records import Event, StoredProgram, Vector
from warploom.store.rows import moves_of


class RunMemory:
    """All that selection needs, in the order in which it was recorded.

    `place` names the database in messages; `language` says which texts are the same.
    """

    def __init__(self, config: DatabaseConfig, place: str, language: str) -> None:
        self.config = config
        self.language = language
        self._place = place
        self._light: dict[int, StoredProgram] = {}
        self._roots: dict[int, int] = {}
        self._islands: dict[int, Island] = {}
        self._children: dict[int, int] = {}
        self._archive = Archive(config.archive)
        self._embeddings = EmbeddingMatrix()
        self._places: dict[int, list[int]] = {}  # of embeddings, by the hash of directives
        self._exact: dict[str, int] = {}
        self._normal: dict[str, int] = {}
        self._all = Island()
        self._clock = ""  # of the times that are ranked
        self._events: list[Event] = []
        self._order: list[int] = []
        self._newest = 0

    def __len__(self) -> int:
        return len(self._light)

    @property
    def events(self) -> Sequence[Event]:
        """All events, oldest first."""
        return self._events

    @property
    def numbers(self) -> Sequence[int]:
        """Numbers of all programs in the order in which they were recorded."""
        return self._order

    @property
    def newest(self) -> int:
        """The highest number of a program, 0 without one."""
        return self._newest

    def brief(self, number: int) -> StoredProgram:
        """Return a program without its texts (code, diff, feedback, findings): from memory."""
        if number not in self._light:
            raise BadInputError(f"the run has no program {number}", file=self._place)
        return self._light[number]

    def top(self, count: int) -> list[int]:
        """Return the numbers of the best correct programs, best first."""
        return [self._all.member(at) for at in range(min(count, len(self._all)))]

    def history_of(self, number: int) -> tuple[tuple[int, int, int], ...]:
        """Return a program's migrations: attempts recorded by then, from island, to island."""
        return tuple(
            (event.at, source, target)
            for event in self._events
            for moved, source, target in moves_of(event)
            if moved == number
        )

    # --- selection ---

    @property
    def islands(self) -> Mapping[int, Island]:
        """The islands' correct programs."""
        return self._islands

    @property
    def archive(self) -> Archive:
        """The archive of the run."""
        return self._archive

    def sample_parent(self, island: int, selection: SelectionConfig, rng: Random) -> int:
        """Draw a parent from an island; returns its number.

        Raises:
            BadInputError: the island has no correct program.
        """
        there = self._islands.get(island)
        if there is None or not len(there):
            raise BadInputError(f"island {island} has no correct program to draw a parent from")
        return there.member(draw(selection, there.scores, there.children, rng))

    def inspirations(self, parent: int, rng: Random) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return programs to show beside a parent: drawn from the archive, and the best ones."""
        wanted = self.config.inspirations
        others = [number for number in self._archive.members if number != parent]
        archived = sample(others, wanted.archive, rng)
        seen = {parent, *archived}
        best = [number for number in self.top(wanted.top_k + len(seen)) if number not in seen]
        return archived, tuple(best[: wanted.top_k])

    # --- novelty ---

    def duplicate_of(self, code: str) -> int | None:
        """Return the program with this text, comments and blanks aside; None where there is none.

        Failures count: what failed once would fail again.
        """
        exact = self._exact.get(code_hash(code))
        return exact if exact is not None else self._normal.get(normal_hash(code, self.language))

    def nearest(self, vector: Vector) -> tuple[int, float] | None:
        """Return the program with the most similar embedding, and the cosine similarity."""
        return self._embeddings.nearest(vector)

    def alike(self, directives: Mapping[str, str], vector: Vector) -> float:
        """Return the highest cosine similarity to a program with these directives; 0 without one.

        It never falls: what was too much like a program once always will be.
        """
        places = self._places.get(_key(directives))
        found = self._embeddings.among(vector, places) if places else ()
        same = (near for at, near in found if self._light[at].lineage.directives == directives)
        return max(same, default=0.0)

    # --- what was recorded ---

    def _take(self, program: StoredProgram) -> None:
        """Put a recorded program into memory."""
        number, lineage, outcome = program.number, program.lineage, program.outcome
        self._light[number] = replace(
            program, code="", diff="", embedding=None,
            outcome=replace(outcome, feedback="", findings=()),
        )  # fmt: skip
        self._order.append(number)
        self._newest = max(self._newest, number)
        self._exact.setdefault(program.code_hash, number)
        self._normal.setdefault(program.normal_hash, number)
        if program.embedding is not None:
            self._places.setdefault(_key(lineage.directives), []).append(len(self._embeddings))
            self._embeddings.add(number, program.embedding)
        parent = lineage.parent
        self._roots[number] = number if parent is None else self._roots.get(parent, number)
        self._count_child(parent)
        if not outcome.correct or outcome.score is None:
            return
        self._require_one_clock(outcome.time_source)
        self._islands.setdefault(lineage.island, Island()).add(number, outcome.score)
        self._all.add(number, outcome.score)
        root = self._light[self._roots[number]]
        self._archive.add(number, outcome.score, features_of(program, root))

    def _require_one_clock(self, source: str) -> None:
        """Raise StoreError where a program was timed in another way than those before."""
        if self._all and source != self._clock:
            raise StoreError(
                f"one run ranks one kind of time, {self._clock} so far, got {source}",
                file=self._place,
            )
        self._clock = source

    def _count_child(self, parent: int | None) -> None:
        if parent is None:
            return
        self._children[parent] = self._children.get(parent, 0) + 1
        known = self._light.get(parent)
        if known is None or known.outcome.score is None:
            return
        for island in self._islands.values():
            island.count_child(known.number, known.outcome.score)

    def _happen(self, event: Event) -> None:
        self._events.append(event)
        for number, _, target in moves_of(event):
            score = self._light[number].outcome.score
            island = self._islands.setdefault(target, Island())
            if score is not None and number not in island:
                island.add(number, score, self._children.get(number, 0))


def _key(directives: Mapping[str, str]) -> int:
    return hash(frozenset(directives.items()))
