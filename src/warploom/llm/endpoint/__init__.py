"""An endpoint of our own for the models of outside agents: caps, costs and keys are ours.

`Endpoint` belongs to a run, and `Endpoint.session` serves one session of an agent: it yields a
`Door` with an address on 127.0.0.1 and a key for the agent; `door.tally` says what it has used.
"""

import secrets
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from warploom.core.errors import MissingToolError
from warploom.llm.endpoint.meter import Meter, Tally
from warploom.llm.endpoint.server import Door
from warploom.llm.endpoint.upstream import ROUTES, Upstream, find_upstream, key_names
from warploom.llm.keys import Keys
from warploom.llm.ledger import Ledger, Spent
from warploom.llm.prices import Prices
from warploom.llm.recorder import Recorder
from warploom.llm.records import Budget, Price

__all__ = ["ROUTES", "Door", "Endpoint", "Tally", "Upstream", "find_upstream", "key_names"]


class Endpoint:
    """Serves agents' calls within the caps of one run, and records each as a call of the run.

    Args:
        budget: caps over all calls of the run, those of earlier processes included.
        records: the run's folder of calls; locked until `close`.
        keys: the user's keys; a route without one is not served.
        upstreams: by route, where calls go; found from `keys` where None.
        price: of every model that the agents ask for; None takes the table of prices.

    Raises:
        MissingToolError: the packages of the extra `llm` are not installed.
        BadInputError: another process uses the folder, or its records were changed.
    """

    def __init__(
        self,
        budget: Budget,
        records: Path,
        keys: Keys,
        *,
        upstreams: Mapping[str, Upstream] | None = None,
        price: Price | None = None,
    ) -> None:
        found = {route: find_upstream(route, keys) for route in ROUTES}
        self.upstreams = (
            {route: item for route, item in found.items() if item is not None}
            if upstreams is None
            else dict(upstreams)
        )
        self._keys = keys
        self._recorder = Recorder(records)
        self._recorder.open()
        try:
            ledger = Ledger(budget)
            ledger.restore(*self._recorder.spent())
            self._meter = Meter(ledger, self._recorder, Prices({}, price), keys)
        except BaseException:
            self._recorder.close()
            raise

    @property
    def spent(self) -> Spent:
        """What the run has paid for."""
        return self._meter.ledger.spent

    @property
    def budget(self) -> Budget:
        """The caps."""
        return self._meter.ledger.budget

    @contextmanager
    def session(
        self, name: str, *, steps: int | None = None, on_refusal: Callable[[], None] | None = None
    ) -> Generator[Door]:
        """Serve one session of an agent, with a key and a port of its own.

        Args:
            name: the beginning of the names of its recorded calls.
            steps: calls that it may make, or None.
            on_refusal: called (in another thread) when a call is refused for a cap.
        """
        tally = Tally(name, steps, on_refusal=on_refusal or (lambda: None))
        key = f"warploom-{secrets.token_urlsafe(32)}"
        try:
            door = Door(key, self.upstreams, self._meter, tally, self._keys)
        except ModuleNotFoundError as error:
            raise MissingToolError(
                f"serving an agent's model needs the package {error.name}",
                hint="pip install 'warploom[llm]'",
            ) from None
        thread = threading.Thread(target=door.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield door
        finally:
            door.close()
            thread.join()

    def close(self) -> None:
        """Release the folder."""
        self._recorder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()
