"""How many questions a search has out at once."""

import time
from pathlib import Path

import pytest

from warploom.evolve.config import ModelsConfig
from warploom.evolve.desk import ModelDesk
from warploom.llm import LLMRequest
from warploom.testing.loopback import KEY, LoopbackServer
from warploom.testing.wire import Asked, Reply

SECONDS = 2.0  # of a reply


@pytest.mark.parametrize(("beside", "most"), [(0, 2), (1, 3)])
def test_no_more_are_asked_at_once_than_the_settings_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, beside: int, most: int
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    came: list[float] = []

    def model(asked: Asked) -> Reply:
        came.append(time.monotonic())
        return Reply("done", input_tokens=9, output_tokens=1, delay=SECONDS)

    with LoopbackServer(model) as server:
        names = (server.model("anthropic"),)
        desk = ModelDesk(ModelsConfig(names=names, concurrency=2), 50.0, tmp_path)
        for key in range(4 + beside):
            request = LLMRequest("rewrite", "system", "prompt", f"key-{key}")
            desk.ask(key, request, beside=key >= 4)
        said = [None] * (4 + beside)
        while not all(said):
            desk.wait(1.0)
            said = [found or desk.take(key) for key, found in enumerate(said)]
        desk.close()
    assert all(one.reply is not None for one in said)
    assert len([at for at in came if at < came[0] + SECONDS]) == most
