"""Several runners on one search in PostgreSQL: nothing twice, nothing lost, whoever is killed."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from uuid import uuid4

import pytest
from evolve_bench import Bench, begun, start

from warploom.cli.inspect_command import run_inspect
from warploom.core.errors import BadInputError
from warploom.evolve.compose import ConfigError
from warploom.store.database import ProgramDatabase
from warploom.testing.services import Postgres, until

NAMES = ("one", "two")
BUDGET = ("evolution.max_evaluations=40", "evolution.plateau=0", "database.migration.interval=2")


@pytest.fixture
def place(postgres_server: Postgres) -> str:
    return postgres_server.url(f"shared_{uuid4().hex}")


def shared(url: str, *more: str) -> tuple[str, ...]:
    return (*BUDGET, f"database.url={url}", "database.run=levers", "database.lease_s=2", *more)


def runner(bench: Bench, name: str, url: str, *more: str) -> "subprocess.Popen[bytes]":
    return start(bench, name, 0.05, *shared(url, *more), script="shared_process.py")


def ended(*processes: "subprocess.Popen[bytes]") -> None:
    for process in processes:
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said.decode()


def programs(url: str) -> list[tuple[int, str]]:
    with ProgramDatabase(url=url, run="levers", read_only=True) as store:
        return [(one.number, one.normal_hash) for one in store.programs()]


def judged(bench: Bench) -> list[str]:
    """Return the texts whose judgment began, in all runners."""
    return [text for name in NAMES for text in begun(bench, name)]


def require_whole(url: str) -> None:
    """Every attempt is there, once."""
    found = programs(url)
    assert sorted(number for number, _ in found) == list(range(1, 43))
    assert len({text for _, text in found}) == 42


def wait_for(bench: Bench, count: int, process: "subprocess.Popen[bytes]") -> None:
    until(lambda: len(judged(bench)) >= count or process.poll() is not None, "nothing is judged")


def test_two_runners_judge_nothing_twice(
    bench: Bench, place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    processes = [runner(bench, name, place) for name in NAMES]
    ended(*processes)
    require_whole(place)
    texts = judged(bench)
    assert len(texts) == len(set(texts)) == 42
    assert min(len(begun(bench, name)) for name in NAMES) >= 8  # both took part
    best = {(bench.folder / name / "best" / "levers.cu").read_text() for name in NAMES}
    assert len(best) == 1
    assert run_inspect(bench.folder / "two", as_json=True) == 0
    assert json.loads(capsys.readouterr().out)["attempts"] == 42


def test_what_a_killed_runner_had_begun_is_taken_over(bench: Bench, place: str) -> None:
    one, two = (runner(bench, name, place, "evolution.workers=2") for name in NAMES)
    wait_for(bench, 12, one)
    os.killpg(one.pid, signal.SIGKILL)
    one.communicate()
    ended(two)
    require_whole(place)
    texts = judged(bench)
    assert len(texts) - len(set(texts)) <= 2  # only what it had under way was judged again


def test_a_killed_runner_goes_on_where_it_was(bench: Bench, place: str) -> None:
    more = ("database.lease_s=600", "evolution.workers=2")  # nobody else may take over
    one = runner(bench, "one", place, *more)
    wait_for(bench, 12, one)
    os.killpg(one.pid, signal.SIGKILL)
    one.communicate()
    ended(runner(bench, "one", place, *more))
    require_whole(place)
    texts = judged(bench)
    assert len(texts) - len(set(texts)) <= 2


@pytest.mark.parametrize("how", ["immediate", "fast"])
def test_a_server_that_restarts_loses_nothing(
    bench: Bench, place: str, postgres_server: Postgres, how: str
) -> None:
    more = "database.lease_s=30"  # however slow this machine is: nobody is thought to be gone
    processes = [runner(bench, name, place, more) for name in NAMES]
    for count in (8, 20, 30):
        wait_for(bench, count, processes[0])
        postgres_server.stop(how)
        time.sleep(0.5)
        postgres_server.start()
    ended(*processes)
    require_whole(place)
    assert len(judged(bench)) == len(set(judged(bench)))


def refused(message: str, run: Callable[[], object]) -> None:
    with pytest.raises(BadInputError, match=message):
        run()


def test_what_cannot_be_shared_is_refused(bench: Bench, place: str) -> None:
    with pytest.raises(ConfigError, match="needs a url of PostgreSQL, got None"):
        bench.config("database.run=levers")
    refused("cannot be repeated", lambda: bench.run("a", *shared(place)))
    bench.run("b", *shared(place), "evolution.max_evaluations=2", seed=None)
    refused(
        "begun with another novelty",
        lambda: bench.run("c", *shared(place), "novelty.similarity=0.5", seed=None),
    )
    secret = place.replace("@", ":hunter2@")
    bench.run("s", *shared(secret), "evolution.max_evaluations=2", seed=None)
    assert (bench.folder / "s" / "config.yaml").stat().st_mode & 0o077 == 0
    bench.program.write_text("int main() { return 2; }\n")
    refused("searches from another program", lambda: bench.run("d", *shared(place), seed=None))
