"""The Slurm engine on a real cluster: the tests of every engine, and what only Slurm can do."""

import os
import pickle
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from warploom.core.errors import BadInputError, MissingToolError
from warploom.jobs import JobConfig, Loss, Task
from warploom.jobs.answers import answer_of
from warploom.jobs.batch import parameters, python_of
from warploom.jobs.slurm import SlurmEngine
from warploom.testing.engines import Begins, EngineTests, Returns, collect, wait_for
from warploom.testing.services import Slurm, free_port, until


def config(**changes: object) -> JobConfig:
    slurm = {"poll_s": 0.3, **changes.pop("slurm", {})}  # type: ignore[dict-item]
    return JobConfig.model_validate({"engine": "slurm", "slurm": slurm, **changes})


def states(cluster: Slurm) -> list[str]:
    """Return the states of jobs that have not ended."""
    return cluster.run("squeue", "-h", "-o", "%T").split()


class TestSlurm(EngineTests):
    patience = 90.0

    @pytest.fixture(autouse=True)
    def _place(self, slurm_cluster: Slurm, tmp_path_factory: pytest.TempPathFactory) -> None:
        self.folder = tmp_path_factory.mktemp("jobs")

    def open(self, slots: int) -> SlurmEngine:
        return SlurmEngine(config(), slots, self.folder)


@pytest.fixture
def engine(slurm_cluster: Slurm, tmp_path: Path):
    found = SlurmEngine(config(start_timeout_s=4.0), 4, tmp_path / "jobs")
    yield found
    found.close()


def job_ids(cluster: Slurm) -> list[str]:
    return cluster.run("squeue", "-h", "-r", "-o", "%i").split()


def test_jobs_that_somebody_cancels_are_told(
    engine: SlurmEngine, slurm_cluster: Slurm, tmp_path: Path
) -> None:
    engine.submit(Task(1, Begins(tmp_path / "begun")))
    assert engine.wait(0.0) == []
    wait_for(tmp_path / "begun")
    slurm_cluster.run("scancel", *job_ids(slurm_cluster))
    done = collect(engine, 1)[1]
    assert done.loss is Loss.CANCELLED
    assert "CANCELLED" in str(done.error)


def test_jobs_of_a_node_that_is_lost_are_told(
    engine: SlurmEngine, slurm_cluster: Slurm, tmp_path: Path
) -> None:
    engine.submit(Task(1, Begins(tmp_path / "begun")))
    assert engine.wait(0.0) == []
    wait_for(tmp_path / "begun")
    node = slurm_cluster.run("squeue", "-h", "-o", "%N").strip()
    slurm_cluster.run("scontrol", "update", f"nodename={node}", "state=down", "reason=test")
    try:
        assert collect(engine, 1)[1].loss is Loss.DIED
    finally:
        slurm_cluster.run("scontrol", "update", f"nodename={node}", "state=resume")


def test_jobs_that_are_not_begun_are_stuck(engine: SlurmEngine, slurm_cluster: Slurm) -> None:
    slurm_cluster.run("scontrol", "update", "partitionname=debug", "state=down")
    try:
        engine.submit(Task(1, Returns(1)))
        assert engine.wait(2.0) == []
        assert engine.waits == "1 job waits in Slurm's queue: PartitionDown"
        done = collect(engine, 1)[1]
    finally:
        slurm_cluster.run("scontrol", "update", "partitionname=debug", "state=up")
    assert engine.waits == ""
    assert done.loss is Loss.STUCK
    assert "was not begun for 4.0 s: PENDING" in str(done.error)
    until(lambda: states(slurm_cluster) == [], "the job is still there")


def test_jobs_that_are_held_up_are_stuck(
    engine: SlurmEngine, slurm_cluster: Slurm, tmp_path: Path
) -> None:
    engine.submit(Task(1, Begins(tmp_path / "begun")))
    assert engine.wait(0.0) == []
    wait_for(tmp_path / "begun")
    slurm_cluster.run("scontrol", "suspend", *job_ids(slurm_cluster))
    done = collect(engine, 1)[1]
    assert done.loss is Loss.STUCK
    assert "SUSPENDED" in str(done.error)


