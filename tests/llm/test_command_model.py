"""A model behind a command: `command:TEMPLATE`."""

import json
import shlex
import sys
import time
from decimal import Decimal
from pathlib import Path
from textwrap import dedent

import pytest
from pydantic import BaseModel

from warploom.core.errors import MissingToolError
from warploom.llm import Budget, LLMClient, LLMReply, LLMRequest
from warploom.llm.errors import (
    LLMBudgetError,
    LLMEmptyError,
    LLMModelError,
    LLMPriceError,
    LLMRequestError,
    LLMServerError,
    LLMTimeoutError,
)
from warploom.llm.ledger import Spent
from warploom.llm.names import parse_model
from warploom.llm.records import LLMSettings, Price, tool
from warploom.llm.told import read_told


class Verdict(BaseModel):
    """A typed reply."""

    good: bool


def model(body: str, *words: str) -> str:
    """Return the model string of a Python program."""
    return "command:" + shlex.join([sys.executable, "-c", dedent(body), *words])


def ask(
    name: str,
    folder: Path,
    budget: Budget | None = None,
    price: Price | None = None,
    **more: object,
) -> tuple[LLMReply, Spent]:
    """Ask once."""
    settings = LLMSettings(prices={} if price is None else {name: price})
    with LLMClient([name], budget, folder, settings=settings) as client:
        request = LLMRequest("rewrite", "You write CUDA.", "Fuse these loops.", "k", **more)
        return client.ask_blocking(request), client.spent


CLAUDE = {
    "type": "result", "subtype": "success", "is_error": False, "result": "fused",
    "total_cost_usd": 0.0123,
    "usage": {
        "input_tokens": 10, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20,
        "output_tokens": 7,
    },
}  # fmt: skip


def test_the_prompt_goes_in_and_the_reply_comes_out(tmp_path: Path) -> None:
    said = "import sys; print('heard: ' + sys.stdin.read())"
    reply, spent = ask(model(said), tmp_path, Budget(tokens=10**6))
    assert reply.text == "heard: You write CUDA.\n\nFuse these loops."
    assert reply.cost_usd is None and spent.unpriced_requests == 1


def test_without_a_cap_in_dollars_no_price_is_asked_for(tmp_path: Path) -> None:
    reply, _ = ask(model("print('done')"), tmp_path, Budget(requests=1))
    assert reply.text == "done"


def test_a_file_can_hold_the_prompt(tmp_path: Path) -> None:
    said = "import sys; print(open(sys.argv[1]).read(), repr(sys.stdin.read()))"
    reply, _ = ask(model(said, "{prompt_file}"), tmp_path, Budget(tokens=10**6))
    assert "Fuse these loops.\n ''" in reply.text


def test_claudes_json_tells_reply_tokens_and_cost(tmp_path: Path) -> None:
    name = model(f"print({json.dumps(CLAUDE)!r})")
    reply, spent = ask(name, tmp_path, Budget(tokens=10**6))
    assert reply.text == "fused" and reply.cost_usd == 0.0123
    assert (reply.usage.input, reply.usage.cached, reply.usage.output) == (130, 100, 7)
    assert spent.dollars == Decimal("0.0123") and not spent.unpriced_requests
    again, _ = ask(name, tmp_path, Budget(tokens=10**6))  # from the record
    assert again.replayed and again.cost_usd == 0.0123


@pytest.mark.parametrize(
    "printed",
    [
        json.dumps([{"type": "system"}, CLAUDE]),
        json.dumps({"type": "system"}) + "\n" + json.dumps(CLAUDE) + "\n",
        "a warning\n" + json.dumps(CLAUDE),
    ],
)
def test_other_shapes_of_claudes_json(printed: str) -> None:
    told = read_told(printed)
    assert told is not None and (told.text, told.dollars) == ("fused", 0.0123)


