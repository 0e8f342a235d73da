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


def kill_one_work(cluster: Slurm) -> None:
    """Kill the process of one piece of work of the cluster's."""
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_bytes()
            ours = str(cluster.folder).encode() in (place / "environ").read_bytes()
        except OSError:
            continue
        if ours and b"warploom.jobs.child" in words:
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
        "run", *SLURM, "jobs.retries=0", "jobs.timeout_s=3", "evolution.max_evaluations=6"
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
