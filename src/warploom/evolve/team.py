"""Who takes part in a run: this process alone, or several runners that share it by a database.

Runners propose, judge and record side by side. What one works on, no other does; what one recorded,
all others see before they decide anything; and what a runner that is gone had begun, another one
takes over. So nothing is judged twice while its runner lives, and nothing is lost when it does not.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any, Protocol, cast

from pydantic import TypeAdapter

from warploom.core.errors import BadInputError
from warploom.core.records import Json
from warploom.evolve.candidates import Candidate
from warploom.evolve.config import EvolutionConfig
from warploom.evolve.folder import RunFacts, candidate_from
from warploom.evolve.search import Search
from warploom.evolve.seeds import Seeds
from warploom.store.database import Also, ProgramDatabase
from warploom.store.errors import StaleError
from warploom.store.fingerprint import normal_hash
from warploom.store.shared import Claim, Crew

_ATTEMPT, _CONFIRM, _SEEDS = "attempt", "confirm", "seeds"
_LOOK = 0.5  # seconds between looks at what others do
_OWN = ("jobs", "evolution")  # sections in which runners may differ


class Team(Protocol):
    """The runners of a run, as one of them sees them."""

    @property
    def shared(self) -> bool:
        """Whether others may take part."""
        ...

    @property
    def others(self) -> int:
        """How many attempts others work on."""
        ...

    @property
    def confirming(self) -> bool:
        """Whether another one has a champion judged once more."""
        ...

    @property
    def numbers(self) -> Sequence[int]:
        """The numbers of all attempts that somebody works on."""
        ...

    def catch_up(self, search: Search) -> None:
        """Take in what others have recorded, and what they work on."""
        ...

    def seeds(self, make: Callable[[], Seeds]) -> Seeds:
        """Return the run's seeds; one of the runners makes them."""
        ...

    def claim(self, candidate: Candidate) -> bool:
        """Have an attempt for this runner; False where somebody was quicker: decide again."""
        ...

    def claim_confirmation(self, number: int) -> bool:
        """Have a champion's second judgment for this runner."""
        ...

    def mine(self) -> Iterator[Candidate | int]:
        """Yield what this runner had begun: attempts, and the number of a champion."""
        ...

    def adopt(self) -> Candidate | int | None:
        """Take over an attempt, or a champion's number, of a runner that is gone."""
        ...

    def recorded(self, number: int) -> Also | None:
        """Return what ends an attempt in the transaction that records it."""
        ...

    def confirmed(self, number: int) -> Also | None:
        """Return what ends a champion's second judgment in the transaction that records it."""
        ...

    def close(self) -> None:
        """Take no part any longer."""
        ...


class Alone:
    """The only runner of a run."""

    shared = False
    others = 0
    confirming = False
    numbers: Sequence[int] = ()

    def catch_up(self, search: Search) -> None:
        """Learn from what was recorded."""
        search.catch_up()

    def seeds(self, make: Callable[[], Seeds]) -> Seeds:
        """Make the seeds."""
        return make()

    def claim(self, candidate: Candidate) -> bool:
        """Return True: nobody else works on anything."""
        del candidate
        return True

    def claim_confirmation(self, number: int) -> bool:
        """Return True: nobody else works on anything."""
        del number
        return True

    def mine(self) -> Iterator[Candidate | int]:
        """Yield nothing: the run's folder has what was begun."""
        return iter(())

    def adopt(self) -> Candidate | int | None:
        """Return None: there is nobody else."""
        return None

    def recorded(self, number: int) -> Also | None:
        """Return None: nothing else belongs to it."""
        del number
        return None

    def confirmed(self, number: int) -> Also | None:
        """Return None: nothing else belongs to it."""
        del number
        return None

    def close(self) -> None:
        """Do nothing."""


