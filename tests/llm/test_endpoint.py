"""The endpoint that outside agents ask for their model, in front of a scripted provider."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from warploom.llm import Budget, Price
from warploom.llm.endpoint import Door, Endpoint
from warploom.llm.keys import Keys
from warploom.llm.recorder import Recorder
from warploom.testing.loopback import KEY, MODELS, LoopbackServer
from warploom.testing.wire import Asked, Drop, Hang, Raw, Reply, Status, Step, WireCall

FORMATS = ("messages", "responses", "chat", "generate")
PREFIXES = {
    "messages": "anthropic", "responses": "openai", "chat": "openai-chat", "generate": "gemini",
}  # fmt: skip


def keys_for(server: LoopbackServer, key: str = KEY) -> Keys:
    """Return the user's keys, and addresses that lead to `server`."""
    return Keys(
        {
            "ANTHROPIC_API_KEY": key, "OPENAI_API_KEY": key, "GEMINI_API_KEY": key,
            "ANTHROPIC_BASE_URL": server.address, "OPENAI_BASE_URL": f"{server.address}/v1",
            "GOOGLE_GEMINI_BASE_URL": server.address,
        }
    )  # fmt: skip


@contextmanager
def opened(
    server: LoopbackServer,
    folder: Path,
    budget: Budget,
    *,
    price: Price | None = None,
    steps: int | None = None,
    key: str = KEY,
) -> Generator[Door]:
    """Yield the door of one session."""
    with (
        Endpoint(budget, folder, keys_for(server, key), price=price) as endpoint,
        endpoint.session("agent-device-1", steps=steps) as door,
    ):
        yield door


@dataclass(frozen=True)
class Agent:
    """Speaks one wire format, as an agent's SDK does."""

    door: Door
    form: str
    stream: bool = False

    def ask(self, text: str = "hello", most: int | None = 2000, **more: object) -> httpx2.Response:
        """Send one question."""
        return self.send(self.body(text, most) | more)

    def send(self, body: object, key: str = "") -> httpx2.Response:
        """Send a body, with the session's key or another one."""
        shown = key or self.door.key
        header = {"messages": "x-api-key", "generate": "x-goog-api-key"}.get(self.form)
        headers = {header: shown} if header else {"authorization": f"Bearer {shown}"}
        with httpx2.Client(timeout=60, verify=False) as client:
            return client.post(self.door.address + self.path, json=body, headers=headers)

    @property
    def path(self) -> str:
        """Where the question goes."""
        if self.form == "generate":
            does = "streamGenerateContent?alt=sse" if self.stream else "generateContent"
            return f"/v1beta/models/{MODELS['gemini']}:{does}"
        return {
            "messages": "/v1/messages?beta=true", "responses": "/v1/responses",
            "chat": "/v1/chat/completions",
        }[self.form]  # fmt: skip

    def body(self, text: str, most: int | None) -> dict[str, object]:
        """Return a question in this format."""
        model, said = MODELS[PREFIXES[self.form]], [{"role": "user", "content": text}]
        limit = {} if most is None else {"max_tokens": most}
        match self.form:
            case "messages":
                return {"model": model, "messages": said, "stream": self.stream, **limit}
            case "chat":
                return {"model": model, "messages": said, "stream": self.stream, **limit}
            case "responses":
                limit = {} if most is None else {"max_output_tokens": most}
                return {"model": model, "input": said, "stream": self.stream, **limit}
            case _:
                config = {} if most is None else {"maxOutputTokens": most}
                return {
                    "contents": [{"role": "user", "parts": [{"text": text}]}],
                    "generationConfig": config,
                }


every_format = pytest.mark.parametrize("form", FORMATS)
both_ways = pytest.mark.parametrize("stream", [False, True])


@every_format
@both_ways
def test_a_call_is_forwarded_counted_and_recorded(form: str, stream: bool, tmp_path: Path) -> None:
    reply = Reply("the answer", input_tokens=900, output_tokens=70, cached=300)
    price = Price(1, 10, cached=0.5)
    with (
        LoopbackServer([reply]) as server,
        opened(server, tmp_path, Budget(dollars=1), price=price) as door,
    ):
        response = Agent(door, form, stream).ask()
    assert response.status_code == 200 and "the answer" in response.text
    (call,) = Recorder(tmp_path).calls()
    used = call.delivery.usage
    assert (used.input, used.output, used.cached) == (900, 70, 300)
    assert call.model == f"{PREFIXES[form]}:{MODELS[PREFIXES[form]]}"
    assert door.tally.calls == 1 and door.tally.uncounted == 0
    assert door.tally.cost == pytest.approx((600 * 1 + 300 * 0.5 + 70 * 10) / 1e6)


