"""The client against scripted models: replies, records, replay, repairs, tools."""

import asyncio
from pathlib import Path

import pytest
from pydantic import BaseModel

from warploom.core.errors import BadInputError
from warploom.llm import Budget, LLMClient, LLMRequest, LLMSettings, Usage
from warploom.llm.errors import (
    LLMEmptyError,
    LLMOutputError,
    LLMOverloadedError,
    LLMReplayError,
    LLMTimeoutError,
    LLMTruncatedError,
)
from warploom.llm.recorder import Recorder
from warploom.llm.records import tool
from warploom.llm.transport import Delivery, Repair, Results, ToolCall
from warploom.testing.scripted import Overloaded, ScriptedModel, Slow

QUICK = LLMSettings(backoff_s=0.001)
ENOUGH = Budget(tokens=10_000_000)


class Verdict(BaseModel):
    ok: bool


class Path_(BaseModel):  # noqa: N801
    path: str


def request(prompt: str = "say hello", key: str = "iteration-1/rewrite", **more) -> LLMRequest:
    return LLMRequest("rewrite", "be brief", prompt, key, **more)


def ask(folder: Path, model: ScriptedModel, *requests: LLMRequest, **more):
    settings = more.pop("settings", QUICK)
    with LLMClient(
        [model], more.pop("budget", ENOUGH), folder, settings=settings, **more
    ) as client:
        replies = [client.ask_blocking(item) for item in requests]
        return replies, client.spent


def test_a_reply_and_its_record(tmp_path: Path) -> None:
    (reply,), spent = ask(tmp_path, ScriptedModel(["hello there"]), request())
    assert reply.text == "hello there" and reply.model == "scripted" and not reply.replayed
    assert reply.usage == Usage(input=5, output=3) and spent.usage == reply.usage
    folder = tmp_path / reply.call_id
    assert folder.name.startswith("iteration-1--rewrite-1-")
    assert (folder / "reply.md").read_text() == "hello there"
    assert "say hello" in (folder / "prompt.md").read_text()
    assert list((tmp_path / "pending").iterdir()) == []


def test_a_recorded_call_is_not_sent_again_and_counts_once(tmp_path: Path) -> None:
    (first,), spent = ask(tmp_path, ScriptedModel(["one"]), request())
    silent = ScriptedModel([])
    (again,), after = ask(tmp_path, silent, request())
    assert again.replayed and not first.replayed and silent.exchanges == []
    assert (again.text, again.usage, again.latency_s) == ("one", first.usage, first.latency_s)
    assert after == spent


def test_another_prompt_or_key_is_another_call(tmp_path: Path) -> None:
    model = ScriptedModel(["a", "b", "c"])
    replies, spent = ask(
        tmp_path, model, request(), request("other"), request(key="iteration-2/rewrite")
    )
    assert [reply.text for reply in replies] == ["a", "b", "c"] and spent.requests == 3


def test_replay_only_sends_nothing_and_says_what_is_missing(tmp_path: Path) -> None:
    ask(tmp_path, ScriptedModel(["one"]), request())
    (reply,), _ = ask(tmp_path, ScriptedModel([]), request(), replay_only=True)
    assert reply.text == "one"
    with pytest.raises(LLMReplayError, match=r"iteration-1--rewrite-1-\w{16}.*key 'iteration-1"):
        ask(tmp_path, ScriptedModel([]), request("changed"), replay_only=True)


def test_a_typed_reply_of_the_wrong_type_is_sent_back(tmp_path: Path) -> None:
    model = ScriptedModel(["I think so.", '```json\n{"ok": "maybe"}\n```', Verdict(ok=True)])
    (reply,), _ = ask(tmp_path, model, request(output=Verdict))
    assert reply.output == Verdict(ok=True) and reply.calls == 3
    repair = model.exchanges[-1].turns[-1]
    assert isinstance(repair, Repair) and "ok: Input should be a valid boolean" in repair.text
    (again,), _ = ask(tmp_path, ScriptedModel([]), request(output=Verdict))
    assert again.replayed and again.output == reply.output and again.usage == reply.usage
    with pytest.raises(LLMOutputError, match="does not fit Verdict"):
        ask(tmp_path, ScriptedModel(["no"] * 3), request("x", output=Verdict))


def test_tools_run_and_their_results_are_recorded(tmp_path: Path) -> None:
    ran: list[str] = []

    async def read(arguments: Path_) -> str:
        ran.append(arguments.path)
        return f"content {len(ran)}"

    def wanted() -> LLMRequest:
        look = tool("look", "Reads.", Path_, read, effects=False)
        edit = tool("edit", "Edits.", Path_, read)
        return request(tools=(look, edit))

    calls = (
        ToolCall("1", "look", '{"path": "a"}'),
        ToolCall("2", "edit", '{"path": "b"}'),
        ToolCall("3", "burn", "{}"),
        ToolCall("4", "look", "[]"),
    )
    model = ScriptedModel([Delivery("", Usage(1, 1), "tool_call", tool_calls=calls), "done"])
    (reply,), _ = ask(tmp_path, model, wanted())
    assert reply.text == "done" and reply.calls == 2 and ran == ["a", "b"]
    shown = model.exchanges[1].turns[-1]
    assert isinstance(shown, Results)
    texts = [item.text for item in shown.results]
    assert texts[:2] == ["content 1", "content 2"]
    assert "no tool 'burn'; there are look, edit" in texts[2] and "do not fit" in texts[3]
    (again,), _ = ask(tmp_path, ScriptedModel([]), wanted())
    assert again.replayed and again.text == "done"
    assert ran == ["a", "b", "b"]  # only the tool with effects ran again


