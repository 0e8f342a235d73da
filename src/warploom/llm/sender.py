"""Sends one call: picks the model, reserves, tries, waits, falls back, records, settles."""

import asyncio
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TypeAlias
from weakref import WeakKeyDictionary

from warploom.core.errors import MissingToolError
from warploom.core.ids import digest
from warploom.llm.choice import ChoiceFile, ModelChoice
from warploom.llm.command import PREFIX, open_command
from warploom.llm.errors import (
    LLMBudgetError,
    LLMError,
    LLMOverloadedError,
    LLMServerError,
    LLMTimeoutError,
)
from warploom.llm.estimate import estimate_call, prompt_bound
from warploom.llm.keys import Keys
from warploom.llm.ledger import Ledger
from warploom.llm.prices import Prices
from warploom.llm.recorder import Call, Failure, Recorder
from warploom.llm.records import LLMRequest, LLMSettings, Usage
from warploom.llm.render import prompt_text, sent_json
from warploom.llm.transport import AttemptError, Delivery, Exchange, Transport

Opener: TypeAlias = Callable[[str, Keys, LLMSettings], Transport]
_PASSING = (LLMOverloadedError, LLMTimeoutError, LLMServerError)


class _Connections:
    """What belongs to one event loop: open transports and the limit of concurrent calls."""

    def __init__(self, concurrency: int) -> None:
        self.slots = asyncio.Semaphore(concurrency)
        self.transports: dict[str, Transport] = {}