def test_a_batch_script_that_fails_is_told(slurm_cluster: Slurm, tmp_path: Path) -> None:
    engine = SlurmEngine(
        config(slurm={"setup": ["echo no such module >&2", "exit 3"]}), 1, tmp_path
    )
    try:
        engine.submit(Task(1, Returns(1)))
        done = collect(engine, 1)[1]
        assert done.loss is Loss.DIED
        assert "FAILED" in str(done.error) and "no such module" in str(done.error)
    finally:
        engine.close()


def test_answers_come_while_the_controller_of_slurm_is_away(
    slurm_cluster: Slurm, tmp_path: Path
) -> None:
    slurm_cluster.restart_controller()  # or jobs of the test before this one would come back
    slurm_cluster.until_idle()
    engine = SlurmEngine(config(), 4, tmp_path / "jobs")
    try:
        engine.submit(Task(1, Begins(tmp_path / "begun", 3.0)))
        assert engine.wait(0.0) == []
        wait_for(tmp_path / "begun")
        slurm_cluster.end("slurmctld")
        try:
            assert collect(engine, 1)[1].error is None
        finally:
            slurm_cluster.start_controller()
        # What Slurm had not written down when it was killed, it would do again: a job that has
        # answered waits anew, and then holds its node for the minute in which it looks for work.
        engine.submit(Task(2, Returns("after")))
        assert collect(engine, 1, 120.0)[2].value == "after"
    finally:
        engine.close()
    slurm_cluster.until_idle()
    assert states(slurm_cluster) == []


def test_a_job_that_has_answered_is_not_begun_again(slurm_cluster: Slurm, tmp_path: Path) -> None:
    engine = SlurmEngine(config(slurm={"parameters": {"requeue": True}}), 2, tmp_path / "jobs")
    try:
        engine.submit(Task(1, Begins(tmp_path / "begun", 1.0)))
        assert engine.wait(0.0) == []
        wait_for(tmp_path / "begun")
        (number,) = job_ids(slurm_cluster)
        assert collect(engine, 1)[1].error is None
        until(lambda: states(slurm_cluster) == [], "the job does not end", seen=slurm_cluster.seen)
        slurm_cluster.run("scontrol", "requeue", number)
        assert states(slurm_cluster) == ["PENDING"]
        engine.submit(Task(2, Begins(tmp_path / "other")))
        assert engine.wait(2.0) == []
        assert number not in job_ids(slurm_cluster)
    finally:
        engine.close()
    assert len((tmp_path / "begun").read_text().split()) == 1


def test_a_number_that_slurm_gives_twice_is_no_answer_of_the_first_job(
    slurm_cluster: Slurm, tmp_path: Path
) -> None:
    """A controller of Slurm that crashes goes on from what it wrote down seconds before."""
    state, before = slurm_cluster.folder / "state", tmp_path / "before"
    # It has sbatch try a job, which takes a number.
    engine = SlurmEngine(config(), 2, tmp_path / "jobs")
    slurm_cluster.end("slurmctld", signal.SIGTERM)  # it writes all down
    shutil.copytree(state, before)
    slurm_cluster.start_controller()
    try:
        slurm_cluster.until_idle()
        engine.submit(Task(1, Begins(tmp_path / "begun")))
        assert engine.wait(0.0) == []
        wait_for(tmp_path / "begun")
        (number,) = job_ids(slurm_cluster)
        slurm_cluster.end("slurmctld")
        shutil.rmtree(state)
        shutil.copytree(before, state)
        slurm_cluster.start_controller()
        slurm_cluster.until_idle()
        engine.submit(Task(2, Returns("of the second")))
        done = collect(engine, 2, 120.0)
        assert done[1].loss is Loss.DIED
        assert f"Slurm has forgotten job {number}," in str(done[1].error)
        assert done[2].value == "of the second"
    finally:
        engine.close()


