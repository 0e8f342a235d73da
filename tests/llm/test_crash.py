"""Killed with SIGKILL at random moments, a run ends as it would, and pays for nothing twice."""

import hashlib
import multiprocessing
import random
import time
from decimal import Decimal
from pathlib import Path

from crash_chain import STEPS, run_chain

from warploom.llm.recorder import Recorder
from warploom.testing.loopback import KEY, LoopbackServer
from warploom.testing.wire import Asked, Reply

KILLS = 20


def prompt_of(asked: Asked) -> str:
    return asked.body["messages"][-1]["content"]


def reply_to(asked: Asked) -> Reply:
    return Reply(hashlib.sha256(prompt_of(asked).encode()).hexdigest(), delay=0.02)


def expected() -> str:
    text = ""
    for step in range(STEPS):
        text = hashlib.sha256(f"step {step} after {text!r}".encode()).hexdigest()
    return text


def recorded(folder: Path) -> dict[str, Decimal]:
    """What is paid for and kept: by prompt, at what cost. A half-written record is recovered."""
    recorder = Recorder(folder / "llm")
    recorder.open()
    try:
        return {call.key: call.cost_usd or Decimal(0) for call in recorder.calls()}
    finally:
        recorder.close()


def test_kills_at_random_moments(tmp_path: Path) -> None:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["warploom.llm.provider", "pydantic_ai.models.openai"])
    draw, kills, runs, begun = random.Random(20261120), 0, 0, 0
    with LoopbackServer(reply_to) as server:
        while kills < KILLS or runs < 3:
            folder = tmp_path / f"run-{runs}"
            before, paid = len(server.asked), set(recorded(folder))
            child = context.Process(
                target=run_chain, args=(server.model("openai-chat"), KEY, str(folder))
            )
            child.start()
            wait_for(server, before + 1 + draw.randrange(2), child)
            time.sleep(draw.uniform(0, 0.06))
            if kills < KILLS:
                child.kill()
                kills += child.exitcode is None
            child.join(60)
            again = {prompt_of(asked).split()[1] for asked in server.asked[before:]}
            assert not again & {key.removeprefix("step-") for key in paid}
            if (folder / "result.txt").exists():
                assert (folder / "result.txt").read_text() == expected()
                check_counts(folder, len(server.asked) - begun)
                runs, begun = runs + 1, len(server.asked)
    assert kills == KILLS


def wait_for(
    server: LoopbackServer, asked: int, child: multiprocessing.process.BaseProcess
) -> None:
    deadline = time.monotonic() + 60
    while len(server.asked) < asked and child.is_alive() and time.monotonic() < deadline:
        time.sleep(0.002)


def check_counts(folder: Path, asked: int) -> None:
    """Nothing that was sent is left out of the caps."""
    spent, _ = Recorder(folder / "llm").spent()
    assert spent.requests == STEPS
    assert spent.dollars == sum(recorded(folder).values())
    counted = spent.requests + spent.uncertain_requests
    assert asked <= counted <= STEPS + KILLS
