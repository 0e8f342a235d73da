"""What an endpoint takes from a provider's counts, and where it may not."""

import json
from pathlib import Path
from typing import Any

import pytest
from test_endpoint import Agent, opened

from warploom.llm import Budget, Price
from warploom.llm.endpoint.bounds import Learned, read_prompt
from warploom.llm.prices import Prices
from warploom.testing.loopback import LoopbackServer
from warploom.testing.wire import Asked, Raw, Reply

BIG = "x = y + z;\n" * 3000
CALL = {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "r", "input": {}}]}
RESULT = {
    "role": "user",
    "content": [{"type": "tool_result", "tool_use_id": "t", "content": BIG}],
}
CLEARS = {"edits": [{"type": "clear_tool_uses_20250919", "keep": {"value": 0}}]}
KEEPS = {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}
DROPS = {"edits": [{"type": "clear_thinking_20251015"}]}
BODY: dict[str, Any] = {"messages": [{"role": "user", "content": "hi"}, CALL, RESULT]}
THOUGHT = {
    "role": "assistant",
    "content": [{"type": "thinking", "thinking": BIG}, {"type": "tool_use", "id": "t"}],
}
SHORT = {"role": "user", "content": [{"type": "tool_result", "content": "ok"}]}
LATER = {"role": "user", "content": "and now"}
DEFERRED = [{"name": "big", "description": BIG, "defer_loading": True}]
FOUND = {
    "role": "user",
    "content": [{"type": "tool_result", "content": [{"type": "tool_reference", "name": "big"}]}],
}
IMAGE = {"role": "user", "parts": [{"inlineData": {"mimeType": "image/png", "data": "x"}}]}


def settings(**config: str) -> dict[str, Any]:
    return {"contents": [IMAGE], "generationConfig": config}


def reasoning(kept: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"type": "reasoning", **kept}, {"role": "user", "content": "x"}]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({**BODY, "context_management": CLEARS}, BODY),
        ({**BODY, "context_management": CLEARS}, {**BODY, "context_management": CLEARS}),
        ({**BODY, "context_management": DROPS}, {**BODY, "context_management": KEEPS}),
        (settings(mediaResolution="LOW"), settings(mediaResolution="HIGH")),
        ({**BODY, "thinking": {"type": "disabled"}}, {**BODY, "thinking": {"type": "adaptive"}}),
        ({**BODY, "tool_choice": {"type": "none"}}, {**BODY, "tool_choice": {"type": "any"}}),
        # thoughts are left out behind the user's next words, and counted without them
        (
            {"messages": [LATER, THOUGHT, SHORT, LATER]},
            {"messages": [LATER, THOUGHT, SHORT]},
        ),
        (
            {"input": [*reasoning({"encrypted_content": BIG}), LATER]},
            {"input": reasoning({"encrypted_content": BIG})},
        ),
        # a tool that is not loaded counts nothing until a reply of a search names it
        (
            {"tools": DEFERRED, "messages": [LATER]},
            {"tools": DEFERRED, "messages": [LATER, FOUND]},
        ),
    ],
)
def test_a_count_says_nothing_of_what_it_may_have_left_out(
    first: dict[str, Any], second: dict[str, Any]
) -> None:
    learned = Learned()
    learned.learn_billed(read_prompt("m", first), 50)
    assert learned.bound(read_prompt("m", second)) > 30_000


@pytest.mark.parametrize(
    "more",
    [
        {"max_tokens": 7, "stream": True, "metadata": {"user_id": "u"}},
        {"generationConfig": {"maxOutputTokens": 7}},
        {"stream_options": {"include_usage": True}, "prompt_cache_key": "k"},
        {"context_management": KEEPS},
    ],
)
def test_what_changes_from_call_to_call_does_not_undo_a_count(more: dict[str, Any]) -> None:
    learned = Learned()
    settings = {"context_management": more.get("context_management", {"edits": []})}
    learned.learn_billed(read_prompt("m", {**BODY, **settings}), 5000)
    longer = {"messages": [*BODY["messages"], LATER]}
    assert learned.bound(read_prompt("m", {**settings, **more, **longer})) < 6500


