"""Where a search asks language models: questions go out, replies are fetched when they are there.

Calls run in a thread of their own, so that programs are judged meanwhile. Every reply is on disk
(`llm/` in the run's folder) before anybody gets it.
"""

import asyncio
import contextlib
import threading
from dataclasses import dataclass
from pathlib import Path

from warploom.core.errors import MissingToolError
from warploom.evolve.config import ModelsConfig
from warploom.llm import Budget, LLMClient, LLMReply, LLMRequest, LLMSettings, Price
from warploom.llm.errors import LLMError
from warploom.llm.keys import Keys
from warploom.llm.ledger import Spent
from warploom.llm.names import parse_model
from warploom.llm.prices import Prices
from warploom.llm.recorder import Recorder

FOLDER = "llm"
"""Where calls are recorded, below the run's folder."""


@dataclass(frozen=True, slots=True)
class Said:
    """What came of a question: a reply, or the error; and its cost in US dollars."""

    reply: LLMReply | None
    error: Exception | None
    cost: float


class ModelDesk:
    """Asks the models of a run, within its caps.

    Raises:
        LLMError: a model's name, key or price is missing or wrong: nothing was sent.
    """

    def __init__(self, config: ModelsConfig, max_dollars: float | None, folder: Path) -> None:
        price = None if config.price is None else Price(*config.price)
        prices = {} if price is None else dict.fromkeys(config.asked, price)
        budget = Budget(max_dollars, config.max_tokens, config.max_requests)
        for name in config.asked:
            _require(name, Prices(prices), budget)
        self._records = Recorder(folder)
        settings = LLMSettings(
            timeout_s=config.timeout_s, prices=prices, concurrency=config.concurrency + 1
        )
        self._client = LLMClient(config.asked, budget, folder, settings=settings)
        self._places = asyncio.Semaphore(config.concurrency)
        self._said: dict[int, Said] = {}
        self._asked: set[int] = set()
        self._fresh = False
        self._ready = threading.Condition()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    @property
    def spent(self) -> Spent:
        """What the run has paid for, in earlier processes too."""
        return self._client.spent

    @property
    def busy(self) -> int:
        """How many questions are out whose replies nobody has taken."""
        with self._ready:
            return len(self._asked) + len(self._said)

    def ask(self, key: int, request: LLMRequest, *, beside: bool = False) -> None:
        """Send a question; `key` names its reply, and no other question that is out.

        Of those that do not go `beside` the others, `models.concurrency` are out at once.
        """
        with self._ready:
            assert key not in self._asked and key not in self._said
            self._asked.add(key)
        asyncio.run_coroutine_threadsafe(self._answer(key, request, beside), self._loop)

    def take(self, key: int) -> Said | None:
        """Return what came of a question, once; None until it is there."""
        with self._ready:
            return self._said.pop(key, None)

    def wait(self, seconds: float) -> None:
        """Wait until a reply has come in since the last time, at most `seconds`."""
        with self._ready:
            self._ready.wait_for(lambda: self._fresh or not self._asked, seconds)
            self._fresh = False

    def close(self) -> None:
        """End what is under way and release the folder."""
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _answer(self, key: int, request: LLMRequest, beside: bool) -> None:
        reply: LLMReply | None = None
        error: Exception | None = None
        try:
            async with contextlib.nullcontext() if beside else self._places:
                reply = await self._client.ask(request)
        except Exception as raised:  # noqa: BLE001 - handed to whoever takes it
            error = raised
        cost = (reply.cost_usd or 0.0) if reply is not None else self._paid(request, error)
        with self._ready:
            self._asked.discard(key)
            self._said[key] = Said(reply, error, cost)
            self._fresh = True
            self._ready.notify_all()

    async def _end(self) -> None:
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._client.aclose()

    def _paid(self, request: LLMRequest, error: Exception | None) -> float:
        """Return what was paid for a question that has no usable reply."""
        if not isinstance(error, LLMError) or not error.call_id:
            return 0.0
        calls = (call for call in self._records.calls() if call.key == request.key)
        return float(sum(call.cost_usd or 0 for call in calls))


def _require(name: str, prices: Prices, budget: Budget) -> None:
    """Raise where a model could not be asked: before hours are spent on the rest."""
    parsed = parse_model(name)
    prices.require(name, budget)
    try:
        from warploom.llm.open import find_key
    except ModuleNotFoundError as error:
        raise MissingToolError(
            f"calling {name} needs the package {error.name}", hint="pip install 'warploom[llm]'"
        ) from None
    find_key(parsed, Keys.load())
