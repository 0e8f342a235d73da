"""The Ray engine on a real cluster: the tests of every engine, and nodes that come and go."""

import os
import signal
import time
from pathlib import Path

import pytest

from warploom.core.errors import MissingToolError
from warploom.jobs import JobConfig, JobScheduler, Loss, Task
from warploom.jobs.opening import Place, open_engine
from warploom.jobs.protocol import Engine
from warploom.testing.engines import Begins, EngineTests, Returns, collect, wait_for
from warploom.testing.services import RayCluster

pytestmark = pytest.mark.filterwarnings("default")  # Ray's own


def config(address: str, **changes: object) -> JobConfig:
    return JobConfig.model_validate({"engine": "ray", "ray": {"address": address}, **changes})


class TestRay(EngineTests):
    patience = 90.0

    @pytest.fixture(autouse=True)
    def _address(self, ray_head: RayCluster) -> None:
        import ray

        self.address = ray_head.address
        if not ray.is_initialized():  # else each engine would come and go: a second each
            ray.init(address=ray_head.address, log_to_driver=False, configure_logging=False)

    def open(self, slots: int) -> Engine:
        return open_engine(config(self.address), slots, Place(Path("/nowhere")))


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def test_a_worker_of_rays_that_is_killed_is_told(ray_head: RayCluster, tmp_path: Path) -> None:
    engine = open_engine(config(ray_head.address), 1, Place(tmp_path))
    try:
        scheduler = JobScheduler(engine, retries=1)
        scheduler.submit(Task(1, Begins(tmp_path / "begun", 3.0)))
        wait_for(tmp_path / "begun")
        work = int((tmp_path / "begun").read_text())
        os.kill(parent(work), signal.SIGKILL)
        found = []
        while not found:
            found = scheduler.wait(1.0)
        assert found[0].error is None
        assert scheduler.losses == {Loss.DIED: 1}
    finally:
        engine.close()


def test_work_that_no_node_can_do_waits_for_one(ray_head: RayCluster, tmp_path: Path) -> None:
    engine = open_engine(config(ray_head.address, cpus=5), 1, Place(tmp_path))
    try:
        engine.submit(Task(1, Returns("on the new node")))
        assert engine.wait(2.0) == []
        ray_head.add_node(5)
        assert collect(engine, 1, 90.0)[1].value == "on the new node"
    finally:
        engine.close()


def test_work_that_is_not_begun_is_stuck(ray_head: RayCluster, tmp_path: Path) -> None:
    asked = config(ray_head.address, cpus=64, start_timeout_s=2)
    engine = open_engine(asked, 1, Place(tmp_path))
    try:
        started = time.monotonic()
        engine.submit(Task(1, Returns(1)))
        done = collect(engine, 1)[1]
        assert done.loss is Loss.STUCK
        assert time.monotonic() - started < 30
    finally:
        engine.close()


def test_a_head_that_is_gone_is_named_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ray = pytest.importorskip("ray")
    ray.shutdown()
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    monkeypatch.setattr("warploom.jobs.ray._head_is_here", lambda: False)
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray" / "ray_current_cluster").write_text("127.0.0.1:9")
    with pytest.raises(MissingToolError, match=r"no Ray cluster answers at 127\.0\.0\.1:9"):
        open_engine(config("auto"), 1, Place(tmp_path))


def test_no_cluster_is_named(tmp_path: Path, ray_head: RayCluster) -> None:
    import ray

    ray.shutdown()
    with pytest.raises(MissingToolError, match=r"no Ray cluster answers at 127\.0\.0\.1:9"):
        open_engine(config("127.0.0.1:9"), 1, Place(tmp_path))
