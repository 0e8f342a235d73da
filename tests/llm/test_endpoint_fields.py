"""What of a call an endpoint sends on: fields by any of their names, and none that costs more."""

from pathlib import Path
from typing import Any

import httpx2
import pytest
from test_endpoint import Agent, limit_of, opened

from warploom.llm import Budget, Price
from warploom.testing.loopback import Every, LoopbackServer
from warploom.testing.wire import Asked, Reply

CAP = 0.05


def sent(form: str, folder: Path, **more: object) -> tuple[int, str, list[Asked]]:
    """Ask within a small cap; returns the status, what was said, and what the provider got."""
    reply = Reply("ok", input_tokens=10, output_tokens=5)
    with (
        LoopbackServer(lambda _: reply, models=Every()) as server,
        opened(server, folder, Budget(dollars=CAP), price=Price(1, 10)) as door,
    ):
        agent = Agent(door, form)
        body: dict[str, Any] = agent.body("hello", 100)
        limits = ("max_tokens", "max_output_tokens", "generationConfig")
        if any(name in more for name in ("max_completion_tokens", "generation_config")):
            body = {name: value for name, value in body.items() if name not in limits}
        response = agent.send(body | more)
    return response.status_code, response.text, server.asked


ODD_LIMITS = [
    ("messages", {"max_tokens": 100.0}),
    ("messages", {"max_tokens": "100"}),
    ("messages", {"thinking": {"type": "enabled", "budget_tokens": "90000"}}),
    ("responses", {"max_output_tokens": 1e9}),
    ("responses", {"max_output_tokens": [100]}),
    ("responses", {"max_output_tokens": True}),
    ("chat", {"max_tokens": 10, "max_completion_tokens": 900_000.0}),
    ("chat", {"max_completion_tokens": 10, "max_tokens": "900000"}),
    ("generate", {"generationConfig": {"maxOutputTokens": "65000"}}),
    ("generate", {"generation_config": {"max_output_tokens": 65000.0}}),
    ("chat", {"n": "8"}),
    ("chat", {"n": 8.0}),
    ("chat", {"n": [8]}),
    ("generate", {"generationConfig": {"candidateCount": "8"}}),
    ("generate", {"generationConfig": {"candidate_count": 8}}),
    ("generate", {"generation_config": {"candidateCount": 8.0}}),
    ("generate", {"generation_config": {"candidate_count": 8}}),
]


@pytest.mark.parametrize(("form", "more"), ODD_LIMITS)
def test_a_number_in_odd_words_is_refused(
    form: str, more: dict[str, object], tmp_path: Path
) -> None:
    status, _, asked = sent(form, tmp_path, **more)
    assert status == 400 and not asked


@pytest.mark.parametrize(
    "more",
    [
        {"generation_config": {}, "generationConfig": {}},
        {"generationConfig": {"maxOutputTokens": 5, "max_output_tokens": 60000}},
        {"generationConfig": {"max_output_tokens": 5, "max_outputTokens": 60000}},
        {"contents": [{"parts": [{"inlineData": {}, "inline_data": {}}]}]},
    ],
)
def test_a_field_by_two_names_is_refused(more: dict[str, object], tmp_path: Path) -> None:
    status, told, asked = sent("generate", tmp_path, **more)
    assert status == 400 and "twice" in told and not asked


@pytest.mark.parametrize(
    ("form", "more"),
    [
        ("chat", {"max_tokens": 10, "max_completion_tokens": 900_000}),
        ("chat", {"max_completion_tokens": 10, "max_tokens": 900_000}),
        ("chat", {"max_tokens": None, "max_completion_tokens": 900_000}),
        ("generate", {"generation_config": {"max_output_tokens": 65_000}}),
    ],
)
def test_exactly_one_limit_is_sent(form: str, more: dict[str, object], tmp_path: Path) -> None:
    status, _, (asked,) = sent(form, tmp_path, **more)
    assert status == 200 and limit_of(asked) * 10e-6 <= CAP
    assert sum(asked.text.count(name) for name in ("max_tokens", "max_completion", "max_out")) == (
        0 if form == "generate" else 1
    )
    assert asked.text.count("maxOutputTokens") == (form == "generate")


