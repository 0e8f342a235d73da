"""Housekeeping between attempts: migrations, new islands, the champion.

What is due follows from the store; once done it is an event there, so that nothing is done twice.
"""

from collections.abc import Iterator, Sequence

from warploom.core.records import Json
from warploom.evolve.ranking import is_better
from warploom.evolve.search import Search
from warploom.store.config import MigrationConfig
from warploom.store.database import Also
from warploom.store.records import Event, Outcome
from warploom.store.rows import outcome_from

MIGRATION, ISLAND, CHAMPION = "migration", "island", "champion"


class Housekeeping:
    """Says what is due, and records it."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self._database = search.database

    def run(self) -> None:
        """Do what is due after the attempts that are recorded."""
        if self._search.tried <= 0 or len(self._database.islands) == 0:
            return
        self._migrate()
        self._found_island()

    # --- the champion ---

    @property
    def champion(self) -> tuple[int, Outcome] | None:
        """The best program that was confirmed, with the outcome of its confirmation."""
        accepted = [e for e in self._database.events if e.kind == CHAMPION and e.data["accepted"]]
        if not accepted:
            return None
        data = accepted[-1].data
        number, outcome = data["number"], data["outcome"]
        assert isinstance(number, int) and isinstance(outcome, dict)
        return number, outcome_from(outcome)

    def challenger(self) -> int | None:
        """Return the program that must be judged once more: better than the champion, so far.

        Only gains above the noise count. A challenger that was refused is none again.
        """
        refused = [e.data["number"] for e in self._database.events if e.kind == CHAMPION]
        found = self.champion
        if found is None:
            known = [n for n in self._database.top(len(refused) + 1) if n not in refused]
            return known[0] if known else None
        best, noise = self._database.brief(found[0]).outcome, self._search.config.evaluation.noise
        for number in self._database.top(len(refused) + 1):
            if not is_better(self._database.brief(number).outcome, best, noise):
                return None
            if number not in refused:
                return number
        return None

    def confirm(self, number: int, outcome: Outcome, also: Also | None = None) -> bool:
        """Record what a second judgment said of a challenger; returns whether it is the champion.

        It is where it is correct and better than the champion by more than the noise, both by the
        second judgment.
        """
        now = self.champion
        accepted = outcome.correct and outcome.score is not None
        if accepted and now is not None:
            accepted = is_better(outcome, now[1], self._search.config.evaluation.noise)
        data: dict[str, Json] = {
            "number": number,
            "accepted": accepted,
            "outcome": outcome.to_json(),
        }
        self._database.record(Event(CHAMPION, len(self._database), data), also)
        return accepted

    @property
    def improved_at(self) -> int:
        """How many attempts (without seeds) were recorded when the champion last changed."""
        accepted = [e for e in self._database.events if e.kind == CHAMPION and e.data["accepted"]]
        return max(0, accepted[-1].at - self._search.seeds) if accepted else 0

    # --- islands ---

    def settle(self, good: Sequence[int], islands: int) -> None:
        """Copy seeds (`good`, best first) to those of the first islands that have none, once."""
        if self._search.tried or any(event.kind == ISLAND for event in self._database.events):
            return
        moves: list[Json] = []
        for at in (one for one in range(islands) if one not in self._database.islands):
            number = good[len(moves) % len(good)]
            moves.append([number, self._database.brief(number).lineage.island, at])
        if moves:
            self._database.record(Event(ISLAND, len(self._database), {"moves": moves}))

    def _migrate(self) -> None:
        config = self._search.config
        span = config.database.migration.interval * config.evolution.generation_size
        due = self._search.tried // span if span else 0
        done = sum(1 for event in self._database.events if event.kind == MIGRATION)
        if done >= due:
            return
        moves: list[Json] = [list(move) for move in self._moves(config.database.migration)]
        self._database.record(Event(MIGRATION, len(self._database), {"moves": moves}))

    def _moves(self, config: MigrationConfig) -> Iterator[tuple[int, int, int]]:
        """Yield program, from, to for each copy: a program never comes where it is already."""
        rng = self._search.rng(len(self._database), "migrate")
        islands = self._database.islands
        planned: set[tuple[int, int]] = set()
        for source in sorted(islands):
            members = islands[source].members
            if not members:
                continue
            count = max(1, round(config.rate * len(members)))
            chosen = members[:count] if config.elitism else rng.sample(members, count)
            for target in _edges(config, source, sorted(islands)):
                for number in chosen:
                    if number not in islands[target] and (number, target) not in planned:
                        planned.add((number, target))
                        yield number, source, target

    def _found_island(self) -> None:
        """Start a new island from the archive where the search stands still."""
        config, database = self._search.config, self._database
        span = config.database.stagnation * config.evolution.generation_size
        if not span or len(database.islands) >= config.database.max_islands:
            return
        last = max(
            (e.at - self._search.seeds for e in database.events if e.kind == ISLAND), default=0
        )
        if self._search.tried - max(last, self.improved_at) < span:
            return
        members = database.archive.members
        if not members:
            return
        number = self._search.rng(len(database), "island").choice(members)
        source, target = database.brief(number).lineage.island, max(database.islands) + 1
        data: dict[str, Json] = {"moves": [[number, source, target]]}
        database.record(Event(ISLAND, len(database), data))


def _edges(config: MigrationConfig, source: int, islands: list[int]) -> list[int]:
    """Return the islands that one sends to."""
    if isinstance(config.graph, dict):
        return [at for at in config.graph.get(source, ()) if at in islands and at != source]
    if config.graph == "full":
        return [at for at in islands if at != source]
    after = islands[(islands.index(source) + 1) % len(islands)]
    return [after] if after != source else []