class Together:
    """One of the runners of a run that several share."""

    shared = True

    def __init__(self, database: ProgramDatabase) -> None:
        self._database = database
        self._crew = Crew(database)
        self._seen: set[int] = set()  # others' attempts that the search knows of
        self._adopt_at = 0.0
        self._crew.start()
        self._crew.sync()

    def begin(self, facts: RunFacts, config: EvolutionConfig) -> RunFacts:
        """Begin the run, or take part in the one that others began; returns its facts.

        Raises:
            BadInputError: the others search from another program, or in another way.
        """
        wanted = _settings(config)
        told: dict[str, Json] = {
            "workload": facts.workload, "seed": facts.seed, "program": facts.program,
            "inputs": list(facts.inputs), "confirm": list(facts.confirm), "config": wanted,
        }  # fmt: skip
        while not self._database.facts:
            try:
                self._database.begin(told)
            except StaleError:
                self._crew.sync()
        there: Any = self._database.facts
        name = self._database.config.run
        if there.get("program") != facts.program:
            raise BadInputError(
                f"the run {name!r} searches from another program",
                file=str(there.get("workload")), hint="give the search another database.run",
            )  # fmt: skip
        for section, values in wanted.items():
            if there["config"].get(section) != values:
                raise BadInputError(
                    f"the run {name!r} was begun with another {section}: all of its runners need "
                    f"the same, {there['config'].get(section)}",
                    hint="give the search another database.run",
                )
        return replace(
            facts, seed=there["seed"], inputs=tuple(there["inputs"]),
            confirm=tuple(there["confirm"]),
        )  # fmt: skip

    @property
    def others(self) -> int:
        """How many attempts and second judgments others work on."""
        return sum(1 for one in self._crew.claims if not one.mine)

    @property
    def confirming(self) -> bool:
        """Whether another one has a champion judged once more."""
        return any(one.kind == _CONFIRM and not one.mine for one in self._crew.claims)

    @property
    def numbers(self) -> Sequence[int]:
        """The numbers of all attempts that somebody works on."""
        return [one.number for one in self._crew.claims if one.kind == _ATTEMPT]

    def catch_up(self, search: Search) -> None:
        """Learn from what was recorded; what others work on is known to the search as well."""
        self._crew.sync()
        search.catch_up()
        theirs = {c.number: c for c in self._crew.claims if c.kind == _ATTEMPT and not c.mine}
        for number in self._seen - set(theirs):
            search.pending.drop(number)
        for number in set(theirs) - self._seen:
            one = candidate_from(theirs[number].data)
            search.pending.add(number, one.text, one.lineage.directives, model=False)
        self._seen = set(theirs)

    def seeds(self, make: Callable[[], Seeds]) -> Seeds:
        """Return the seeds that the run has; the first runner makes them, the others wait."""
        while True:
            kept = self._database.facts.get("seeds")
            if kept is not None:
                return TypeAdapter(Seeds).validate_python(kept)
            mine = any(one.kind == _SEEDS and one.mine for one in self._crew.claims)
            if not mine and not self._crew.claim(_SEEDS, 0, {}):
                if self._crew.adopt() is None:
                    time.sleep(_LOOK)
                self._crew.sync()
                continue
            made = make()
            kept = cast("Json", TypeAdapter(Seeds).dump_python(made, mode="json"))
            facts = {**self._database.facts, "seeds": kept}
            self._database.begin(facts, self._crew.done(_SEEDS, 0))
            self._crew.sync()
            return made

    def claim(self, candidate: Candidate) -> bool:
        """Have an attempt for this runner: its number and its text are nobody else's."""
        text = normal_hash(candidate.text, self._database.language)
        data = cast("dict[str, Json]", asdict(candidate))
        return self._crew.claim(_ATTEMPT, candidate.number, data, text)

    def claim_confirmation(self, number: int) -> bool:
        """Have a champion's second judgment for this runner."""
        return self._crew.claim(_CONFIRM, number, {})

    def mine(self) -> Iterator[Candidate | int]:
        """Yield what this runner had begun when its process ended."""
        for one in self._crew.claims:
            if one.mine and one.kind != _SEEDS:
                yield _work(one)

    def adopt(self) -> Candidate | int | None:
        """Take over a piece of work of a runner that is gone: looked for now and then."""
        now = time.monotonic()
        if now < self._adopt_at or not self.others:
            return None
        self._adopt_at = now + _LOOK
        found = self._crew.adopt()
        return None if found is None else _work(found)

    def recorded(self, number: int) -> Also | None:
        """Return what ends an attempt in the transaction that records it."""
        return self._crew.done(_ATTEMPT, number)

    def confirmed(self, number: int) -> Also | None:
        """Return what ends a second judgment in the transaction that records it."""
        return self._crew.done(_CONFIRM, number)

    def close(self) -> None:
        """Be gone: others may have what this runner works on."""
        self._crew.close()


def require_shareable(config: EvolutionConfig, seed: int | None) -> None:
    """Raise BadInputError where several runners cannot search as is asked for."""
    if seed is not None:
        raise BadInputError(
            "a run that several runners share cannot be repeated: who is quicker decides",
            hint="leave out --seed or database.run",
        )
    if config.models.names:
        raise BadInputError(
            "a run that several runners share takes no models: their cap is one process's",
            hint="leave out models.names or database.run",
        )


def _settings(config: EvolutionConfig) -> dict[str, Json]:
    """Return what all runners of a run must have in common."""
    found = config.model_dump(mode="json")
    for section in _OWN:
        del found[section]
    for key in ("url", "lease_s", "patience_s"):
        del found["database"][key]
    return found


def _work(claim: Claim) -> Candidate | int:
    return candidate_from(claim.data) if claim.kind == _ATTEMPT else claim.number