def test_a_model_of_images_answers_gemini_calls_in_text(tmp_path: Path) -> None:
    """OpenCode chooses one where nobody names another."""
    reply = Reply("ok", input_tokens=10, output_tokens=5)
    with (
        LoopbackServer([reply], models=Every()) as server,
        opened(server, tmp_path, Budget(dollars=CAP), price=Price(1, 10)) as door,
        httpx2.Client() as client,
    ):
        for model, status in (("gemini-3-pro-image-preview", 200), ("gemini-2.5-flash-tts", 400)):
            response = client.post(
                f"{door.address}/v1beta/models/{model}:generateContent",
                json={"contents": [{"parts": [{"text": "hi"}]}]},
                headers={"x-goog-api-key": door.key},
            )
            assert response.status_code == status, response.text
    (asked,) = server.asked
    assert asked.body["generationConfig"]["responseModalities"] == ["TEXT"]


def test_geminis_second_names_are_read_as_the_first(tmp_path: Path) -> None:
    schema = {"type": "OBJECT", "properties": {"file_name": {"type": "STRING"}}}
    call = {"name": "edit", "args": {"file_name": "a.cu"}}
    status, _, (asked,) = sent(
        "generate", tmp_path,
        contents=[{"role": "model", "parts": [{"function_call": call, "thought_signature": "x"}]}],
        system_instruction={"parts": [{"text": "be short"}]},
        tools=[{"google_search": {}, "function_declarations": [{"name": "edit",
                                                               "parameters": schema}]}],
        generation_config={"thinking_config": {"include_thoughts": True}, "top_p": 0.5},
    )  # fmt: skip
    assert status == 200
    assert asked.body["contents"][0]["parts"] == [{"functionCall": call, "thoughtSignature": "x"}]
    assert asked.body["systemInstruction"] == {"parts": [{"text": "be short"}]}
    assert asked.body["tools"] == [{"functionDeclarations": [{"name": "edit",
                                                              "parameters": schema}]}]  # fmt: skip
    config = asked.body["generationConfig"]
    assert config["thinkingConfig"] == {"includeThoughts": True} and config["topP"] == 0.5


DEARER = [
    ("messages", {"speed": "fast"}),
    ("messages", {"service_tier": "auto"}),
    ("messages", {"mcp_servers": []}),
    ("messages", {"cache_control": {"type": "ephemeral", "ttl": "1h"}}),
    ("messages", {"tools": [{"name": "x", "cache_control": {"type": "ephemeral", "ttl": "1h"}}]}),
    ("messages", {"system": [{"text": "x", "cache_control": {"type": "ephemeral", "ttl": "1h"}}]}),
    ("messages", {"tools": [{"type": "custom_web_search_20250305", "name": "w"}]}),
    ("messages", {"tools": [{"type": "bash_code_execution_20250825", "name": "w"}]}),
    ("messages", {"tools": [{"type": ["custom"], "name": "w"}]}),
    ("messages", {"context_management": {"edits": [{"type": "compact_20260112"}]}}),
    ("responses", {"tools": [{"type": "shell", "environment": {"type": "container_auto"}}]}),
    ("responses", {"tools": [{"type": "namespace", "name": "n", "tools": [
        {"type": "web_search"}, {"type": "mcp", "server_url": "http://x"}]}]}),
    ("responses", {"tools": [{"type": "tool_search"}]}),
    ("responses", {"input": [{"type": "additional_tools", "tools": [{"type": "web_search"}]}]}),
    ("responses", {"input": [{"type": "tool_search_output", "tools": [
        {"type": "namespace", "name": "n", "tools": [{"type": "mcp"}]}]}]}),
    ("responses", {"context_management": [{"type": "compaction"}]}),
    ("responses", {"truncation": "auto"}),
    ("chat", {"prediction": {"type": "content", "content": "xx"}}),
    ("chat", {"modalities": ["text", "audio"]}),
    ("chat", {"models": ["dearer"]}),
    ("generate", {"serviceTier": "priority"}),
    ("generate", {"service_tier": "priority"}),
    ("generate", {"generationConfig": {"speechConfig": {}}}),
    ("generate", {"generation_config": {"image_config": {}}}),
    ("generate", {"tool_config": {"retrieval_config": {}, "include_server_side_tools": True}}),
    ("generate", {"tools": [{"code_execution": {}}, {"urlContext": {}}]}),
]  # fmt: skip
WORDS = (
    "speed", "service_tier\": \"auto", "mcp", "1h", "web_search", "code_execution", "[\"custom",
    "compact", "container", "tool_search\"", "truncation", "prediction", "audio", "dearer",
    "serviceTier", "priority", "speech", "image_config", "imageConfig", "urlContext",
    "context_management", "retrieval", "server_side", "serverSide",
)  # fmt: skip


