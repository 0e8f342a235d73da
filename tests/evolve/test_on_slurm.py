"""Searches judged in jobs of Slurm: whatever becomes of the jobs, nothing is lost."""

import os
import signal
import time
from dataclasses import replace
from pathlib import Path

from evolve_bench import EVALUATOR, TWO, Bench, begun, start

from warploom.testing.services import Postgres, Slurm, until

SLURM = ("jobs=slurm", "jobs.slurm.poll_s=0.3", "evolution.workers=2")
SMALL = ("evolution.max_evaluations=4", "evolution.plateau=0")


def jobs(cluster: Slurm) -> list[str]:
    return cluster.run("squeue", "-h", "-r", "-o", "%i").split()


def kill_one_work(cluster: Slurm, spared: int = 0) -> None:
    """Kill the process of one piece of work of the cluster's, but not that of a number."""
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_bytes()
            ours = str(cluster.folder).encode() in (place / "environ").read_bytes()
        except OSError:
            continue
        if ours and b"warploom.jobs.child" in words and int(place.name) != spared:
            os.kill(int(place.name), signal.SIGKILL)
            return
    raise AssertionError("no work is under way")


def test_cancelled_and_crashed_jobs_are_done_again(bench: Bench, slurm_cluster: Slurm) -> None:
    process = start(bench, "run", 1.5, *SLURM, *SMALL)
    try:
        until(lambda: len(begun(bench, "run")) >= 3, "nothing began")
        slurm_cluster.run("scancel", *jobs(slurm_cluster))
        until(lambda: len(begun(bench, "run")) >= 5, "nothing began anew")
        kill_one_work(slurm_cluster)
        _, said = process.communicate(timeout=120)
    finally:
        process.kill()
        process.communicate()  # else its end is reported in another test
    assert process.returncode == 0, said.decode()
    texts = begun(bench, "run")
    assert len(texts) > len(set(texts)) == 6  # two seeds, four candidates; some were done again
    whole = replace(bench, seeds=TWO)
    whole.run("whole", *SMALL, "evolution.workers=2", seed=5)
    assert whole.history("run") == whole.history("whole")
    assert jobs(slurm_cluster) == []


def test_a_job_that_takes_too_long_fails_its_candidate_only(
    bench: Bench, slurm_cluster: Slurm
) -> None:
    slow = replace(bench, evaluator=replace(EVALUATOR, stalls=frozenset({"unroll=2"})))
    result = slow.run(
        "run", *SLURM, "jobs.retries=0", "jobs.timeout_s=40", "evolution.max_evaluations=6"
    )
    assert result.failures["worker_timeout"] >= 1
    assert result.best.directives["unroll"] == "1"


def test_a_killed_controller_takes_its_jobs_up_again(
    bench: Bench, slurm_cluster: Slurm, postgres_server: Postgres
) -> None:
    """Its jobs go on; a controller that is started anew has none of them done twice."""
    url = postgres_server.url("killed_controller")
    kills = 0
    for _ in range(4):
        before = len(begun(bench, "run"))
        process = start(bench, "run", 1.5, *SLURM, *SMALL, f"database.url={url}")
        if kills < 3:
            while len(begun(bench, "run")) == before and process.poll() is None:
                time.sleep(0.02)
            time.sleep(0.3)
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            kills += process.returncode == -signal.SIGKILL
        else:
            _, said = process.communicate(timeout=120)
            assert process.returncode == 0, said.decode()
    assert kills == 3
    texts = begun(bench, "run")
    assert len(texts) == len(set(texts)) == 6  # two seeds, four candidates, each judged once
    whole = replace(bench, seeds=TWO)
    whole.run("whole", *SMALL, "evolution.workers=2", seed=5)
    assert whole.history("run", url) == whole.history("whole")
    assert jobs(slurm_cluster) == []


def test_all_at_once_loses_nothing(
    bench: Bench, slurm_cluster: Slurm, postgres_server: Postgres
) -> None:
    """A job that Slurm ends at its limit, cancelled and crashed ones, killed controllers, a server.

    All in the middle of one search in PostgreSQL.
    """
    url = postgres_server.url("all_at_once")

    def judged() -> int:  # champions' second judgments too
        return len((bench.folder / "run.log").read_text().splitlines())

    mark = bench.folder / "stalled"
    (bench.folder / "stalls-once").touch()
    size = ("evolution.max_evaluations=4", "evolution.plateau=0", "evolution.workers=3")
    words = (*SLURM, *size, "jobs.slurm.minutes=1", "jobs.retries=3", f"database.url={url}")
    process = start(bench, "run", 6.0, *words)
    try:
        until(lambda: mark.is_file() and len(mark.read_text().split()) == 2, "nothing stalls")
        stalled, spared = mark.read_text().split()
        until(lambda: len(begun(bench, "run")) >= 5, "not all slots have work")
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        process = start(bench, "run", 6.0, *words)
        under_way = slurm_cluster.run("squeue", "-h", "-r", "-o", "%A").split()
        slurm_cluster.run("scancel", *(job for job in under_way if job != stalled))
        cancelled = judged()
        until(lambda: judged() > cancelled, "what was cancelled was not begun anew")
        postgres_server.stop()
        killed = judged()
        kill_one_work(slurm_cluster, int(spared))
        time.sleep(1.0)
        postgres_server.start()
        until(lambda: judged() > killed, "what was killed was not begun anew")
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        process = start(bench, "run", 6.0, *words)
        _, said = process.communicate(timeout=240)
    finally:
        process.kill()
        process.communicate()  # else its end is reported in another test
    assert process.returncode == 0, said.decode()
    # Of an array, the first job's number means all of its jobs.
    told = slurm_cluster.run("squeue", "-h", "-t", "all", "-r", "-j", stalled, "-o", "%A %T")
    assert f"{stalled} TIMEOUT" in told.splitlines()
    whole = replace(bench, seeds=TWO)
    whole.run("whole", *size, seed=5)
    assert whole.history("run", url) == whole.history("whole")
    texts = begun(bench, "run")
    # The stalled one was done again, and up to three others; a champion's judgment is not here.
    assert len(set(texts)) == 6 and 7 <= len(texts) <= 10
    assert jobs(slurm_cluster) == []