@every_format
def test_tools_and_their_calls_pass_through(form: str, tmp_path: Path) -> None:
    reply = Reply("", calls=(WireCall("edit", {"path": "moe.cu"}),))
    with (
        LoopbackServer([reply]) as server,
        opened(server, tmp_path, Budget()) as door,
    ):
        response = Agent(door, form, True).ask()
    assert "edit" in response.text and "moe.cu" in response.text


@every_format
def test_a_wrong_key_opens_nothing(form: str, tmp_path: Path) -> None:
    with (
        LoopbackServer([Reply("never")]) as server,
        opened(server, tmp_path, Budget()) as door,
    ):
        agent = Agent(door, form)
        for key in ("warploom-guess", KEY):
            response = agent.send(agent.body("hello", 10), key)
            assert response.status_code == 401 and KEY not in response.text
    assert not server.asked


@every_format
@both_ways
def test_the_users_key_stays_with_us(form: str, stream: bool, tmp_path: Path) -> None:
    """The provider tells the key back, in an error and in a reply: the agent sees neither."""
    steps: list[Step] = [Status(429, f"too many with {KEY}", in_stream=stream), Reply(f"a {KEY} b")]
    with (
        LoopbackServer(steps) as server,
        opened(server, tmp_path, Budget()) as door,
    ):
        agent = Agent(door, form, stream)
        told = [agent.ask().text, agent.ask().text]
    assert all("[key]" in text and KEY not in text for text in told)
    assert all(KEY not in file.read_text() for file in tmp_path.rglob("*.*") if file.is_file())
    assert all(asked.headers.get("authorization") != f"Bearer {door.key}" for asked in server.asked)


@every_format
@both_ways
def test_a_looping_model_never_crosses_the_cap(form: str, stream: bool, tmp_path: Path) -> None:
    """The server's own counts, at the model's price, stay below 0.10 dollars."""
    price, cap = Price(3, 15, cache_write=3.75), 0.10

    def answer(asked: Asked) -> Reply:
        return Reply("again", input_tokens=len(asked.text.encode()), output_tokens=limit_of(asked))

    with (
        LoopbackServer(answer) as server,
        opened(server, tmp_path, Budget(dollars=cap), price=price) as door,
    ):
        agent, codes = Agent(door, form, stream), list[int]()
        while not codes or codes[-1] == 200:
            codes.append(agent.ask("go on " * 100, 4000).status_code)
    billed = server.billed()
    assert codes[-1] == 400 and len(codes) >= 3
    assert billed.input * 3e-6 + billed.output * 15e-6 <= cap
    assert "cap of 0.1 dollars" in door.tally.refusal
    assert door.tally.cost == pytest.approx(billed.input * 3e-6 + billed.output * 15e-6)


@every_format
def test_a_prompt_that_its_bytes_would_refuse_is_counted_first(form: str, tmp_path: Path) -> None:
    price, cap, text = Price(3, 15), 0.10, "word " * 8000

    def answer(asked: Asked) -> Reply:
        return Reply("again", input_tokens=tokens(asked.body), output_tokens=limit_of(asked))

    def tokens(body: object) -> int:
        return len(json.dumps(body)) // 5

    with (
        LoopbackServer(answer, counter=tokens) as server,
        opened(server, tmp_path, Budget(dollars=cap), price=price) as door,
    ):
        agent, codes = Agent(door, form), list[int]()
        while not codes or codes[-1] == 200:
            codes.append(agent.ask(text, 2000).status_code)
    billed = server.billed()
    assert codes == ([400] if form == "chat" else [200, 200, 400])
    assert billed.input * 3e-6 + billed.output * 15e-6 <= cap


@pytest.mark.parametrize("said", [None, "7", 0, -5, True, {}])
def test_a_count_that_fails_leaves_the_bytes_as_the_bound(said: object, tmp_path: Path) -> None:
    counter = None if said is None else lambda _: said  # without one the path is not there
    with (
        LoopbackServer(lambda _: Reply("never"), counter=counter) as server,
        opened(server, tmp_path, Budget(dollars=0.10), price=Price(3, 15)) as door,
    ):
        assert Agent(door, "messages").ask("word " * 8000).status_code == 400
    assert not server.asked


def limit_of(asked: Asked) -> int:
    """Return the limit of output that a request carries, in any format."""
    config = asked.body.get("generationConfig", {})
    names = ("max_tokens", "max_completion_tokens", "max_output_tokens")
    found = [asked.body[name] for name in names if name in asked.body]
    return (found or [config.get("maxOutputTokens")])[0]