@pytest.mark.parametrize(("form", "more"), DEARER)
def test_what_costs_more_is_left_out(form: str, more: dict[str, object], tmp_path: Path) -> None:
    status, told, (asked,) = sent(form, tmp_path, **more)
    assert status == 200, told
    assert not [word for word in WORDS if word in asked.text]


@pytest.mark.parametrize("form", ["responses", "chat"])
def test_openais_usual_tier_is_asked_for(form: str, tmp_path: Path) -> None:
    """A call without a word of it would get the tier of the user's project."""
    for more in ({}, {"service_tier": "priority"}):
        _, _, (asked,) = sent(form, tmp_path / str(len(more)), **more)
        assert asked.body["service_tier"] == "default"


@pytest.mark.parametrize(
    ("form", "more"),
    [
        ("chat", {"web_search_options": {}}),
        ("chat", {"audio": {}}),
        ("chat", {"messages": [{"role": "assistant", "audio": {"id": "audio_1"}}]}),
        ("chat", {"model": "gpt-4o-search-preview"}),
        ("chat", {"model": "gpt-4o-audio-preview"}),
        ("chat", {"model": "google/gemini-2.5-flash-image"}),
        ("responses", {"model": "o3-deep-research"}),
        ("responses", {"model": ["gpt-5.5"]}),
        ("responses", {"model": "../files"}),
        ("responses", {"background": "true"}),
        ("responses", {"prompt": {"id": "pmpt_1"}}),
        ("responses", {"input": [{"type": "item_reference", "id": "msg_1"}]}),
        ("responses", {"input": [{"id": "msg_1"}]}),
        ("responses", {"input": [{"type": None, "id": "msg_1"}]}),
        ("responses", {"input": [{"type": "compaction_trigger"}]}),
        ("responses", {"input": [{"type": ["message"]}]}),
        ("messages", {"container": {}}),
        ("messages", {"fallbacks": [{"model": "dearer"}]}),
        ("generate", {"cached_content": "cachedContents/abc"}),
        ("generate", {"generationConfig": {"responseModalities": ["IMAGE"]}}),
        ("generate", {"generation_config": {"response_modalities": ["TEXT", "AUDIO"]}}),
        ("generate", {"contents": {"parts": {"file_data": {"file_uri": "x"}}}}),
    ],
)
def test_what_cannot_be_left_out_is_refused(
    form: str, more: dict[str, object], tmp_path: Path
) -> None:
    status, _, asked = sent(form, tmp_path, **more)
    assert status == 400 and not asked


def test_what_agents_send_is_kept(tmp_path: Path) -> None:
    """The fields of Claude Code 2.1 and Codex 0.169."""
    claude: dict[str, object] = {
        "thinking": {"type": "adaptive", "display": "omitted"}, "output_config": {"effort": "low"},
        "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
        "metadata": {"user_id": "u"}, "tool_choice": {"type": "auto"},
        "tools": [{"name": "x", "input_schema": {}, "defer_loading": True}],
    }  # fmt: skip
    space = {"type": "namespace", "name": "n", "tools": [{"type": "function", "name": "f"}]}
    codex: dict[str, object] = {
        "input": [{"type": "additional_tools", "role": "developer", "id": "a", "tools": [space]},
                  {"type": "message", "role": "user", "id": "m", "content": []},
                  {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "x"},
                  {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
                  {"type": "function_call_output", "call_id": "c", "output": "o"}],
        "tools": [space, {"type": "custom", "name": "c"}], "tool_choice": "auto",
        "parallel_tool_calls": True, "reasoning": {"effort": "low", "context": "all_turns"},
        "store": False, "include": ["reasoning.encrypted_content"], "prompt_cache_key": "k",
        "client_metadata": {"turn_id": "t"}, "text": {"verbosity": "low"},
    }  # fmt: skip
    for form, more in (("messages", claude), ("responses", codex)):
        status, _, (asked,) = sent(form, tmp_path / form, **more)
        assert status == 200
        assert {name: asked.body[name] for name in more} == more


def test_nothing_is_kept_at_the_provider_for_a_later_call(tmp_path: Path) -> None:
    kept = {"type": "reasoning", "id": "rs_1", "summary": []}
    _, _, (asked,) = sent("responses", tmp_path, store=True, input=[kept])
    assert asked.body["store"] is False
    assert asked.body["input"] == [{"type": "reasoning", "summary": []}]