def test_an_answer_of_another_job_is_none(engine: SlurmEngine, tmp_path: Path) -> None:
    """An orphan of a crash may write where the job that got its number will."""
    engine.submit(Task(1, Begins(tmp_path / "begun", 2.0)))
    assert engine.wait(0.0) == []
    wait_for(tmp_path / "begun")
    (script,) = (tmp_path / "jobs").glob("*_submitted.pkl")
    stray = script.with_name(script.name.replace("_submitted", "_0_result"))
    stray.write_bytes(pickle.dumps(("success", ("another mark", ("done", answer_of(Returns(0)))))))
    done = collect(engine, 1)[1]
    assert done.value == int((tmp_path / "begun").read_text())


def test_a_new_controller_takes_up_the_jobs_of_the_old_one(
    slurm_cluster: Slurm, tmp_path: Path
) -> None:
    old = SlurmEngine(config(), 2, tmp_path / "jobs")
    old.submit(Task(1, Begins(tmp_path / "begun", 6.0), name="judge 1"))
    old.submit(Task(2, Begins(tmp_path / "other", 600.0), name="judge 2"))
    assert old.wait(0.0) == []
    wait_for(tmp_path / "begun")
    before = job_ids(slurm_cluster)
    new = SlurmEngine(config(), 2, tmp_path / "jobs")  # the old one was killed
    try:
        new.submit(Task(1, Begins(tmp_path / "begun", 6.0), name="judge 1"))
        assert new.wait(0.0) == []
        assert job_ids(slurm_cluster) == before
        assert collect(new, 1)[1].error is None
        assert len((tmp_path / "begun").read_text().split()) == 1  # it was done once
    finally:
        new.close()
    until(lambda: states(slurm_cluster) == [], "what nobody took up is still there")


def test_nothing_is_left_of_jobs(engine: SlurmEngine, tmp_path: Path) -> None:
    for key in range(4):
        engine.submit(Task(key, Returns(key), name=f"work {key}"))
    assert sorted(done.value for done in collect(engine, 4).values()) == [0, 1, 2, 3]
    left = [path.name for path in (tmp_path / "jobs").rglob("*") if path.is_file()]
    assert [name for name in left if not name.endswith(".sh")] == []


def gpus() -> tuple[str, str]:
    time.sleep(1.0)
    return os.environ["SLURMD_NODENAME"], os.environ["CUDA_VISIBLE_DEVICES"]


def test_jobs_get_gpus_of_their_own(slurm_cluster: Slurm, tmp_path: Path) -> None:
    engine = SlurmEngine(config(gpus=1), 6, tmp_path)
    try:
        for key in range(6):
            engine.submit(Task(key, gpus))
        found = {done.value for done in collect(engine, 6, 120.0).values()}
        assert found == {(node, gpu) for node in ("n1", "n2", "n3") for gpu in ("0", "1")}
    finally:
        engine.close()


def setting() -> str:
    return os.environ["WARPLOOM_TEST_SETTING"]


def test_setup_lines_come_before_the_work(slurm_cluster: Slurm, tmp_path: Path) -> None:
    lines = ["export LOADED=yes", "export WARPLOOM_TEST_SETTING=$LOADED"]
    set_up = config(slurm={"setup": lines})
    engine = SlurmEngine(set_up, 1, tmp_path / "jobs")
    try:
        engine.submit(Task(1, setting))
        assert collect(engine, 1)[1].value == "yes"
    finally:
        engine.close()


