"""What an agent sends in an odd form is answered, or mended, and never charged unsent."""

import json
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest
from test_endpoint import Agent, keys_for, limit_of, opened

from warploom.llm import Budget, Price
from warploom.llm.endpoint import Door, Endpoint
from warploom.testing.loopback import KEY, LoopbackServer
from warploom.testing.wire import Raw, Reply

PRICE = Price(3, 15)
BODY = json.dumps(
    {"model": "claude-sonnet-5-5", "max_tokens": 100, "messages": [{"role": "user", "content": ""}]}
).encode()


def nested(depth: int) -> bytes:
    schema = b'{"a":' * depth + b"1" + b"}" * depth
    return BODY[:-1] + b',"tools":[{"name":"t","input_schema":' + schema + b"}]}"


def request(
    door: Door, *, body: bytes = BODY, path: bytes = b"/v1/messages", length: bytes = b"", more=b""
) -> bytes:
    head = b"POST " + path + b" HTTP/1.1\r\nhost: x\r\nx-api-key: " + door.key.encode()
    told = length or str(len(body)).encode()
    return head + b"\r\ncontent-length: " + told + b"\r\n" + more + b"\r\n" + body


def answer_to(door: Door, data: bytes) -> bytes:
    """Send bytes; returns the first line that comes back."""
    with socket.create_connection(("127.0.0.1", door.server_address[1]), timeout=20) as made:
        made.sendall(data)
        return made.makefile("rb").readline().strip()


