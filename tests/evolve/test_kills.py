"""Runs killed at random moments: nothing judged is lost or judged again, and they end the same."""

import contextlib
import json
import os
import random
import signal
import time
from dataclasses import replace

import pytest
from evolve_bench import OVERRIDES, TWO, Bench, begun, start
from level_model import answer

from warploom.core.errors import BadInputError
from warploom.core.ids import digest
from warploom.llm.recorder import Recorder
from warploom.testing.loopback import KEY, LoopbackServer

KILLS = 30


def kept(bench: Bench, name: str) -> set[str]:
    """Return the texts (digests) with inputs whose judgment is on disk or in the store."""
    found: set[str] = set()
    place = bench.folder / name
    for path in place.glob("attempts/*/evaluation.json"):
        found.add(digest((path.with_name("levers.cu").read_text(),)))
    if (place / "programs.db").is_file():
        try:
            with bench.store(name) as store:
                found |= {digest((program.code,)) for program in store.programs()}
        except BadInputError:  # killed before the tables were made
            return found
    return found


def killed_at_random(
    bench: Bench, name: str, limit: int, *overrides: str, once: bool = False, seed: int = 2
) -> int:
    """Run a search to its end, or `once`, killed at random moments; returns how often it was."""
    rng = random.Random(seed)
    kills = 0
    while True:
        before, known = len(begun(bench, name)), kept(bench, name)
        process = start(bench, name, 0.03, *OVERRIDES, *overrides)
        try:
            if kills < limit:
                since = time.monotonic()
                while len(begun(bench, name)) == before and time.monotonic() < since + 20:
                    if process.poll() is not None:
                        break
                    time.sleep(0.002)
                time.sleep(rng.random() * 0.25)
                with contextlib.suppress(ProcessLookupError):  # it has come to its end
                    os.killpg(process.pid, signal.SIGKILL)
                kills += process.wait() == -signal.SIGKILL
            assert process.stderr is not None
            said = process.stderr.read().decode()
            code = process.wait()
        finally:
            process.stderr.close()
        assert not known & set(begun(bench, name)[before:]), "judged again"
        if code == 0 or (once and code == -signal.SIGKILL):
            return kills
        assert code == -signal.SIGKILL, said


def test_a_killed_run_ends_as_one_that_ran_through(bench: Bench) -> None:
    kills = killed_at_random(bench, "killed", KILLS)
    assert kills >= 5
    whole = replace(bench, seeds=TWO)
    expected = whole.run("whole", *OVERRIDES, seed=5)
    assert whole.history("killed") == whole.history("whole")
    got = json.loads((bench.folder / "killed" / "report.json").read_text())
    assert got["best"]["time_ms"] == expected.best.outcome.time_ms
    assert got["evaluations"] == expected.evaluations == 40
    assert not list((bench.folder / "killed" / "attempts").iterdir())


def test_workers_that_are_killed_lose_nothing(bench: Bench) -> None:
    kills = killed_at_random(bench, "killed", 10, "evolution.workers=3")
    assert kills >= 3
    with bench.store("killed") as store:
        assert sorted(store.numbers) == list(range(1, 43))
        codes = [program.code_hash for program in store.programs()]
        assert len(codes) == len(set(codes))
    whole = replace(bench, seeds=TWO)
    whole.run("whole", *OVERRIDES, "evolution.workers=3", seed=5)
    assert whole.history("killed") == whole.history("whole")


def recorded(bench: Bench, name: str) -> dict[str, str]:
    """Return when each call that is on disk was made, by its id."""
    calls = Recorder(bench.folder / name / "llm").calls()
    return {call.call_id: call.started for call in calls}


def test_a_killed_run_pays_for_no_reply_twice(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with LoopbackServer(answer) as server:
        overrides = (
            "evolution.max_dollars=50", "evolution.num_generations=7", "summary.interval=2",
            "models.concurrency=2", "models.context_tokens=8000", "novelty.judge=true",
            f"models.names=[{server.model('anthropic')}]",
        )  # fmt: skip
        before: dict[str, str] = {}
        kills = 0
        for seed in range(5):
            kills += killed_at_random(bench, "killed", 1, *overrides, once=True, seed=seed)
            now = recorded(bench, "killed")
            assert before.items() <= now.items()  # what is on disk stays, and is not asked again
            before = now
        killed_at_random(bench, "killed", 0, *overrides)
        assert kills >= 3
        sent = len(server.asked)
        assert sent - len(recorded(bench, "killed")) <= 3 * kills  # in flight when it was killed
        whole = replace(bench, seeds=TWO)
        whole.run("whole", *OVERRIDES, *overrides, seed=5)
    assert whole.history("killed") == whole.history("whole")
