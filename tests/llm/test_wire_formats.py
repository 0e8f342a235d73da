"""Every provider over its real wire format, from a loopback server; counts add up to the cent."""

import json
from decimal import Decimal
from pathlib import Path

import pytest
from genai_prices import Usage as PricedUsage
from genai_prices import calc_price
from pydantic import BaseModel

from warploom.llm import Budget, LLMClient, LLMRequest, LLMSettings, Price, Usage
from warploom.llm.keys import Keys
from warploom.llm.names import parse_model
from warploom.llm.records import tool
from warploom.testing.loopback import KEY, MODELS, LoopbackServer
from warploom.testing.wire import Counts, Reply, WireCall

CODE = "__global__ void add(float* x) { x[0] += 1.0f; }\n" * 20
BOTH = [(p, stream) for p in MODELS for stream in (False, True) if (p, stream) != ("bedrock", True)]


class Verdict(BaseModel):
    ok: bool
    reasons: list[str]


class Where(BaseModel):
    path: str


async def read(where: Where) -> str:
    return f"content of {where.path}"


def requests() -> list[LLMRequest]:
    tools = (tool("read", "Reads a file.", Where, read),)
    return [
        LLMRequest("rewrite", "You write CUDA.", f"Improve:\n{CODE}", "i-1/rewrite"),
        LLMRequest("judge", "You judge.", "Is it right?", "i-1/judge", output=Verdict),
        LLMRequest("agent", "You use tools.", "Look.", "i-1/agent", tools=tools),
    ]


SCRIPT = (
    Reply(CODE, input_tokens=1203, output_tokens=407, cached=900),
    Reply(value={"ok": True, "reasons": ["a", "b"]}, input_tokens=77, output_tokens=13),
    Reply("Looking.", calls=(WireCall("read", {"path": "x.cu"}),), input_tokens=31),
    Reply("It is fine.", input_tokens=97, output_tokens=5),
)


def price(model: str, counts: Counts) -> Decimal:
    """The cost of one reply by the server's own count."""
    name = parse_model(model)
    if not name.provider.prices:
        fresh = counts.input - counts.cached
        return (
            Decimal(fresh * 2 + counts.output * 8) / 1_000_000 + Decimal(counts.cached) / 2_000_000
        )
    used = PricedUsage(
        input_tokens=counts.input, output_tokens=counts.output, cache_read_tokens=counts.cached
    )
    return calc_price(used, name.model, provider_id=name.provider.prices).total_price


@pytest.mark.parametrize(("prefix", "stream"), BOTH)
def test_text_typed_and_tool_replies(prefix: str, stream: bool, tmp_path: Path) -> None:
    with LoopbackServer(SCRIPT) as server:
        model = server.model(prefix)
        settings = LLMSettings(stream=stream, attempts=1, prices={})
        if not parse_model(model).provider.prices:
            settings = LLMSettings(stream=stream, attempts=1, prices={model: Price(2, 8, 0.5)})
        with LLMClient(
            [model], Budget(dollars=5.0), tmp_path, settings=settings, keys=server.keys()
        ) as client:
            rewrite, judge, agent = [client.ask_blocking(item) for item in requests()]
            spent = client.spent
    assert rewrite.text == CODE and rewrite.usage == Usage(1203, 407, 900)
    assert judge.output == Verdict(ok=True, reasons=["a", "b"])
    assert agent.text == "It is fine." and agent.calls == 2
    assert "content of x.cu" in server.asked[3].text and "Looking." in server.asked[3].text
    billed = server.billed()
    assert spent.usage == Usage(billed.input, billed.output, billed.cached)
    expected = sum(price(model, counts) for counts in server.delivered)
    assert spent.dollars == expected and spent.requests == 4
    costs = [reply.cost_usd for reply in (rewrite, judge, agent)]
    assert sum(cost for cost in costs if cost is not None) == pytest.approx(float(expected))
    assert ("stream" in server.asked[0].text) or prefix in ("bedrock", "gemini")
    check_body(prefix, server.asked[0].body)


def check_body(prefix: str, body: dict) -> None:
    """The request holds what was asked for, and the cap on its output, in every format."""
    text = json.dumps(body)
    assert "You write CUDA." in text and "x[0] += 1.0f" in text and "temperature" not in text
    assert "16384" in text
    if prefix in ("anthropic", "bedrock"):  # prompt caching is asked for where it must be
        assert "cache_control" in text or "cachePoint" in text


@pytest.mark.parametrize("prefix", ["anthropic", "openai", "openai-chat"])
def test_a_replay_needs_neither_server_nor_key(prefix: str, tmp_path: Path) -> None:
    with LoopbackServer(SCRIPT) as server:
        model = server.model(prefix)
        with LLMClient([model], Budget(dollars=5.0), tmp_path, keys=server.keys()) as client:
            first = [client.ask_blocking(item) for item in requests()]
            spent = client.spent
    with LLMClient([model], Budget(), tmp_path, keys=Keys({}), replay_only=True) as client:
        again = [client.ask_blocking(item) for item in requests()]
        assert client.spent == spent
    for one, two in zip(first, again, strict=True):
        assert two.replayed and not one.replayed
        fields = ("text", "output", "model", "usage", "cost_usd", "latency_s", "call_id", "calls")
        assert [getattr(one, f) for f in fields] == [getattr(two, f) for f in fields]


def test_the_key_is_in_no_file(tmp_path: Path) -> None:
    told = f"my key is {KEY}, keep it"
    with LoopbackServer([Reply(f"you said {KEY}"), Reply("x")]) as server:
        with LLMClient(
            [server.model("openai")], Budget(dollars=1), tmp_path, keys=server.keys()
        ) as client:
            reply = client.ask_blocking(LLMRequest("rewrite", told, told, "leak"))
        assert KEY not in server.asked[0].text  # not even the provider is told another's key
    assert reply.text == "you said [key]"
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) >= 4
    for path in files:
        assert KEY not in path.read_text(), path


def test_a_server_that_counts_nothing_is_counted_at_its_bound(tmp_path: Path) -> None:
    with (
        LoopbackServer([Reply("twelve bytes", usage=False)]) as server,
        LLMClient(
            [server.model("openai-compatible")], Budget(tokens=50_000), tmp_path, keys=server.keys()
        ) as client,
    ):
        reply = client.ask_blocking(LLMRequest("rewrite", "s", "p" * 1000, "k"))
    assert reply.usage.output == 12 and 1000 < reply.usage.input < 2000 and reply.cost_usd is None
