"""The engines of this machine pass the tests of every engine, and hand out GPUs."""

import multiprocessing
import os
import pickle

import pytest

from warploom.core.errors import BadInputError
from warploom.jobs import InlineEngine, JobConfig, LocalEngine, Loss, Place, Task, WorkLostError
from warploom.jobs.environment import job_environment
from warploom.jobs.local import _serve  # pyright: ignore[reportPrivateUsage]
from warploom.jobs.opening import open_engine
from warploom.testing.engines import EngineTests, Returns, collect


class TestInline(EngineTests):
    def open(self, slots: int) -> InlineEngine:
        return InlineEngine()


class TestLocal(EngineTests):
    def open(self, slots: int) -> LocalEngine:
        return LocalEngine(slots)


def visible() -> str:
    import time

    time.sleep(0.3)  # so that each slot gets one
    return os.environ["CUDA_VISIBLE_DEVICES"]


def test_each_slot_has_gpus_of_its_own(tmp_path) -> None:
    place = Place(tmp_path, gpus=("0", "1", "2", "5", "6"))
    engine = open_engine(JobConfig(engine="local", gpus=2), 2, place)
    try:
        for key in (1, 2):
            engine.submit(Task(key, visible))
        found = {done.value for done in collect(engine, 2).values()}
        assert found == {"0,1", "2,5"}
    finally:
        engine.close()
    with pytest.raises(BadInputError, match="3 workers with 2 GPUs each need 6, but there are 5"):
        open_engine(JobConfig(engine="local", gpus=2), 3, place)


def test_names_that_sound_like_keys_stay_here() -> None:
    given = {
        "PATH": "/bin", "SLURM_JOB_ID": "4", "SLURM_JWT": "x", "CONDA_TOKEN": "x",
        "WARPLOOM_CACHE": "/c", "WARPLOOM_ENDPOINT_KEY": "x", "OPENAI_API_KEY": "x", "MINE": "m",
    }  # fmt: skip
    assert set(job_environment(given)) == {"PATH", "SLURM_JOB_ID", "WARPLOOM_CACHE"}
    assert job_environment(given, ("MINE",))["MINE"] == "m"


def test_a_loss_can_be_sent() -> None:
    again = pickle.loads(pickle.dumps(WorkLostError(Loss.STUCK, "held")))
    assert (again.loss, again.message) == (Loss.STUCK, "held")


def test_one_worker_needs_no_process(tmp_path) -> None:
    assert isinstance(open_engine(JobConfig(), 1, Place(tmp_path)), InlineEngine)
    local = open_engine(JobConfig(engine="local"), 1, Place(tmp_path))
    assert isinstance(local, LocalEngine)
    local.close()


def test_a_worker_whose_controller_was_killed_ends_quietly() -> None:
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    ours.send(Returns(1))
    ours.close()
    worker = spawn.Process(target=_serve, args=(theirs, dict(os.environ)))
    worker.start()
    theirs.close()
    worker.join(30)
    assert worker.exitcode == 0
