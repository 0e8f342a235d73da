"""What providers do wrong: each ends in a retry or a clear error within its limits."""

import os
import signal
import socket
import threading
import time
from pathlib import Path

import pytest
from pydantic import BaseModel

from warploom.core.errors import BadInputError
from warploom.llm import Budget, LLMClient, LLMError, LLMRequest, LLMSettings
from warploom.llm.errors import (
    LLMEmptyError,
    LLMKeyError,
    LLMModelError,
    LLMOutputError,
    LLMOverloadedError,
    LLMPriceError,
    LLMRefusalError,
    LLMRequestError,
    LLMServerError,
    LLMTimeoutError,
    LLMTruncatedError,
)
from warploom.llm.keys import Keys
from warploom.llm.names import parse_model
from warploom.testing.loopback import KEY, LoopbackServer
from warploom.testing.wire import Drop, Hang, Huge, Raw, Reply, Status

FORMATS = ("openai", "openai-chat", "anthropic")
EACH = [(prefix, stream) for prefix in FORMATS for stream in (False, True)]
OK = Reply("fine", input_tokens=10, output_tokens=1)


class Verdict(BaseModel):
    ok: bool


def ask(server: LoopbackServer, prefix: str, folder: Path, **more):
    """Ask once; returns the reply or the error, and what was spent."""
    settings = {"attempts": 3, "backoff_s": 0.01, "timeout_s": 20.0, **more.pop("settings", {})}
    keys = more.pop("keys", server.keys())
    model = more.pop("model", server.model(prefix))
    request = LLMRequest("rewrite", "s", "p", "k", **more)
    with LLMClient(
        [model], Budget(tokens=1_000_000), folder, settings=LLMSettings(**settings), keys=keys
    ) as client:
        try:
            return client.ask_blocking(request), client.spent
        except LLMError as error:
            assert KEY not in str(error)
            assert error.hint, error
            return error, client.spent


@pytest.mark.parametrize(("prefix", "stream"), EACH)
def test_overload_and_rate_limits_are_waited_out(prefix: str, stream: bool, tmp_path: Path) -> None:
    busy = [Status(429, retry_after=1), Status(529 if prefix == "anthropic" else 503), OK]
    with LoopbackServer(busy) as server:
        began = time.monotonic()
        reply, spent = ask(server, prefix, tmp_path, settings={"stream": stream})
    assert reply.text == "fine" and len(server.asked) == 3
    assert time.monotonic() - began >= 1.0  # Retry-After, in whole seconds, is honored
    assert spent.requests == 1 and spent.uncertain_requests == 0


@pytest.mark.parametrize("prefix", FORMATS)
def test_an_overload_that_lasts_ends_after_the_attempts(prefix: str, tmp_path: Path) -> None:
    with LoopbackServer(lambda _: Status(429)) as server:
        error, spent = ask(server, prefix, tmp_path)
    assert isinstance(error, LLMOverloadedError) and "after 3 attempts" in str(error)
    assert error.exit_code == 3 and len(server.asked) == 3 and spent.requests == 0


def test_a_wait_beyond_the_limit_is_not_waited(tmp_path: Path) -> None:
    with LoopbackServer([Status(429, retry_after=3600), OK]) as server:
        error, _ = ask(server, "openai", tmp_path)
    assert isinstance(error, LLMOverloadedError) and len(server.asked) == 1


def test_no_credit_left_is_not_repeated(tmp_path: Path) -> None:
    with LoopbackServer([Status(429, "You are out of credit", "insufficient_quota"), OK]) as server:
        error, _ = ask(server, "openai", tmp_path)
    assert isinstance(error, LLMOverloadedError) and "add credit" in error.hint
    assert len(server.asked) == 1


def test_an_overload_within_a_stream_is_retried(tmp_path: Path) -> None:
    with LoopbackServer([Status(529, in_stream=True), OK]) as server:
        reply, _ = ask(server, "anthropic", tmp_path, settings={"stream": True})
    assert reply.text == "fine"


@pytest.mark.parametrize("prefix", [*FORMATS, "gemini", "openrouter", "deepseek"])
def test_a_wrong_key(prefix: str, tmp_path: Path) -> None:
    wrong = "sk-wrong-0123456789abcdef"
    with LoopbackServer([OK]) as server:
        error, spent = ask(server, prefix, tmp_path, keys=server.keys(wrong))
    assert isinstance(error, LLMKeyError) and error.exit_code == 3
    assert "[key]" in str(error) and wrong not in str(error)
    assert parse_model(server.model(prefix)).provider.keys[0] in error.hint
    assert server.asked == [] and spent.requests == spent.uncertain_requests == 0