@pytest.mark.parametrize("printed", ["text", "{broken", '{"type": "other"}', "[1, 2]", ""])
def test_what_is_no_json_of_claude_is_text(printed: str) -> None:
    assert read_told(printed) is None


def test_a_json_without_a_cost_leaves_it_unknown(tmp_path: Path) -> None:
    told = {name: value for name, value in CLAUDE.items() if name != "total_cost_usd"}
    reply, spent = ask(model(f"print({json.dumps(told)!r})"), tmp_path, Budget(tokens=10**6))
    assert reply.cost_usd is None and spent.unpriced_requests == 1


def test_a_typed_reply(tmp_path: Path) -> None:
    said = "import sys; assert 'schema' in sys.stdin.read(); print('Here: {\"good\": true}')"
    reply, _ = ask(model(said), tmp_path, Budget(tokens=10**6), output=Verdict)
    assert reply.output == Verdict(good=True)


def test_dollars_need_a_price_and_then_hold_it(tmp_path: Path) -> None:
    name = model(f"print({json.dumps(CLAUDE)!r})")
    with pytest.raises(LLMPriceError, match="no price is known for command"):
        ask(name, tmp_path, Budget(dollars=1))
    with pytest.raises(LLMBudgetError, match=r"cap of 0\.01 dollars"):
        ask(name, tmp_path, Budget(dollars=0.01), Price(3, 15))
    reply, _ = ask(name, tmp_path, Budget(dollars=1), Price(3, 15))
    assert reply.cost_usd == 0.0123  # what it tells goes before the price


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ("import sys; sys.exit('please log in')", "please log in"),
        (f"print({json.dumps({**CLAUDE, 'is_error': True, 'result': 'no credit'})!r})",
         "no credit"),
        ("import os; os.kill(os.getpid(), 9)", "signal 9"),
    ],
)  # fmt: skip
def test_a_command_that_fails_says_why_and_may_have_cost(
    body: str, word: str, tmp_path: Path
) -> None:
    name = model(body)
    with LLMClient([name], Budget(tokens=10**6), tmp_path) as client:
        with pytest.raises(LLMServerError, match=word):
            client.ask_blocking(LLMRequest("rewrite", "s", "p", "k"))
        assert client.spent.uncertain_requests == 1


def test_nothing_printed_is_an_empty_reply(tmp_path: Path) -> None:
    with pytest.raises(LLMEmptyError):
        ask(model("pass"), tmp_path, Budget(tokens=10**6))


def test_a_command_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    mark = tmp_path / "alive"
    child = f"import time, pathlib; time.sleep(3); pathlib.Path({str(mark)!r}).touch()"
    body = f"""
        import subprocess, sys, time
        subprocess.Popen([sys.executable, "-c", {child!r}])
        time.sleep(600)
    """
    settings = LLMSettings(attempts=1)
    with (
        LLMClient([model(body)], Budget(tokens=10**6), tmp_path / "c", settings=settings) as client,
        pytest.raises(LLMTimeoutError),
    ):
        client.ask_blocking(LLMRequest("rewrite", "s", "p", "k", timeout_s=1.0))
    time.sleep(3.5)
    assert not mark.exists()


def test_a_missing_program_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingToolError, match="no-such-model"):
        ask("command:no-such-model -p", tmp_path, Budget(tokens=10**6))


def test_tools_are_refused(tmp_path: Path) -> None:
    async def run(_: Verdict) -> str:
        return ""

    with pytest.raises(LLMRequestError, match="cannot call tools"):
        ask(
            model("print(1)"), tmp_path, Budget(tokens=10**6),
            tools=(tool("t", "a tool", Verdict, run),),
        )  # fmt: skip


@pytest.mark.parametrize("text", ["command:", "command:  ", "command:claude 'open"])
def test_a_wrong_template_is_refused(text: str) -> None:
    with pytest.raises(LLMModelError):
        parse_model(text)


def test_an_address_in_a_template_stays_there() -> None:
    assert parse_model("command:ask user@http://x").model == "ask user@http://x"
