"""Caps stop before the call that would cross them, concurrent calls included."""

import asyncio
import time
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warploom.core.errors import BadInputError
from warploom.llm import Budget, LLMClient, LLMRequest, LLMSettings, Price
from warploom.llm.errors import LLMBudgetError
from warploom.llm.ledger import Estimate, Ledger
from warploom.llm.prices import Prices
from warploom.llm.records import Usage
from warploom.testing.loopback import LoopbackServer
from warploom.testing.scripted import Overloaded, ScriptedModel, Slow
from warploom.testing.wire import Reply

# A call of these tests: at most 600 + prompt input tokens and 1000 output tokens, at $1 and $10.
PRICED = LLMSettings(prices={"scripted": Price(1, 10)}, backoff_s=0.001)


def request(key: str, output: int = 1000) -> LLMRequest:
    return LLMRequest("rewrite", "s", "p", key, max_output_tokens=output)


async def ask_all(
    folder: Path, model: ScriptedModel, budget: Budget, count: int, settings: LLMSettings = PRICED
) -> tuple[list[str], LLMClient]:
    async with LLMClient([model], budget, folder, settings=settings) as client:
        asks = [client.ask(request(f"k/{n}")) for n in range(count)]
        done = await asyncio.gather(*asks, return_exceptions=True)
    ends = [type(item).__name__ for item in done]
    return ends, client


@pytest.mark.parametrize(
    ("budget", "fits"),
    [
        (Budget(requests=3), 3),
        (Budget(tokens=3 * 1700), 3),  # each can take 1578
        (Budget(dollars=0.0335), 3),  # each can cost 0.010578
        (Budget(dollars=0.0105), 0),
        (Budget(tokens=1577), 0),
        (Budget(tokens=1578), 1),
    ],
)
def test_calls_in_flight_are_counted(budget: Budget, fits: int, tmp_path: Path) -> None:
    model = ScriptedModel(lambda _: Slow("x", 0.05))
    ends, client = asyncio.run(ask_all(tmp_path, model, budget, 8))
    assert ends.count("LLMReply") == fits and ends.count("LLMBudgetError") == 8 - fits
    assert len(model.exchanges) == fits == client.spent.requests


def test_what_a_call_did_not_use_is_free_for_the_next(tmp_path: Path) -> None:
    model = ScriptedModel(lambda _: "x")
    with LLMClient([model], Budget(tokens=1700), tmp_path, settings=PRICED) as client:
        for n in range(20):  # each uses a few tokens of the 1578 that it could
            client.ask_blocking(request(f"k/{n}"))
        assert client.spent.usage.total <= 122
    with LLMClient([model], Budget(tokens=1600), tmp_path, settings=PRICED) as client:
        with pytest.raises(LLMBudgetError, match="cap of 1600 tokens") as caught:
            client.ask_blocking(request("another"))
        assert caught.value.exit_code == 1 and "resume" in caught.value.hint
        assert client.ask_blocking(request("k/3")).replayed  # what was paid for is still served


def test_attempts_that_are_turned_away_cost_nothing(tmp_path: Path) -> None:
    model = ScriptedModel([Overloaded()] * 4 + ["x"])
    with LLMClient([model], Budget(requests=1), tmp_path, settings=PRICED) as client:
        assert client.ask_blocking(request("k")).text == "x"


def test_attempts_that_may_be_billed_stop_the_next(tmp_path: Path) -> None:
    model = ScriptedModel(lambda _: Slow("x", 30))
    settings = LLMSettings(prices=PRICED.prices, backoff_s=0.001, timeout_s=0.02, attempts=9)
    with (
        LLMClient([model], Budget(dollars=0.025), tmp_path, settings=settings) as client,
        pytest.raises(LLMBudgetError, match=r"cap of 0\.025 dollars"),
    ):
        client.ask_blocking(request("k"))
    assert len(model.exchanges) == 2  # 2 x 0.0106 may be spent; a third could cross 0.025