@pytest.mark.parametrize("prefix", ["openai", "anthropic", "gemini", "azure", "deepseek"])
def test_no_key(prefix: str, tmp_path: Path) -> None:
    with LoopbackServer([OK]) as server:
        error, _ = ask(server, prefix, tmp_path, keys=Keys({}))
    assert isinstance(error, LLMKeyError) and "needs a key" in str(error) and ".env" in error.hint


@pytest.mark.parametrize("prefix", [*FORMATS, "gemini"])
def test_an_unknown_model(prefix: str, tmp_path: Path) -> None:
    with LoopbackServer([OK], models=["another"]) as server:
        error, spent = ask(server, prefix, tmp_path)
    assert (
        isinstance(error, LLMModelError) and error.exit_code == 2 and "does not exist" in str(error)
    )
    assert spent.requests == spent.uncertain_requests == 0


@pytest.mark.parametrize(("prefix", "stream"), EACH)
def test_a_truncated_reply(prefix: str, stream: bool, tmp_path: Path) -> None:
    with LoopbackServer([Reply("half", truncated=True, output_tokens=16)]) as server:
        error, spent = ask(
            server, prefix, tmp_path, settings={"stream": stream}, max_output_tokens=16
        )
    assert isinstance(error, LLMTruncatedError) and spent.usage.output == 16
    assert (tmp_path / error.call_id / "reply.md").read_text() == "half"


@pytest.mark.parametrize("prefix", FORMATS)
def test_a_truncated_typed_reply(prefix: str, tmp_path: Path) -> None:
    with LoopbackServer([Reply('{"ok": tr', truncated=True)]) as server:
        error, _ = ask(server, prefix, tmp_path, output=Verdict)
    assert isinstance(error, LLMTruncatedError)


@pytest.mark.parametrize(("prefix", "stream"), EACH)
def test_an_empty_reply(prefix: str, stream: bool, tmp_path: Path) -> None:
    with LoopbackServer([Reply(""), Reply("")]) as server:
        error, spent = ask(server, prefix, tmp_path, settings={"stream": stream})
    assert isinstance(error, LLMEmptyError) and spent.requests == len(server.asked) == 1


@pytest.mark.parametrize("prefix", FORMATS)
def test_a_refusal(prefix: str, tmp_path: Path) -> None:
    with LoopbackServer([Reply("I cannot.", refused=True)]) as server:
        error, _ = ask(server, prefix, tmp_path)
    assert isinstance(error, LLMRefusalError)


@pytest.mark.parametrize(("prefix", "stream"), EACH)
def test_a_provider_that_hangs(prefix: str, stream: bool, tmp_path: Path) -> None:
    with LoopbackServer(lambda asked: Hang() if asked.number == 1 else OK) as server:
        reply, spent = ask(
            server, prefix, tmp_path, timeout_s=1.5, settings={"stream": stream, "attempts": 5}
        )
    assert reply.text == "fine" and spent.requests == 1
    assert spent.uncertain_requests == len(server.asked) - 1 >= 1  # what hung may be billed


def test_a_provider_that_always_hangs(tmp_path: Path) -> None:
    with LoopbackServer(lambda _: Hang()) as server:
        began = time.monotonic()
        error, _ = ask(server, "openai", tmp_path, timeout_s=0.5, settings={"attempts": 2})
    assert isinstance(error, LLMTimeoutError) and time.monotonic() - began < 15


@pytest.mark.parametrize("prefix", FORMATS)
def test_a_connection_that_drops(prefix: str, tmp_path: Path) -> None:
    with LoopbackServer([Drop(), OK]) as server:
        reply, spent = ask(server, prefix, tmp_path)
    assert reply.text == "fine" and spent.uncertain_requests == 1