@every_format
def test_a_call_without_a_limit_gets_one(form: str, tmp_path: Path) -> None:
    with (
        LoopbackServer([Reply("a"), Reply("b")]) as server,
        opened(server, tmp_path, Budget(tokens=20_000)) as door,
    ):
        Agent(door, form).ask(most=None)
        Agent(door, form).ask(most=30_000)
    assert all(1024 <= limit_of(asked) < 20_000 for asked in server.asked)


@every_format
@both_ways
def test_a_reply_without_counts_is_charged_at_the_most(
    form: str, stream: bool, tmp_path: Path
) -> None:
    with (
        LoopbackServer([Reply("no counts", usage=False)]) as server,
        opened(server, tmp_path, Budget(dollars=1), price=Price(1, 10)) as door,
    ):
        assert Agent(door, form, stream).ask(most=2000).status_code == 200
    assert door.tally.uncounted == 1
    assert door.tally.cost is not None and 0.02 < door.tally.cost < 0.025
    (call,) = Recorder(tmp_path).calls()
    assert call.delivery.finish == "uncounted" and call.delivery.usage.output == 2000


def test_an_unknown_price_is_refused_and_the_cure_is_named(tmp_path: Path) -> None:
    models = ("nobody-knows",)
    body = {"model": models[0], "max_tokens": 10, "messages": []}
    with LoopbackServer([Reply("x"), Reply("x")], models=models) as server:
        with opened(server, tmp_path / "a", Budget(dollars=1)) as door:
            response = Agent(door, "messages").send(body)
            assert response.status_code == 400 and "--price IN,OUT" in response.text
            assert "--price IN,OUT" in door.tally.refusal and not server.asked
        with opened(server, tmp_path / "b", Budget()) as door:
            assert Agent(door, "messages").send(body).status_code == 200
            assert door.tally.cost is None and door.tally.unpriced == 1
    spent = Recorder(tmp_path / "b").spent()[0]
    assert (spent.requests, spent.unpriced_requests) == (1, 1)


@pytest.mark.parametrize(
    ("form", "more", "word"),
    [
        ("messages", {"mcp_servers": [{"url": "http://x"}]}, "mcp_servers"),
        ("messages", {"messages": [{"role": "user", "content": [{"type": "document"}]}]},
         "document"),
        ("responses", {"previous_response_id": "resp_1"}, "previous_response_id"),
        ("responses", {"background": True}, "background"),
        ("chat", {"n": 3}, "n above 1"),
        ("generate", {"cachedContent": "c/1"}, "cachedContent"),
        ("generate", {"contents": [{"parts": [{"fileData": {"fileUri": "x"}}]}]}, "a file"),
    ],
)  # fmt: skip
def test_what_cannot_be_costed_is_refused(
    form: str, more: dict[str, object], word: str, tmp_path: Path
) -> None:
    with (
        LoopbackServer([Reply("never")]) as server,
        opened(server, tmp_path, Budget()) as door,
    ):
        response = Agent(door, form).ask(**more)
    assert response.status_code == 400 and word in response.text and not server.asked


@pytest.mark.parametrize(
    ("form", "hosted", "own"),
    [
        ("messages", {"type": "web_search_20250305", "name": "web_search"},
         {"name": "edit", "input_schema": {"properties": {"type": {"type": "file"}}}}),
        ("responses", {"type": "web_search"}, {"type": "function", "name": "edit"}),
        ("chat", {"type": "web_search"}, {"type": "function", "function": {"name": "edit"}}),
        ("generate", {"googleSearch": {}}, {"functionDeclarations": [{"name": "edit"}]}),
    ],
)  # fmt: skip
def test_a_providers_own_tools_are_taken_out(
    form: str, hosted: dict[str, object], own: dict[str, object], tmp_path: Path
) -> None:
    with (
        LoopbackServer([Reply("x"), Reply("x")]) as server,
        opened(server, tmp_path, Budget()) as door,
    ):
        assert Agent(door, form).ask(tools=[hosted, own]).status_code == 200
        assert Agent(door, form).ask(tools=[hosted]).status_code == 200
    assert server.asked[0].body["tools"] == [own]
    assert "tools" not in server.asked[1].body