def test_the_cap_on_time_ends_a_call_and_forbids_the_next(tmp_path: Path) -> None:
    model = ScriptedModel(lambda _: Slow("x", 30))
    with LLMClient([model], Budget(seconds=1.5, tokens=10**6), tmp_path) as client:
        began = time.monotonic()
        with pytest.raises(LLMBudgetError, match=r"1\.5 seconds ended a call"):
            client.ask_blocking(request("a"))
        assert time.monotonic() - began < 15
        with pytest.raises(LLMBudgetError, match=r"cap of 1\.5 seconds"):
            client.ask_blocking(request("b"))
    assert len(model.exchanges) == 1


def test_a_wait_beyond_the_cap_on_time_is_not_begun(tmp_path: Path) -> None:
    model = ScriptedModel(lambda _: Overloaded(retry_after=60))
    with (
        LLMClient([model], Budget(seconds=20, tokens=10**6), tmp_path) as client,
        pytest.raises(LLMBudgetError, match="next attempt is due in 60"),
    ):
        client.ask_blocking(request("a"))


def test_concurrency_is_limited(tmp_path: Path) -> None:
    flying, most = 0, 0

    class Watched(ScriptedModel):
        async def send(self, exchange):
            nonlocal flying, most
            flying += 1
            most = max(most, flying)
            try:
                return await ScriptedModel.send(self, exchange)
            finally:
                flying -= 1

    model = Watched(lambda _: Slow("x", 0.02))
    settings = LLMSettings(concurrency=3)
    ends, _ = asyncio.run(ask_all(tmp_path, model, Budget(tokens=10**6), 12, settings))
    assert ends == ["LLMReply"] * 12 and most == 3


@pytest.mark.parametrize("prefix", ["openai", "openai-chat", "anthropic"])
def test_a_cap_in_dollars_over_the_wire(prefix: str, tmp_path: Path) -> None:
    with LoopbackServer(lambda _: Reply("x" * 400, delay=0.5)) as server:
        bound = Prices({}).bound(server.model(prefix), 578, 2000)
        assert bound is not None
        cap = float(bound) * 3.5

        async def run() -> tuple[list[object], Decimal]:
            model, keys = server.model(prefix), server.keys()
            async with LLMClient([model], Budget(dollars=cap), tmp_path, keys=keys) as client:
                asks = [client.ask(request(f"k/{n}", 2000)) for n in range(8)]
                done = await asyncio.gather(*asks, return_exceptions=True)
                return list(done), client.spent.dollars

        done, dollars = asyncio.run(run())
    assert sum(isinstance(item, LLMBudgetError) for item in done) == 5
    assert len(server.asked) == 3 and 0 < dollars < cap


calls = st.lists(
    st.tuples(st.integers(0, 500), st.integers(0, 500), st.sampled_from("slhr")), max_size=40
)


@settings(max_examples=200, deadline=None)
@given(calls, st.integers(0, 3000))
def test_no_order_of_calls_crosses_a_cap(steps: list[tuple[int, int, str]], cap: int) -> None:
    """s: settle at once, l: settle later, h: perhaps billed, r: not billed. Usage stays bounded."""
    ledger = Ledger(Budget(tokens=cap, dollars=cap / 1000))
    later: list[tuple[int, Usage]] = []
    for bound, used, end in steps:
        usage = Usage(input=min(used, bound))
        try:
            ticket = ledger.reserve(Estimate(bound, Decimal(bound) / 1000), "m")
        except LLMBudgetError:
            continue
        if end == "s":
            ledger.settle(ticket, usage, Decimal(usage.total) / 1000)
        elif end == "l":
            later.append((ticket, usage))
        elif end == "h":
            ledger.hold(ticket)
        else:
            ledger.release(ticket)
    for ticket, usage in later:
        ledger.settle(ticket, usage, Decimal(usage.total) / 1000)
    spent = ledger.spent
    assert spent.usage.total + spent.uncertain_tokens <= cap
    assert spent.dollars + spent.uncertain_dollars <= Decimal(cap) / 1000


@pytest.mark.parametrize("name", ["dollars", "tokens", "requests", "seconds"])
def test_a_negative_cap_is_bad_input(name: str) -> None:
    with pytest.raises(BadInputError, match="must not be negative"):
        Budget(**{name: -1})