REFUSED: dict[str, Callable[[Door], bytes]] = {
    "NaN": lambda door: request(door, body=BODY[:-1] + b',"temperature":NaN}'),
    "infinity": lambda door: request(door, body=BODY[:-1] + b',"temperature":1e999}'),
    "900 deep": lambda door: request(door, body=nested(900)),
    "100,000 deep": lambda door: request(door, body=nested(100_000)),
    "no UTF-8": lambda door: request(door, body=BODY.replace(b'""', b'"\xff"')),
    "5,000 digits": lambda door: request(door, body=BODY.replace(b"100", b"1" * 5000)),
    "length in words": lambda door: request(door, length=b"abc"),
    "negative length": lambda door: request(door, length=b"-5"),
    "length in other digits": lambda door: request(door, length="\u0661".encode()),
    "two lengths": lambda door: request(door, more=b"content-length: 3\r\n"),
    "no address": lambda door: request(door, path=b"http://[/v1/messages"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_odd_input_is_answered_and_costs_nothing(case: str, tmp_path: Path) -> None:
    with (
        LoopbackServer([Reply("never")]) as server,
        opened(server, tmp_path, Budget(dollars=1), price=PRICE) as door,
    ):
        assert answer_to(door, REFUSED[case](door)).startswith(b"HTTP/1.1 400 ")
        assert Agent(door, "messages").ask().status_code == 200  # it goes on serving
    assert len(server.asked) == 1 and door.tally.calls == 1 and door.tally.broken == 0


@pytest.mark.parametrize(
    "more",
    [
        b"user-agent: a\r\n b: c\r\n",
        "user-agent: caf\u00e9\r\n".encode("latin-1"),
        b"anthropic-beta: good-2025,b\xe9d,\x01\r\n",
        b"anthropic-version: 2023\r\n 06\r\n",
        b"accept: \x7f\r\n",
        b"anthropic-beta: Fast-Mode-2026,good-2025,compact-2026,advisor-tool-2026\r\n",
    ],
)
def test_only_plain_headers_go_on(more: bytes, tmp_path: Path) -> None:
    with (
        LoopbackServer([Reply("x")]) as server,
        opened(server, tmp_path, Budget(dollars=1), price=PRICE) as door,
    ):
        assert answer_to(door, request(door, more=more)).startswith(b"HTTP/1.1 200 ")
    (asked,) = server.asked
    assert all(value.isprintable() and value.isascii() for value in asked.headers.values())
    assert asked.headers.get("anthropic-beta", "good-2025") == "good-2025"


@pytest.mark.parametrize(
    "said",
    [
        '"\\ud83d"', '"\\ude00 x"', '[{"type":"text","text":"\\ud83d\\ud83d\\ude00"}]',
    ],
)  # fmt: skip
def test_half_a_character_is_mended(said: str, tmp_path: Path) -> None:
    """JavaScript cuts strings between the halves of an emoji."""
    with (
        LoopbackServer([Reply("x")]) as server,
        opened(server, tmp_path, Budget(dollars=1), price=PRICE) as door,
    ):
        body = BODY.replace(b'""', said.encode())
        assert answer_to(door, request(door, body=body)).startswith(b"HTTP/1.1 200 ")
    told = json.dumps(server.asked[0].body, ensure_ascii=False)
    assert "\ufffd" in told and told.encode()
    assert ("\U0001f600" in told) == ("ud83d\\ude00" in said)


def test_what_is_deep_but_usual_passes(tmp_path: Path) -> None:
    with (
        LoopbackServer([Reply("x")]) as server,
        opened(server, tmp_path, Budget(dollars=1), price=PRICE) as door,
    ):
        assert answer_to(door, request(door, body=nested(180))).startswith(b"HTTP/1.1 200 ")
    assert door.tally.calls == 1 and door.tally.broken == 0


@pytest.mark.parametrize("form", ["messages", "responses", "chat", "generate"])
def test_a_limit_of_thousands_of_digits_is_lowered(form: str, tmp_path: Path) -> None:
    with (
        LoopbackServer([Reply("x")]) as server,
        opened(server, tmp_path, Budget(dollars=0.1), price=PRICE) as door,
    ):
        assert Agent(door, form).ask(most=10**4000).status_code == 200
    assert 1024 <= limit_of(server.asked[0]) < 10_000


def test_only_known_words_of_a_query_go_on(tmp_path: Path) -> None:
    with (
        LoopbackServer([Reply("x")]) as server,
        opened(server, tmp_path, Budget()) as door,
    ):
        path = b"/v1/messages?beta=true&access_token=x&%24alt=json&fields=id&%6Bey=z"
        assert answer_to(door, request(door, path=path)).startswith(b"HTTP/1.1 200 ")
    assert server.asked[0].path.partition("?")[2] == "beta=true"


def test_a_connection_that_is_kept_open_ends_with_its_session(tmp_path: Path) -> None:
    with (
        LoopbackServer(lambda _: Reply("x")) as server,
        Endpoint(Budget(dollars=1), tmp_path, keys_for(server), price=PRICE) as endpoint,
        httpx2.Client(timeout=20) as client,
    ):
        with endpoint.session("one") as door:
            url, headers = f"{door.address}/v1/messages", {"x-api-key": door.key}
            assert client.post(url, content=BODY, headers=headers).status_code == 200
        spent = endpoint.spent
        after = client.post(url, content=BODY, headers=headers)
        assert after.status_code == 503 and "ended" in after.text
        assert endpoint.spent == spent and len(server.asked) == 1


def test_a_call_that_waits_when_its_session_ends_is_not_made(tmp_path: Path) -> None:
    slow = Reply("x", input_tokens=10, output_tokens=5, delay=4.0)
    codes: list[int] = []
    with (
        LoopbackServer(lambda _: slow) as server,
        Endpoint(Budget(dollars=0.1), tmp_path, keys_for(server), price=PRICE) as endpoint,
    ):
        with endpoint.session("one") as door:
            agent = Agent(door, "messages")

            def ask() -> None:
                try:
                    codes.append(agent.ask(most=5000).status_code)
                except httpx2.HTTPError:
                    codes.append(0)

            threads = [threading.Thread(target=ask) for _ in range(4)]
            for thread in threads:
                thread.start()
            deadline = time.monotonic() + 20
            while not server.asked and time.monotonic() < deadline:
                time.sleep(0.01)
        for thread in threads:
            thread.join()
        assert len(server.asked) == 1 and endpoint.spent.uncertain_requests == 1


@pytest.mark.parametrize(
    "key", [KEY.replace("-", "\\u002d"), KEY.replace("a", "\\u0061"), KEY.replace("k", "\\u006B")]
)
@pytest.mark.parametrize("stream", [False, True])
def test_a_key_in_escapes_stays_with_us(stream: bool, key: str, tmp_path: Path) -> None:
    told = f'{{"type":"message","x":"{key}","usage":{{"input_tokens":1,"output_tokens":1}}}}'
    step = Raw(f"data: {told}\n\n", 200, "text/event-stream") if stream else Raw(told)
    with (
        LoopbackServer([step]) as server,
        opened(server, tmp_path, Budget()) as door,
    ):
        text = Agent(door, "messages").ask().text.removeprefix("data: ")
    assert json.loads(text)["x"] == "[key]"
    assert all(key not in file.read_text() for file in tmp_path.rglob("*.*") if file.is_file())


@pytest.mark.parametrize(
    "event",
    [
        'data: {"type":"message_delta",\ndata: "usage":{"input_tokens":7,"output_tokens":5}}\n\n',
        'data: {"type":"message_delta","x":"\u2028","usage":{"input_tokens":7,'
        '"output_tokens":5}}\r\n\r\n',
    ],
)
def test_an_event_is_read_whole(event: str, tmp_path: Path) -> None:
    with (
        LoopbackServer([Raw(event, 200, "text/event-stream")]) as server,
        opened(server, tmp_path, Budget(dollars=1), price=PRICE) as door,
    ):
        Agent(door, "messages", True).ask()
    assert door.tally.uncounted == 0 and door.tally.cost == pytest.approx((7 * 3 + 5 * 15) / 1e6)
