"""Ranks that a launcher starts: what they hand us, what they get, and what becomes of them.

A script stands in srun's place; the rest is as on a cluster.
"""

import os
import pickle
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from warploom.core.errors import MissingToolError, RanksLostError, ToolFailedError
from warploom.core.process import Stop
from warploom.core.records import Limits
from warploom.hardware import launcher, rank
from warploom.hardware.handed import Node, Orders, Outcome, leave, taken, taken_all
from warploom.hardware.launcher import (
    AGENT,
    LOG,
    ORDERS,
    Launcher,
    launchers_environment,
    look_at_nodes,
    run_ranks,
    shared_folder,
)
from warploom.toolchain.sandbox import Extras, find_sandbox, run_sandboxed
from warploom.toolchain.sandbox_kind import SandboxKind
from warploom.toolchain.seccomp import Profile

SRUN = r"""#!/bin/bash
# As srun: --nodes, --ntasks and our own words, then the command.
echo "$@" >> "${0%/*}/asked"
env > "${0%/*}/environment"
while [[ $1 == -* ]]; do
  case $1 in --ntasks=*) tasks=${1#*=} ;; esac
  shift
done
[ -z "$1" ] && { echo "srun: error: nothing to run" >&2; exit 1; }
for ((at = FIRST; at < tasks; at++)); do
  SLURM_PROCID=$at SLURMD_NODENAME=n$((at / 2 + 1)) "$@" &
  pids+=($!)
done
worst=0
for pid in "${pids[@]}"; do wait $pid || worst=$?; done
exit $worst
"""
TWO = Launcher(("srun",), 2)

Srun = Callable[[str], None]


@pytest.fixture
def srun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Srun:
    """Return what puts another text in srun's place; it writes down how it was called."""
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("WARPLOOM_CACHE", str(tmp_path / "cache"))

    def put(text: str) -> None:
        (tmp_path / "srun").write_text(text)
        (tmp_path / "srun").chmod(0o755)

    (tmp_path / "scancel").write_text('#!/bin/sh\necho "$@" > "${0%/*}/cancelled"\n')
    (tmp_path / "scancel").chmod(0o755)
    put(SRUN.replace("FIRST", "0"))
    return put


def orders(script: str, *, confined: bool = False, seconds: float = 30.0) -> Orders:
    command = ("/bin/sh", "-c", script)
    return Orders(command, {}, (), None, seconds, 512, 1, 2, confined)


@pytest.fixture
def folder(srun: Srun) -> Path:
    """Return a folder that machines would share; srun is at hand."""
    assert srun
    with shared_folder("run") as place:
        yield place