def test_nobody_listens(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    with LoopbackServer([]) as server:
        error, spent = ask(server, "openai", tmp_path, model=f"openai-compatible:m@{url}")
    assert isinstance(error, LLMServerError) and "is the server running?" in error.hint
    assert spent.uncertain_requests == 0  # nothing was ever sent


@pytest.mark.parametrize(("prefix", "stream"), EACH)
def test_a_huge_reply(prefix: str, stream: bool, tmp_path: Path) -> None:
    with LoopbackServer([Huge(600_000), OK]) as server:
        settings = {"stream": stream, "reply_bytes": 300_000}
        error, spent = ask(server, prefix, tmp_path, settings=settings)
    assert isinstance(error, LLMServerError) and "more than 300000 bytes" in str(error)
    assert len(server.asked) == 1 and spent.uncertain_requests == 1


@pytest.mark.parametrize("prefix", [*FORMATS, "gemini", "bedrock"])
@pytest.mark.parametrize(
    "raw",
    [
        Raw("<html>welcome</html>", content_type="text/html"),
        Raw("{}"),
        Raw("[1, 2"),
        Raw('{"choices": null, "content": null, "output": null, "candidates": null}'),
    ],
)
def test_what_is_not_a_reply(prefix: str, raw: Raw, tmp_path: Path) -> None:
    with LoopbackServer(lambda _: raw) as server:
        error, _ = ask(server, prefix, tmp_path, settings={"attempts": 1})
    assert isinstance(error, LLMServerError | LLMEmptyError), error


@pytest.mark.parametrize("prefix", FORMATS)
def test_a_refused_request_is_not_repeated(prefix: str, tmp_path: Path) -> None:
    with LoopbackServer([Status(400, "prompt is too silly"), OK]) as server:
        error, spent = ask(server, prefix, tmp_path)
    assert isinstance(error, LLMRequestError) and "too silly" in str(error)
    assert len(server.asked) == 1 and spent.requests == 0


@pytest.mark.parametrize("prefix", FORMATS)
def test_prose_instead_of_a_typed_reply(prefix: str, tmp_path: Path) -> None:
    prose = Reply("I am sure that it is right.")
    with LoopbackServer([prose, Reply(value={"ok": True})]) as server:
        reply, _ = ask(server, prefix, tmp_path, output=Verdict)
    assert reply.output == Verdict(ok=True) and "does not fit the schema" in server.asked[1].text
    with LoopbackServer(lambda _: prose) as server:
        error, spent = ask(server, prefix, tmp_path / "b", output=Verdict)
    assert isinstance(error, LLMOutputError) and spent.requests == 3


def test_fallbacks_answer_when_the_first_does_not(tmp_path: Path) -> None:
    with LoopbackServer(lambda _: Status(503)) as busy, LoopbackServer([OK]) as server:
        settings = {"fallbacks": (server.model("anthropic"),), "attempts": 2}
        reply, spent = ask(
            server, "openai", tmp_path, model=busy.model("openai"), settings=settings
        )
        assert reply.text == "fine" and reply.model == server.model("anthropic")
    assert len(busy.asked) == 2 and spent.requests == 1


def test_an_interrupt_leaves_the_call_counted(tmp_path: Path) -> None:
    with LoopbackServer([Hang()]) as server:

        def interrupt() -> None:
            while not server.asked:
                time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGINT)

        with LLMClient(
            [server.model("openai")], Budget(tokens=100_000), tmp_path, keys=server.keys()
        ) as client:
            threading.Thread(target=interrupt, daemon=True).start()
            with pytest.raises(KeyboardInterrupt):
                client.ask_blocking(LLMRequest("rewrite", "s", "p", "k"))
            assert client.spent.uncertain_requests == 1
    assert len(list((tmp_path / "pending").iterdir())) == 1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("gpt-5", "PREFIX:MODEL"),
        ("opnai:gpt-5", "did you mean openai:"),
        ("openai:", "no model"),
        ("openai:gpt-5@http://", "names no host"),
        ("openai:gpt-5@http://me:secret@host/v1", "must not hold a name or password"),
    ],
)
def test_model_strings_that_are_wrong(text: str, told: str) -> None:
    with pytest.raises(LLMModelError) as caught:
        parse_model(text)
    assert told in str(caught.value) and "secret" not in str(caught.value)


def test_a_server_of_ones_own_needs_an_address(tmp_path: Path) -> None:
    with pytest.raises(LLMModelError, match="address of the server") as caught:
        LLMClient(["openai-compatible:qwen"], Budget(), tmp_path, keys=Keys({}))
    assert "OPENAI_COMPATIBLE_BASE_URL" in caught.value.hint
    with LoopbackServer([OK]) as server:
        keys = Keys({"OLLAMA_BASE_URL": f"{server.address}/v1/", "OLLAMA_API_KEY": KEY})
        reply, _ = ask(server, "openai", tmp_path, model="ollama:qwen3-coder", keys=keys)
    assert reply.text == "fine"
    with pytest.raises(LLMModelError, match="PREFIX:MODEL"):
        LLMClient(["gpt-5"], Budget(), tmp_path / "b", keys=Keys({}))


def test_a_model_without_a_price_needs_one_or_a_cap_in_tokens(tmp_path: Path) -> None:
    with LoopbackServer([OK]) as server:
        model = server.model("openai-compatible")
        with (
            LLMClient([model], Budget(dollars=1), tmp_path, keys=server.keys()) as client,
            pytest.raises(LLMPriceError, match="no price is known"),
        ):
            client.ask_blocking(LLMRequest("rewrite", "s", "p", "k"))
        assert server.asked == []


def test_a_changed_record_is_bad_input(tmp_path: Path) -> None:
    with LoopbackServer([OK]) as server:
        reply, _ = ask(server, "openai", tmp_path)
        (tmp_path / reply.call_id / "call.json").write_text('{"call_id": 1}')
        with pytest.raises(BadInputError, match="not a recorded call"):
            ask(server, "openai", tmp_path)