class Sender:
    """Sends calls that no record holds."""

    def __init__(
        self,
        models: Sequence[str | Transport],
        choice: ModelChoice,
        settings: LLMSettings,
        keys: Keys,
        ledger: Ledger,
        recorder: Recorder,
        opener: Opener | None = None,
    ) -> None:
        self._given = {model.name: model for model in models if not isinstance(model, str)}
        self.names = tuple(m if isinstance(m, str) else m.name for m in models)
        self._choice = ChoiceFile(choice, self.names, recorder.folder / "choice.json")
        self._settings = settings
        self._keys = keys
        self._ledger = ledger
        self._recorder = recorder
        self._open = opener or _open_chat
        self._prices = Prices(settings.prices)
        self._loops: WeakKeyDictionary[asyncio.AbstractEventLoop, _Connections] = (
            WeakKeyDictionary()
        )

    async def send(self, request: LLMRequest, exchange: Exchange, call_id: str) -> Call:
        """Send a call and return it recorded and settled.

        Raises:
            LLMError: neither the picked model nor a fallback delivered, or a cap stands before it.
        """
        first = request.model or self._choice.pick(call_id)
        failures: list[Failure] = []
        error: LLMError | None = None
        for name in dict.fromkeys((first, *self._settings.fallbacks)):
            try:
                return await self._attempts(name, request, exchange, call_id, failures)
            except _PASSING as failure:
                error = error or failure
        assert error is not None
        raise error

    def reward(self, call_id: str, model: str, gain: float, cost_usd: float | None) -> None:
        """Tell the choice of models what came of a call."""
        self._choice.reward(call_id, model, gain, cost_usd)

    async def close(self) -> None:
        """Close the connections of the running loop."""
        here = self._loops.pop(asyncio.get_running_loop(), None)
        for transport in here.transports.values() if here else ():
            await transport.close()

    def _connections(self) -> _Connections:
        loop = asyncio.get_running_loop()
        if loop not in self._loops:
            self._loops[loop] = _Connections(self._settings.concurrency)
        return self._loops[loop]

    def _transport(self, name: str) -> Transport:
        here = self._connections()
        if name not in here.transports:
            given = self._given.get(name)
            here.transports[name] = given or self._open(name, self._keys, self._settings)
        return here.transports[name]

    async def _attempts(
        self,
        name: str,
        request: LLMRequest,
        exchange: Exchange,
        call_id: str,
        failures: list[Failure],
    ) -> Call:
        self._prices.require(name, self._ledger.budget)
        transport = self._transport(name)
        for attempt in range(1, self._settings.attempts + 1):
            started = time.monotonic()
            try:
                async with self._connections().slots:
                    started = time.monotonic()
                    return await self._attempt(transport, request, exchange, call_id, failures)
            except AttemptError as failure:
                latency = round(time.monotonic() - started, 4)
                told = self._keys.redact(failure.error.message)
                failures.append(Failure(name, f"{type(failure.error).__name__}: {told}", latency))
                if not failure.again or attempt == self._settings.attempts:
                    raise _final(failure.error, self._keys, attempt) from None
                await self._wait(failure, attempt, call_id)
        raise AssertionError("attempts is at least 1")

    async def _attempt(
        self,
        transport: Transport,
        request: LLMRequest,
        exchange: Exchange,
        call_id: str,
        failures: Sequence[Failure],
    ) -> Call:
        estimate = estimate_call(exchange, transport.name, self._prices)
        ticket = self._ledger.reserve(estimate, transport.name)
        note: Path | None = None
        billed = True
        try:
            note = self._recorder.intend(call_id, estimate)
            began, started = datetime.now(UTC), time.monotonic()
            delivery = _counted(await self._within(transport, exchange), exchange)
            call = self._made(
                transport.name, request, delivery, call_id,
                latency=time.monotonic() - started, began=began, note=note.name, failures=failures,
            )  # fmt: skip
            self._recorder.keep(call, sent_json(request, exchange), prompt_text(exchange))
            self._ledger.settle(ticket, call.delivery.usage, call.cost_usd)
            ticket = 0
            note.unlink()
            return call
        except AttemptError as failure:
            billed = failure.maybe_billed
            raise
        finally:
            if ticket and billed:  # also when cancelled: the note stays for the next process
                self._ledger.hold(ticket)
            elif ticket:
                self._ledger.release(ticket)
                if note is not None:
                    note.unlink()

    async def _within(self, transport: Transport, exchange: Exchange) -> Delivery:
        """Send within the call's time limit and what is left of the run's time."""
        left = self._ledger.seconds_left()
        limit = min(exchange.timeout_s, left)
        try:
            async with asyncio.timeout(limit):
                return await transport.send(replace(exchange, timeout_s=limit))
        except TimeoutError:
            if limit < exchange.timeout_s:
                raise LLMBudgetError(
                    f"the cap of {self._ledger.budget.seconds} seconds ended a call to "
                    f"{transport.name}",
                    hint="raise the cap and resume: what was paid for is kept",
                ) from None
            raise AttemptError(
                LLMTimeoutError(
                    f"{transport.name} sent no whole reply within {limit:g} s",
                    hint="raise timeout_s, lower max_output_tokens, or use another model",
                ),
                again=True,
                maybe_billed=True,
            ) from None

    def _made(
        self,
        name: str,
        request: LLMRequest,
        delivery: Delivery,
        call_id: str,
        *,
        latency: float,
        began: datetime,
        note: str,
        failures: Sequence[Failure],
    ) -> Call:
        return Call(
            call_id=call_id,
            key=request.key,
            purpose=request.purpose,
            model=name,
            delivery=replace(self._keys.redact_delivery(delivery), cost=None),
            cost_usd=self._cost(name, delivery),
            latency_s=round(latency, 6),
            started=began.isoformat(),
            run_seconds=round(self._ledger.run_seconds(), 3),
            note=note,
            failures=tuple(failures),
        )

    def _cost(self, name: str, delivery: Delivery) -> Decimal | None:
        """Return US dollars: what the model itself tells, or its tokens at their price."""
        told = delivery.cost
        return self._prices.cost(name, delivery.usage) if told is None else told

    async def _wait(self, failure: AttemptError, attempt: int, call_id: str) -> None:
        settings = self._settings
        wait = min(settings.backoff_s * 2 ** (attempt - 1), settings.backoff_max_s)
        # The jitter spreads concurrent calls; drawn from the call's name, so that runs repeat.
        wait *= random.Random(digest((call_id, str(attempt)))).uniform(0.75, 1.25)  # noqa: S311
        if failure.retry_after is not None:
            if failure.retry_after > settings.retry_after_max_s:
                raise _final(failure.error, self._keys, attempt)
            wait = max(wait, failure.retry_after)
        if wait >= self._ledger.seconds_left():
            raise LLMBudgetError(
                f"the next attempt is due in {wait:.1f} s, after the cap of "
                f"{self._ledger.budget.seconds} seconds: "
                f"{self._keys.redact(failure.error.message)}",
                hint="raise the cap and resume: what was paid for is kept",
            )
        await asyncio.sleep(wait)


def _counted(delivery: Delivery, exchange: Exchange) -> Delivery:
    """Return the reply with counts of tokens: bounds of them, where the server sent none."""
    if delivery.usage.total:
        return delivery
    sent = delivery.text + (delivery.output or "")
    sent += "".join(call.name + call.arguments for call in delivery.tool_calls)
    output = min(len(sent.encode()), exchange.max_output_tokens)
    return replace(delivery, usage=Usage(prompt_bound(exchange), output))


def _final(error: LLMError, keys: Keys, attempts: int) -> LLMError:
    times = f" (after {attempts} attempts)" if attempts > 1 else ""
    return type(error)(keys.redact(error.message) + times, hint=error.hint)


def missing_package(name: str, error: ModuleNotFoundError) -> MissingToolError:
    """Return the error of a call that needs the extra."""
    return MissingToolError(
        f"calling {name} needs the package {error.name}", hint="pip install 'warploom[llm]'"
    )


def _open_chat(name: str, keys: Keys, settings: LLMSettings) -> Transport:
    if name.startswith(f"{PREFIX}:"):
        return open_command(name)
    try:  # loads the provider's SDK, only to really send
        from warploom.llm.provider import open_model
    except ModuleNotFoundError as error:
        raise missing_package(name, error) from None
    return open_model(name, keys, settings)