def test_thoughts_that_stay_in_their_place_are_counted() -> None:
    learned = Learned()
    learned.learn_billed(read_prompt("m", {"messages": [LATER, THOUGHT, SHORT]}), 5000)
    longer = {"messages": [LATER, THOUGHT, SHORT, LATER]}
    assert learned.bound(read_prompt("m", longer)) < 5500


@pytest.mark.parametrize(
    ("form", "more"),
    [
        ("messages", {"output_config": {"format": {"schema": {"description": "word " * 60_000}}}}),
        ("messages", {"output_format": {"schema": {"description": "word " * 60_000}}}),
        ("generate", {"generationConfig": {"responseSchema": {"description": "word " * 60_000}}}),
    ],
)
def test_what_a_count_is_not_of_counts_at_its_bytes(
    form: str, more: dict[str, object], tmp_path: Path
) -> None:
    def count(body: dict[str, Any]) -> int:
        return len(json.dumps({k: v for k, v in body.items() if k in ("messages", "contents")}))

    def answer(asked: Asked) -> Reply:
        return Reply("x", input_tokens=len(asked.text) // 4, output_tokens=10)

    with (
        LoopbackServer(answer, counter=count) as server,
        opened(server, tmp_path, Budget(dollars=0.10), price=Price(3, 15)) as door,
    ):
        assert Agent(door, form).ask("hi " * 4000, 100, **more).status_code == 400
    assert not server.asked


def test_clearing_first_does_not_open_the_cap(tmp_path: Path) -> None:
    """The server counts after clearing, as Anthropic does."""

    def answer(asked: Asked) -> Reply:
        cleared = "context_management" in asked.body
        return Reply("x", input_tokens=60 if cleared else len(asked.text), output_tokens=10)

    with (
        LoopbackServer(answer) as server,
        opened(server, tmp_path, Budget(dollars=0.40), price=Price(3, 15)) as door,
    ):
        agent = Agent(door, "messages")
        codes = [agent.ask(most=100, **BODY, context_management=CLEARS).status_code]
        while codes[-1] == 200:
            codes.append(agent.ask(most=100, **BODY).status_code)
    billed = server.billed()
    assert len(codes) > 2 and billed.input * 3e-6 + billed.output * 15e-6 <= 0.40


@pytest.mark.parametrize(("form", "times"), [("messages", 1.25), ("responses", 1), ("chat", 1)])
def test_a_price_of_two_numbers_counts_what_is_written_to_a_cache(
    form: str, times: float, tmp_path: Path
) -> None:
    reply = Reply("x", input_tokens=1000, cache_write=1000, output_tokens=0)
    with (
        LoopbackServer([reply]) as server,
        opened(server, tmp_path, Budget(dollars=1), price=Price(100, 1)) as door,
    ):
        assert Agent(door, form).ask(most=10).status_code == 200
    wrote = 1000 if form == "messages" else 0  # the others tell of no writing
    assert door.tally.cost == pytest.approx(((1000 - wrote) + wrote * times) * 100e-6)


def test_a_bound_holds_writing_to_a_cache() -> None:
    prices = Prices({}, Price(4, 1))
    assert prices.bound("anthropic:m", 1_000_000, 0) == 5
    assert prices.bound("bedrock:m", 1_000_000, 0) == 5
    assert prices.bound("gemini:m", 1_000_000, 0) == 4
    assert Prices({}, Price(4, 1, cache_write=8)).bound("anthropic:m", 1_000_000, 0) == 8
    assert Prices({"anthropic:m": Price(4, 1)}).bound("anthropic:m", 1_000_000, 0) == 5


def test_a_reply_without_a_count_of_its_prompt_counts_at_the_most(tmp_path: Path) -> None:
    """And it teaches nothing: the prompt would be taken to be free."""
    step = Raw('{"type":"message","usage":{"output_tokens":5}}')
    with (
        LoopbackServer([step, step]) as server,
        opened(server, tmp_path, Budget(dollars=0.03), price=Price(3, 15)) as door,
    ):
        agent = Agent(door, "messages")
        assert [agent.ask("x" * 5000, 10).status_code for _ in range(2)] == [200, 400]
    assert door.tally.uncounted == 1
