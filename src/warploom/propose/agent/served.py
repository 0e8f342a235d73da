"""Serves an outside agent's model to it, so that its caps hold and its cost is known."""

import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from warploom.core.errors import BadInputError
from warploom.llm import Budget, Price
from warploom.llm.endpoint import ROUTES, Endpoint, Tally, find_upstream, key_names
from warploom.llm.keys import Keys
from warploom.propose.agent.session import AgentReport, AgentTask, Ended
from warploom.toolchain.known_agents import (
    EndpointSettings,
    KnownAgent,
    endpoint_settings,
    find_known,
)

_PATIENCE = 20.0  # seconds that an agent has to end by itself when its calls are refused
ADDRESS, KEY = "WARPLOOM_ENDPOINT", "WARPLOOM_ENDPOINT_KEY"
"""Variables that tell an agent which we do not know where its model is, and its key there."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked for: caps over the run, the price of all models, and what the agent gets.

    `uncapped` lets the agent ask its provider itself; `variables` are those that it gets by name.
    """

    budget: Budget
    price: Price | None = None
    variables: tuple[str, ...] = ()
    uncapped: bool = False


@dataclass(frozen=True, slots=True)
class Service:
    """Who serves a command's model, and in which formats."""

    endpoint: Endpoint
    known: KnownAgent | None
    routes: tuple[str, ...]


@dataclass(slots=True)
class Session:
    """One session of an agent; `settings` is None where it asks its provider itself."""

    settings: EndpointSettings | None = None
    tally: Tally | None = None
    over: threading.Event = field(default_factory=threading.Event)

    def pointed(self, command: Sequence[str]) -> tuple[str, ...]:
        """Return the command with the words that point it at the endpoint."""
        words = () if self.settings is None else self.settings.words
        at = next((n for n, word in enumerate(command) if find_known([word])), 0) + 1
        return (*command[:at], *words, *command[at:])

    def reported(self, report: AgentReport) -> AgentReport:
        """Return the report with what the endpoint knows better: cost, calls, what it refused."""
        tally = self.tally
        if tally is None:
            return report
        ended, notes = report.ended, list(report.notes)
        if tally.refusal:
            ended = Ended.STEPS if tally.too_many else Ended.COST
            notes = [tally.refusal, *(note for note in notes if "ended by us" not in note)]
        elif tally.problem and ended is not Ended.DONE:
            notes.append(tally.problem)
        notes += _charged(tally)
        steps = max(report.steps, tally.calls)
        return AgentReport(ended, report.summary, steps, tally.cost, report.seconds, tuple(notes))


def _charged(tally: Tally) -> list[str]:
    """Say which calls are charged at more than is known of them."""
    notes: list[str] = []
    if tally.uncounted:
        notes.append(
            f"{tally.uncounted} replies named no tokens: each is charged at the most that its "
            "call could have used"
        )
    if tally.broken:
        notes.append(
            f"{tally.broken} calls ended without a whole reply: each is charged at the most that "
            "it could have cost"
        )
    if tally.unpriced:
        notes.append(f"no price is known for {tally.unpriced} calls: the cost is unknown")
    return notes


@contextmanager
def serving(
    service: Service | None, task: AgentTask, steps: int | None = None
) -> Generator[Session]:
    """Yield the session of a task; its calls of a model are refused when the session is over.

    `Session.over` is set some seconds after a call was refused for a cap: what still runs then
    shall be ended.
    """
    session = Session()
    if service is None:
        yield session
        return
    timer = threading.Timer(_PATIENCE, session.over.set)
    timer.daemon = True

    def refused() -> None:
        if timer.ident is None:
            timer.start()

    name = f"agent-{task.key}"
    with service.endpoint.session(name, steps=steps, on_refusal=refused) as door:
        session.tally = door.tally
        if service.known is None:
            session.settings = EndpointSettings({ADDRESS: door.address, KEY: door.key})
        else:
            session.settings = endpoint_settings(
                service.known, door.address, door.key, service.routes
            )
        try:
            yield session
        finally:
            timer.cancel()


@contextmanager
def open_service(
    wanted: Wanted, command: Sequence[str], calls: Path, keys: Keys | None = None
) -> Generator[Service | None]:
    """Yield what serves the model of an outside agent, or None where it asks its provider itself.

    A known agent is served where the user has a key for a provider that it can use; one that we do
    not know where its command names the endpoint.

    Args:
        wanted: the caps, and what the agent gets.
        command: its words.
        calls: the run's folder of calls.
        keys: the user's; read from the environment and `.env` where None.

    Raises:
        BadInputError: caps are set that nothing could hold, or the agent is to get a key that it
            must not have.
    """
    known = find_known(command)
    found = keys or Keys.load()
    routes = _routes(known, command, found)
    if wanted.uncapped or not routes:
        if not wanted.uncapped:
            _require_no_caps(wanted.budget, known)
        yield None
        return
    secret = {name for route in ROUTES for name in key_names(route)} & set(wanted.variables)
    if secret:
        raise BadInputError(
            f"the agent must not get {', '.join(sorted(secret))}: warploom serves its model, and "
            "shows the key to the provider alone",
            hint="leave out --agent-env for it, or give --uncapped-agent",
        )
    with Endpoint(wanted.budget, calls, found, price=wanted.price) as endpoint:
        yield Service(endpoint, known, routes)


def _routes(known: KnownAgent | None, command: Sequence[str], keys: Keys) -> tuple[str, ...]:
    if known is None:
        asks = any(name in word for word in command for name in (ADDRESS, KEY))
        possible = ROUTES if asks else ()
    else:
        possible = known.routes
    return tuple(route for route in possible if find_upstream(route, keys) is not None)


def _require_no_caps(budget: Budget, known: KnownAgent | None) -> None:
    caps = {
        "--max-cost": budget.dollars, "--max-tokens": budget.tokens,
        "--max-requests": budget.requests,
    }  # fmt: skip
    given = [name for name, value in caps.items() if value is not None]
    if not given:
        return
    if known is None:
        why = "warploom does not know how this agent is told where its model is"
        cure = f"let its command read {ADDRESS} and {KEY}"
    else:
        names = " or ".join(name for route in known.routes for name in key_names(route))
        why = f"{known.title} uses a login of its own: there is no key that warploom could show"
        cure = f"set {names}"
    raise BadInputError(
        f"{' and '.join(given)} cannot be held: {why}; only its steps and its time can",
        hint=f"{cure}; or give --uncapped-agent, and the agent's own limit where it has one",
    )