class Planted:
    """Runs a command where it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> object:
        return os.system, (f"touch {self.mark}",)


def test_what_a_program_plants_is_never_run(tmp_path: Path) -> None:
    mark, place = tmp_path / "mark", tmp_path / "0"
    place.write_bytes(pickle.dumps(Planted(mark)))
    with pytest.raises(ToolFailedError, match="must hold a record of warploom's"):
        taken(place, Outcome)
    assert not mark.exists()
    leave(tmp_path / "other", Outcome(0, "n1", "bubblewrap", 0))
    place.unlink()
    place.symlink_to(tmp_path / "other")
    with pytest.raises(OSError, match="symbolic links"):
        taken(place, Outcome)
    os.mkfifo(tmp_path / "1")
    with pytest.raises(ToolFailedError, match="but holds none"):  # and nobody waits for a writer
        taken(tmp_path / "1", Outcome)
    (tmp_path / "2").write_text('{"rank": "0", "node": "n1", "sandbox": "", "exit_code": 0}')
    with pytest.raises(ToolFailedError, match="Outcome"):
        taken(tmp_path / "2", Outcome)


def test_records_come_back_as_they_were_left(tmp_path: Path) -> None:
    for said in (orders("exit 0"), Node("n1", (), True, "limits"), Outcome(3, "n", "b", None, 6)):
        leave(tmp_path / "0", said)
        assert taken(tmp_path / "0", type(said)) == said
    assert taken_all(tmp_path, Outcome) == [Outcome(3, "n", "b", None, 6)]


def test_all_ranks_run_and_the_folder_is_removed(folder: Path) -> None:
    assert folder.stat().st_mode & 0o777 == 0o700
    done, outcomes = run_ranks(TWO, 4, orders("echo rank $SLURM_PROCID"), folder)
    assert done.ok and [one.rank for one in outcomes] == [0, 1, 2, 3]
    assert [one.node for one in outcomes] == ["n1", "n1", "n2", "n2"]
    assert sorted(done.stdout.split()) == sorted(b"rank 0 rank 1 rank 2 rank 3".split())
    assert not list(Path("/dev/shm").glob(f"warploom-ranks-{folder.name}*"))


def test_a_rank_that_was_not_started_is_no_success(srun: Srun, folder: Path) -> None:
    srun(SRUN.replace("FIRST", "1"))
    with pytest.raises(RanksLostError, match=r"4 ranks .* nothing is known of 1 \(0\)"):
        run_ranks(TWO, 4, orders("exit 0"), folder)
    srun("#!/bin/sh\necho srun: error: node failure >&2\nexit 1\n")
    with (
        shared_folder("run") as fresh,
        pytest.raises(RanksLostError, match=r"nothing is known of 4 .*srun: error: node failure"),
    ):
        run_ranks(TWO, 4, orders("exit 0"), fresh)


def test_the_rank_that_died_is_told_not_one_that_missed_it(folder: Path) -> None:
    script = "[ $SLURM_PROCID = 2 ] && kill -ABRT $$; exit 1"
    done, outcomes = run_ranks(TWO, 4, orders(script), folder)
    assert len(outcomes) == 4
    assert done.signal == 6 and done.exit_code is None


def test_a_rank_that_hangs_is_stopped_on_its_machine(folder: Path) -> None:
    done, outcomes = run_ranks(TWO, 2, orders("sleep 60", seconds=0.5), folder)
    assert done.stopped is Stop.TIMEOUT and {one.stopped for one in outcomes} == {"timeout"}


def test_a_launcher_that_is_ended_leaves_no_allocation(
    srun: Srun, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launcher, "STARTING", 0.2)
    srun('#!/bin/sh\necho "$@" >> "${0%/*}/asked"\nsleep 60\n')
    with pytest.raises(RanksLostError, match="ended by warploom: timeout after 1 s"):
        run_ranks(TWO, 2, orders("exit 0", seconds=0.6), folder)
    assert (tmp_path / "cancelled").read_text().split() == ["--quiet", f"--name={folder.name}"]
    assert f"--job-name={folder.name} --time=1 " in (tmp_path / "asked").read_text()
    own = Launcher(("srun", "--time=7"), 2)
    with pytest.raises(RanksLostError):
        run_ranks(own, 2, orders("exit 0", seconds=0.1), folder)
    assert "--time=1" not in (tmp_path / "asked").read_text().splitlines()[-1]


def test_a_rank_ends_with_whoever_wanted_it(folder: Path) -> None:
    leave(folder / ORDERS, orders("touch $0; sleep 60"))
    with subprocess.Popen([*AGENT, str(folder)], env={**os.environ, "SLURM_PROCID": "0"}) as agent:
        time.sleep(1.0)
        (folder / ORDERS).unlink()
        assert agent.wait(20) == 1


def test_a_launcher_gets_no_keys_and_nothing_of_an_outer_one(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = ("MY_API_KEY", "WARPLOOM_TOKEN", "WARPLOOM_ENDPOINT_KEY", "PYTHON_SECRET")
    for name in secrets:
        monkeypatch.setenv(name, "canary")
    for name in ("SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "SLURM_JWT", "SLURM_CONF", "PMIX_RANK"):
        monkeypatch.setenv(name, "7")
    done, outcomes = run_ranks(TWO, 2, orders("env"), folder)
    assert [one.rank for one in outcomes] == [0, 1]
    assert b"canary" not in done.stdout and b"SLURM_JWT" not in done.stdout
    assert "canary" not in (tmp_path / "environment").read_text()
    ours = launchers_environment()
    assert ours["SLURM_JWT"] == ours["SLURM_CONF"] == "7"  # srun needs these
    assert not {"SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMIX_RANK"} & set(ours)


def test_the_innermost_launcher_says_which_rank_it_is() -> None:
    assert rank.rank_of({"SLURM_PROCID": "1", "OMPI_COMM_WORLD_RANK": "5"}) == 5
    assert rank.rank_of({"SLURM_PROCID": "1"}) == 1


def test_a_machine_without_a_sandbox_runs_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if find_sandbox().kind is SandboxKind.LIMITS:
        pytest.skip("no sandbox here")
    monkeypatch.setenv("WARPLOOM_SANDBOX", "limits")  # what is started sees it, we have looked
    mark = folder / LOG / "ran"
    with pytest.raises(RanksLostError, match="must run in a sandbox, but this machine has none"):
        run_ranks(TWO, 2, orders(f"touch {mark}", confined=True), folder)
    assert not mark.exists()
    with pytest.raises(MissingToolError, match=r"on each machine as on this one, but n1 has none"):
        look_at_nodes(Launcher(("srun",), 1), 1)


def test_it_is_known_which_launchers_obey_ranks() -> None:
    assert Launcher(("mpirun",), 2).obeys_ranks and Launcher(("srun", "--mpi=pmi2"), 2).obeys_ranks
    assert TWO.obeys_ranks  # the cluster's default is not known
    assert not Launcher(("srun", "--mpi=pmix_v4"), 2).obeys_ranks


def test_a_launcher_that_is_missing_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "srun").unlink()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingToolError, match="the program srun must be on this machine"):
        look_at_nodes(TWO, 4)
    with pytest.raises(MissingToolError, match="the program srun must be on this machine"):
        run_ranks(TWO, 4, orders("exit 0"), folder)
    assert [one.name for one in folder.parent.iterdir()] == [folder.name]


def test_shared_memory_is_ours_and_what_killed_ranks_left_goes(tmp_path: Path) -> None:
    left = Path(f"/dev/shm/warploom-ranks-left-{os.getpid()}")
    left.mkdir()
    with rank.shared_memory(f"test-{tmp_path.name}") as place:
        assert not left.exists()
        assert place.stat().st_mode & 0o777 == 0o700
        with rank.shared_memory(f"test-{tmp_path.name}") as same:
            assert same == place
        assert place.exists()
    assert not place.exists()
    if os.getuid():
        pytest.skip("only root can make another user's folder")
    place.mkdir()
    os.chown(place, 12345, -1)
    try:
        with (
            pytest.raises(ToolFailedError, match="another user's"),
            rank.shared_memory(f"test-{tmp_path.name}"),
        ):
            pass
    finally:
        place.rmdir()


def test_shared_memory_has_an_end(tmp_path: Path) -> None:
    if find_sandbox().kind is not SandboxKind.BUBBLEWRAP:
        pytest.skip("without bubblewrap /dev/shm is the machine's own")
    script = "import time; open('/dev/shm/big', 'wb').write(bytes(80 << 20)); time.sleep(60)"
    did = run_sandboxed(
        ["/usr/bin/env", "python3", "-c", script], limits=Limits(30.0, 1024, 1),
        profile=Profile.GPU, extras=Extras(shared_mb=16, together=tmp_path),
    )  # fmt: skip
    assert did.process.stopped is Stop.DISK, did.process.log


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("srun: error: task 1 launch failed\nno such driver\n"
         "srun: launch/slurm: _step_signal: Terminating StepId=1.0",
         "0: srun: error: task 1 launch failed; no such driver\n"),
        ("-----\nmpirun was told to run as root.\n\nmore\nmore\nmore\nend\n-----",
         "0: mpirun was told to run as root.; more; ...; more; end\n"),
        ("", "0: it says nothing\n"),
    ],
)  # fmt: skip
def test_why_a_launcher_failed_is_told(srun: Srun, said: str, told: str) -> None:
    srun(f"#!/bin/sh\ncat >&2 <<'END'\n{said}\nEND\nexit 1\n")
    with pytest.raises(MissingToolError, match=told):
        look_at_nodes(TWO, 4)