def test_thinking_stays_below_a_lowered_limit(tmp_path: Path) -> None:
    thinking = {"type": "enabled", "budget_tokens": 10_000}
    with (
        LoopbackServer([Reply("x", input_tokens=1, output_tokens=1)] * 2) as server,
        opened(server, tmp_path, Budget(tokens=9000)) as door,
    ):
        Agent(door, "messages").ask(most=16_000, thinking=thinking)
    sent = server.asked[0].body
    assert 1024 <= sent["thinking"]["budget_tokens"] < sent["max_tokens"] < 9000


@pytest.mark.parametrize("step", [Status(500), Status(429, retry_after=3), Status(401)])
def test_what_a_provider_turns_away_costs_nothing(step: Status, tmp_path: Path) -> None:
    with (
        LoopbackServer([step, Reply("x")]) as server,
        opened(server, tmp_path, Budget(requests=1)) as door,
    ):
        turned = Agent(door, "messages").ask()
        assert turned.status_code == step.code
        assert turned.headers.get("retry-after") == (
            None if step.retry_after is None else f"{step.retry_after:g}"
        )
        assert Agent(door, "messages").ask().status_code == 200
    assert f"answered {step.code}" in door.tally.problem


@pytest.mark.parametrize("step", [Drop(), Raw('data: {"type": "cut', 200, "text/event-stream")])
@pytest.mark.parametrize("form", ["messages", "responses"])
def test_a_broken_reply_counts_at_the_most(step: Step, form: str, tmp_path: Path) -> None:
    with (
        LoopbackServer([step]) as server,
        opened(server, tmp_path, Budget(dollars=1), price=Price(0, 10)) as door,
    ):
        with _perhaps_cut():
            Agent(door, form, True).ask(most=2000)
        assert door.tally.broken + door.tally.uncounted == 1
    assert door.tally.cost == pytest.approx(0.02)


@contextmanager
def _perhaps_cut() -> Generator[None]:
    """Allow a reply that ends early, as an SDK would see it."""
    try:
        yield
    except httpx2.HTTPError:
        return


def test_a_call_under_way_when_the_session_ends_counts_at_the_most(tmp_path: Path) -> None:
    budget = Budget(dollars=1)
    with LoopbackServer([Hang(20)]) as server:
        with opened(server, tmp_path, budget, price=Price(0, 10)) as door:
            agent = Agent(door, "messages", True)
            body, headers = agent.body("x", 2000), {"x-api-key": door.key}
            with (
                httpx2.Client(verify=False) as client,
                client.stream("POST", door.address + agent.path, json=body, headers=headers) as r,
            ):
                next(r.iter_bytes())
        assert door.tally.cost == pytest.approx(0.02)
        with Endpoint(budget, tmp_path, keys_for(server)) as again:
            assert float(again.spent.uncertain_dollars) == pytest.approx(0.02)


def test_steps_bound_a_session(tmp_path: Path) -> None:
    with (
        LoopbackServer(lambda _: Reply("x")) as server,
        opened(server, tmp_path, Budget(), steps=3) as door,
    ):
        codes = [Agent(door, "chat").ask().status_code for _ in range(5)]
    assert codes == [200, 200, 200, 400, 400] and door.tally.too_many


def test_earlier_sessions_count_against_the_cap(tmp_path: Path) -> None:
    reply = Reply("x", input_tokens=10, output_tokens=1500)
    with LoopbackServer(lambda _: reply) as server:
        for expected in (200, 400):
            with opened(server, tmp_path, Budget(dollars=0.025), price=Price(0, 10)) as door:
                assert Agent(door, "messages").ask(most=1500).status_code == expected


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/v1/models"), ("POST", "/v1/embeddings"), ("POST", "/v1/messages/batches"),
     ("POST", "/v1/images/generations")],
)  # fmt: skip
def test_nothing_else_is_served(method: str, path: str, tmp_path: Path) -> None:
    with (
        LoopbackServer([Reply("never")]) as server,
        opened(server, tmp_path, Budget()) as door,
        httpx2.Client(verify=False) as client,
    ):
        headers = {"authorization": f"Bearer {door.key}"}
        response = client.request(method, door.address + path, json={}, headers=headers)
    assert response.status_code == 404 and not server.asked


@pytest.mark.parametrize("body", ["[]", "nonsense", '{"messages": []}'])
def test_nonsense_is_answered(body: str, tmp_path: Path) -> None:
    with (
        LoopbackServer([Reply("never")]) as server,
        opened(server, tmp_path, Budget()) as door,
        httpx2.Client(verify=False) as client,
    ):
        response = client.post(
            f"{door.address}/v1/messages", content=body, headers={"x-api-key": door.key}
        )
    assert response.status_code == 400 and json.loads(response.text)["type"] == "error"
