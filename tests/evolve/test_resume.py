"""A run that is killed goes on, loses nothing that was judged, and ends as if it had not been."""

import errno
import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest
from evolve_bench import EVALUATOR, OVERRIDES, TWO, Bench, begun, start

from warploom.core.errors import BadInputError, WarploomError
from warploom.store.database import ProgramDatabase
from warploom.store.records import StoredProgram


def test_what_was_judged_but_not_recorded_is_taken(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = bench.folder / "log"
    noted = replace(bench, evaluator=replace(EVALUATOR, log=log))
    add = ProgramDatabase.add

    def interrupted(store: ProgramDatabase, program: StoredProgram, **others: float) -> object:
        if program.number == 6:
            raise KeyboardInterrupt
        return add(store, program, **others)

    with monkeypatch.context() as patch:
        patch.setattr(ProgramDatabase, "add", interrupted)
        with pytest.raises(KeyboardInterrupt):
            noted.run("run", *OVERRIDES)
    assert (bench.folder / "run" / "attempts" / "attempt-006" / "evaluation.json").is_file()
    result = noted.run("run", *OVERRIDES, resume=True)
    lines = log.read_text().splitlines()
    assert len(lines) == len(set(lines)) == 1 + result.evaluations + result.confirmations
    assert not (bench.folder / "run" / "attempts" / "attempt-006").exists()
    noted.run("whole", *OVERRIDES)
    assert noted.history("run") == noted.history("whole")


def test_a_finished_run_resumes_to_itself(bench: Bench) -> None:
    first = bench.run("run", *OVERRIDES)
    again = bench.run("run", *OVERRIDES, resume=True)
    assert replace(again, seconds=0.0) == replace(first, seconds=0.0)
    assert again.seconds >= first.seconds


def test_a_larger_budget_goes_on(bench: Bench) -> None:
    bench.run("run", "evolution.max_evaluations=6")
    result = bench.run("run", "evolution.max_evaluations=14", resume=True)
    assert result.evaluations == 14


def test_folders_are_refused(bench: Bench) -> None:
    with pytest.raises(BadInputError, match="there is no run to resume"):
        bench.run("run", resume=True)
    bench.run("run", "evolution.max_evaluations=1")
    with pytest.raises(BadInputError, match="holds a run already"):
        bench.run("run")
    (bench.folder / "mine").mkdir()
    (bench.folder / "mine" / "thesis.tex").write_text("")
    with pytest.raises(BadInputError, match=r"must be empty, but has thesis\.tex"):
        bench.run("mine")
    assert [path.name for path in (bench.folder / "mine").iterdir()] == ["thesis.tex"]
    bench.program.write_text("int main() { return 1; }\n")
    with pytest.raises(BadInputError, match="the program is not the one that the run began with"):
        bench.run("run", resume=True)


def test_two_runs_on_one_folder_are_refused(bench: Bench) -> None:
    process = start(bench, "run", 0.3, *OVERRIDES)
    try:
        while not begun(bench, "run") and process.poll() is None:
            time.sleep(0.01)
        with pytest.raises(BadInputError, match="another process works on this run"):
            replace(bench, seeds=TWO).run("run", *OVERRIDES, seed=5, resume=True)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def test_control_c_leaves_a_run_that_resumes(bench: Bench) -> None:
    process = start(bench, "run", 0.05, *OVERRIDES, "evolution.workers=2")
    while len(begun(bench, "run")) < 6 and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode not in (0, -signal.SIGKILL)
    assert b"KeyboardInterrupt" in said
    until = time.monotonic() + 10
    with pytest.raises(ProcessLookupError):  # no worker is left behind
        while time.monotonic() < until:
            os.killpg(process.pid, 0)
            time.sleep(0.05)
    result = replace(bench, seeds=TWO).run("run", *OVERRIDES, seed=5, resume=True)
    assert result.evaluations == 40


def test_a_full_disk_leaves_a_run_that_resumes(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    import warploom.attempt

    left = iter(range(6))
    write = warploom.attempt.write_json

    def full(path: Path, value: object) -> None:
        if next(left, None) is None:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        write(path, value)

    with monkeypatch.context() as patch:
        patch.setattr(warploom.attempt, "write_json", full)
        with pytest.raises(WarploomError, match="No space left on device"):
            bench.run("run", *OVERRIDES)
    bench.run("run", *OVERRIDES, resume=True)
    bench.run("whole", *OVERRIDES)
    assert bench.history("run") == bench.history("whole")


def test_a_worker_that_dies_fails_its_candidate_only(bench: Bench) -> None:
    deadly = replace(bench, evaluator=replace(EVALUATOR, dies=frozenset({"unroll=2"})))
    result = deadly.run("run", "evolution.workers=2", "evolution.num_generations=6")
    assert result.failures["worker_died"] >= 1
    assert result.best.directives["unroll"] == "1"


def test_a_place_that_cannot_be_written(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    (bench.folder / "file").write_text("")
    with pytest.raises(BadInputError, match="cannot be written: Not a directory"):
        bench.run("file/run")