def nodes() -> str:
    command = ["srun", "--ntasks-per-node=1", "--label", "printenv", "SLURMD_NODENAME"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_work_starts_steps_on_all_nodes_of_its_job(slurm_cluster: Slurm, tmp_path: Path) -> None:
    engine = SlurmEngine(config(slurm={"nodes": 3}), 1, tmp_path)
    try:
        engine.submit(Task(1, nodes))
        said = str(collect(engine, 1)[1].value)
        assert sorted(said.split("\n")) == ["", "0: n1", "1: n2", "2: n3"]
    finally:
        engine.close()


def test_what_is_asked_of_slurm(tmp_path: Path) -> None:
    asked = config(
        gpus=2, cpus=8, memory_gb=1.5, timeout_s=90,
        slurm={
            "partition": "gpu", "account": "me", "nodes": 2, "modules": ["cuda/13.0"],
            "conda": "warp", "setup": ["ulimit -c 0"], "parameters": {"gpu_bind": "none"},
        },
    )  # fmt: skip
    found = parameters(asked, tmp_path, "name")
    assert found["partition"] == "gpu" and found["account"] == "me" and found["nodes"] == 2
    assert found["gpus_per_node"] == 2 and found["cpus_per_task"] == 8 and found["mem"] == "1536MB"
    assert found["time"] == 7
    assert found["setup"][2:-1] == [
        "module load cuda/13.0", 'eval "$(conda shell.bash hook)"', "conda activate warp",
        "ulimit -c 0",
    ]  # fmt: skip
    assert found["additional_parameters"]["gpu-bind"] == "none"
    assert python_of(asked, tmp_path) == "python3"
    docker = config(gpus=1, slurm={"image": "warploom:1", "mounts": ["/data"]})
    words = python_of(docker, tmp_path)
    assert words.startswith("docker run --rm --init --user=")
    assert f"--gpus=all --volume={tmp_path}:{tmp_path} --volume=/data:/data" in words
    assert words.endswith("warploom:1 python3")
    apptainer = config(slurm={"image": "w.sif", "container": "apptainer"})
    assert python_of(apptainer, tmp_path) == f"apptainer exec --bind {tmp_path} w.sif python3"
    pyxis = parameters(config(slurm={"image": "w", "container": "pyxis"}), tmp_path, "name")
    assert pyxis["use_srun"]
    assert pyxis["srun_args"][0] == "--container-image=w"


def test_what_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingToolError, match="there is no sbatch, squeue, scancel, srun"):
        SlurmEngine(config(), 1, tmp_path)


def test_a_controller_of_slurm_that_does_not_answer_is_named(
    slurm_cluster: Slurm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Jobs of an earlier run may be under way: whoever cannot see them would begin them twice."""
    engine = SlurmEngine(config(start_timeout_s=1.0), 1, tmp_path / "jobs")
    settings = (slurm_cluster.folder / "slurm.conf").read_text()
    away = tmp_path / "slurm.conf"
    away.write_text(f"{settings}SlurmctldPort={free_port()}\nMessageTimeout=2\n")
    monkeypatch.setenv("SLURM_CONF", str(away))
    with pytest.raises(MissingToolError, match=r"controller does not answer: .*contact slurm"):
        SlurmEngine(config(), 1, tmp_path / "others")
    engine.submit(Task(1, Returns(1)))
    done = collect(engine, 1, 120.0)[1]
    assert done.loss is Loss.STUCK
    assert "Slurm took no job for 1.0 s" in str(done.error)
    engine.close()


@pytest.mark.parametrize(
    ("slurm", "told"),
    [
        ({"partition": "nowhere"}, "invalid partition specified: nowhere"),
        ({"constraint": "quantum"}, "Invalid feature"),
        ({"parameters": {"fast_please": 3}}, "unrecognized option '--fast-please=3'"),
    ],
)
def test_what_sbatch_does_not_know_is_told_before_anything_is_begun(
    slurm_cluster: Slurm, tmp_path: Path, slurm: dict[str, object], told: str
) -> None:
    with pytest.raises(BadInputError, match=f"sbatch does not take jobs of this kind: .*{told}"):
        SlurmEngine(config(slurm=slurm), 1, tmp_path)


def test_what_sbatch_does_not_take(slurm_cluster: Slurm, tmp_path: Path) -> None:
    engine = SlurmEngine(config(memory_gb=1e6), 1, tmp_path)
    try:
        engine.submit(Task(1, Returns(1)))
        with pytest.raises(BadInputError, match=r"sbatch did not take a job: .*; .*not available"):
            engine.wait(1.0)
    finally:
        engine.close()