def test_a_model_that_never_stops_calling_tools_is_stopped(tmp_path: Path) -> None:
    async def read(arguments: Path_) -> str:
        return "again"

    def forever(exchange: object) -> Delivery:
        call = ToolCall("1", "look", '{"path": "a"}')
        return Delivery("", Usage(1, 1), "tool_call", tool_calls=(call,))

    tools = (tool("look", "Reads.", Path_, read),)
    model = ScriptedModel(forever)
    with pytest.raises(LLMOutputError, match="after 3 turns"):
        ask(tmp_path, model, request(tools=tools, max_turns=3))
    assert len(model.exchanges) == 3


def test_overload_is_retried_then_falls_back_then_ends(tmp_path: Path) -> None:
    model = ScriptedModel([Overloaded(), Overloaded(retry_after=0.01), "at last"])
    (reply,), spent = ask(tmp_path, model, request())
    assert reply.text == "at last" and spent.requests == 1 and spent.uncertain_requests == 0
    other = ScriptedModel(lambda _: Overloaded())
    with pytest.raises(LLMOverloadedError, match=r"after 2 attempts"):
        ask(tmp_path, other, request("y"), settings=LLMSettings(attempts=2, backoff_s=0.001))
    assert len(other.exchanges) == 2


def test_an_empty_reply_is_not_paid_twice(tmp_path: Path) -> None:
    for model in (ScriptedModel(["  \n", "text"]), ScriptedModel([])):  # the second run replays it
        with pytest.raises(LLMEmptyError, match="empty reply"):
            ask(tmp_path, model, request())
        assert Recorder(tmp_path).spent()[0].requests == 1


def test_a_truncated_reply_is_paid_for_once(tmp_path: Path) -> None:
    cut = Delivery("half of", Usage(3, 16), "length")
    for model in (ScriptedModel([cut]), ScriptedModel([])):
        with pytest.raises(LLMTruncatedError, match="limit of 16 tokens") as caught:
            ask(tmp_path, model, request(max_output_tokens=16))
        assert (tmp_path / caught.value.call_id / "reply.md").read_text() == "half of"
        assert "max_output_tokens" in caught.value.hint


def test_a_hanging_model_ends_in_time_and_counts_as_perhaps_billed(tmp_path: Path) -> None:
    settings = LLMSettings(attempts=1)
    with pytest.raises(LLMTimeoutError, match=r"within 0\.05 s"):
        ask(tmp_path, ScriptedModel([Slow("x", 30)]), request(timeout_s=0.05), settings=settings)
    (_,), spent = ask(tmp_path, ScriptedModel(["now"]), request("other"))
    assert spent.requests == 1 and spent.uncertain_requests == 1
    assert spent.uncertain_tokens > 16_384


def test_concurrent_calls_and_a_key_in_use(tmp_path: Path) -> None:
    async def run() -> list[str]:
        model = ScriptedModel([Slow("a", 0.02), Slow("b", 0.01), "c", Slow("d", 0.01)])
        async with LLMClient([model], ENOUGH, tmp_path, settings=QUICK) as client:
            asks = [client.ask(request(key=f"k/{n}")) for n in range(3)]
            replies = await asyncio.gather(*asks)
            with pytest.raises(BadInputError, match="is under way"):
                await asyncio.gather(client.ask(request("p")), client.ask(request("p")))
        return [reply.text for reply in replies]

    assert asyncio.run(run()) == ["a", "b", "c"]


def test_two_processes_cannot_share_a_folder(tmp_path: Path) -> None:
    with LLMClient([ScriptedModel([])], ENOUGH, tmp_path):
        with pytest.raises(BadInputError, match="another process"):
            LLMClient([ScriptedModel([])], ENOUGH, tmp_path)
        LLMClient([ScriptedModel([])], ENOUGH, tmp_path, replay_only=True)


def test_a_blocking_call_within_an_event_loop_says_so(tmp_path: Path) -> None:
    async def run() -> None:
        async with LLMClient([ScriptedModel([])], ENOUGH, tmp_path) as client:
            with pytest.raises(BadInputError, match="within an event loop"):
                client.ask_blocking(request())

    asyncio.run(run())


def test_a_tool_that_refuses_its_input_tells_the_model(tmp_path: Path) -> None:
    async def read(arguments: Path_) -> str:
        raise BadInputError(f"no such file: {arguments.path}")

    call = ToolCall("1", "look", '{"path": "gone"}')
    model = ScriptedModel([Delivery("", Usage(1, 1), "tool_call", tool_calls=(call,)), "I see"])
    ask(tmp_path, model, request(tools=(tool("look", "Reads.", Path_, read),)))
    shown = model.exchanges[1].turns[-1]
    assert isinstance(shown, Results) and shown.results[0].text == "error: no such file: gone"
    results = next(tmp_path.glob("*/results.json"))
    results.write_text("[1")
    with pytest.raises(BadInputError, match="not the results of tools"):
        ask(tmp_path, ScriptedModel([]), request(tools=(tool("look", "Reads.", Path_, read),)))


def test_a_call_that_was_cut_off_is_asked_of_the_same_model(tmp_path: Path) -> None:
    def models(first: object) -> list[ScriptedModel]:
        return [ScriptedModel([first, "more"], name="a"), ScriptedModel(["other"], name="b")]

    async def cut(client: LLMClient) -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await client.ask(request())

    with LLMClient(models(Slow("x", 30)), ENOUGH, tmp_path) as client:
        client._loop().run(cut(client))
    with LLMClient(models("back"), ENOUGH, tmp_path) as client:
        assert client.ask_blocking(request()).model == "a"
        assert client.ask_blocking(request(key="next")).model == "b"
