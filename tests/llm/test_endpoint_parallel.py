"""Eight calls at once, and what is learned from a provider's counts."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest

from warploom.llm import Budget, Price
from warploom.llm.endpoint import Endpoint
from warploom.llm.endpoint.bounds import Learned, read_prompt
from warploom.llm.keys import Keys
from warploom.testing.loopback import KEY, MODELS, LoopbackServer
from warploom.testing.wire import Asked, Reply

MODEL = MODELS["anthropic"]


def keys_for(server: LoopbackServer) -> Keys:
    return Keys({"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": server.address})


def question(text: str, most: int, *, stream: bool) -> dict[str, object]:
    said = [{"role": "user", "content": text}]
    return {"model": MODEL, "max_tokens": most, "messages": said, "stream": stream}


@pytest.mark.parametrize("stream", [False, True])
def test_eight_at_once_never_cross_the_cap(stream: bool, tmp_path: Path) -> None:
    """Each reply takes all that its call was allowed, so that a missing reservation would show."""
    price, cap = Price(3, 15, cache_write=3.75), 0.10
    flying, most_flying = [0], [0]

    def answer(asked: Asked) -> Reply:
        flying[0] += 1
        most_flying[0] = max(most_flying[0], flying[0])
        size = len(json.dumps(asked.body).encode())
        output = asked.body["max_tokens"] if asked.number % 2 else 40
        return Reply("x", input_tokens=size, output_tokens=output, delay=0.05)

    with (
        LoopbackServer(answer) as server,
        Endpoint(Budget(dollars=cap), tmp_path, keys_for(server), price=price) as endpoint,
        endpoint.session("s") as door,
        httpx2.Client(timeout=60, verify=False) as client,
        ThreadPoolExecutor(8) as pool,
    ):

        def loop(number: int) -> list[int]:
            codes: list[int] = []
            while not codes or codes[-1] == 200:
                body = question(f"{number} go on " * 20, 1100, stream=stream)
                response = client.post(
                    f"{door.address}/v1/messages", json=body, headers={"x-api-key": door.key}
                )
                codes.append(response.status_code)
                flying[0] -= codes[-1] == 200
            return codes

        ends = list(pool.map(loop, range(8)))
    billed = server.billed()
    cost = billed.input * 3e-6 + billed.output * 15e-6
    assert 0.07 < cost <= cap, cost  # below: calls were refused that would have fitted
    assert all(codes[-1] == 400 for codes in ends)
    assert len(server.asked) == sum(codes.count(200) for codes in ends)
    assert most_flying[0] > 1  # or nothing was in parallel
    assert float(endpoint.spent.dollars) == pytest.approx(cost)


def test_a_prompt_is_bounded_by_an_earlier_count_and_what_is_new() -> None:
    learned = Learned()
    first = {"system": "s" * 5000, "messages": [{"role": "user", "content": "a" * 3000}]}
    prompt = read_prompt("m", first)
    assert 8000 < learned.bound(prompt) < 9800
    learned.learn(prompt, 2000)
    assert learned.bound(prompt) <= 2100
    more = {**first, "messages": [*first["messages"], {"role": "assistant", "content": "b" * 100}]}
    assert 2100 < learned.bound(read_prompt("m", more)) < 2400
    assert learned.bound(read_prompt("other", more)) > 8000  # another model has other tokens


def test_a_mark_for_the_cache_is_no_new_text() -> None:
    learned = Learned()
    part = {"type": "text", "text": "a" * 4000}
    marked = {**part, "cache_control": {"type": "ephemeral"}}
    learned.learn(read_prompt("m", {"messages": [{"content": [marked]}]}), 1000)
    assert learned.bound(read_prompt("m", {"messages": [{"content": [part]}]})) < 1100


def test_a_repeated_part_counts_each_time() -> None:
    one = {"role": "user", "content": "a" * 1000}
    learned = Learned()
    learned.learn(read_prompt("m", {"messages": [one]}), 300)
    assert learned.bound(read_prompt("m", {"messages": [one] * 3})) > 2300


def test_images_count_apart_and_words_of_tools_do_not() -> None:
    image = {"type": "image", "source": {"type": "base64", "data": "x"}}
    assert read_prompt("m", {"messages": [{"content": [image]}]}).bound > 50_000
    call = {"type": "tool_use", "input": {"type": "image", "file_data": "x"}}
    assert read_prompt("m", {"messages": [{"content": [call]}]}).bound < 2000
