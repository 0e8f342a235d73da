"""One candidate's ranks on several machines: srun starts each, confined, on a node of a real Slurm.

The GPUs are fake ones. In the first test a small runtime stands in CUDA's place, and MPI, the
sandbox and the library that notes read-backs are the real ones; in the others the emulator does
what a node's GPUs would.
"""

import dataclasses
import json
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import pytest

from warploom.backends import cuda
from warploom.cli import eval_command, main
from warploom.core.errors import MissingToolError
from warploom.core.records import BuildSpec, Limits, SourceLocation
from warploom.evaluation import evaluate
from warploom.evaluation.observed import evaluation as observed
from warploom.hardware import HardwareBuild, HardwareOptions, Setup, launcher, noted, run
from warploom.hardware import setup as setups
from warploom.hardware.launcher import Launcher, look_at_nodes
from warploom.hardware.run import run_hardware
from warploom.testing.services import Slurm, until
from warploom.toolchain.gpu import Gpu
from warploom.toolchain.mpi import find_mpi
from warploom.toolchain.nccl import NcclHeaders
from warploom.workload.workload import Workload

HERE = Path(__file__).parent
EXAMPLE = HERE.parents[1] / "examples" / "gemm_allgather"
RUNTIME = r"""
#include <cstring>
extern "C" int cudaMemcpy(void* to, const void* from, unsigned long bytes, int) {
  memcpy(to, from, bytes);
  return 0;
}
"""
PROGRAM = r"""
#include <mpi.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
extern "C" int cudaMemcpy(void*, const void*, unsigned long, int);
int main(int argc, char** argv) {
  int rank, sum, host;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  sum += 100 * rank;
  cudaMemcpy(&host, &sum, sizeof host, 2);  // line 12
  printf("rank %d on %s has GPUs %s, key %s, secret %s\n", rank, getenv("SLURMD_NODENAME"),
         getenv("CUDA_VISIBLE_DEVICES"), getenv("MY_API_KEY") ? "seen" : "unseen",
         access(argv[1], R_OK) == 0 ? "seen" : "unseen");
  fflush(stdout);
  if (argc > 2 && rank == 3) abort();
  if (argc > 2) MPI_Barrier(MPI_COMM_WORLD);
  return MPI_Finalize();
}
"""


@pytest.fixture
def headers(tmp_path: Path) -> NcclHeaders:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libnccl.so.2").write_bytes(b"")
    return NcclHeaders("2.32.3", tmp_path / "include", "test")


@pytest.fixture
def mpi_program(tmp_path: Path) -> HardwareBuild:
    folder = tmp_path / "built"
    folder.mkdir()
    (folder / "runtime.cpp").write_text(RUNTIME)
    (folder / "main.cpp").write_text(PROGRAM.lstrip("\n"))
    compiler = ["mpicxx", "-g", "-O1", "-I", str(folder)]
    shared = [*compiler, "-shared", "-fPIC", "runtime.cpp", "-o", "libfake.so"]
    program = [*compiler, "main.cpp", str(folder / "libfake.so"), "-o", "program"]
    for command in (shared, program):
        subprocess.run(command, cwd=folder, check=True, timeout=120)
    spec = BuildSpec(folder / "main.cpp")
    return HardwareBuild(folder / "program", spec, "sm_90", 0.0, cached=False)


def test_ranks_of_several_machines_meet_and_are_confined(
    slurm_cluster: Slurm,
    tmp_path: Path,
    headers: NcclHeaders,
    mpi_program: HardwareBuild,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if "pmix" not in slurm_cluster.run("srun", "--mpi=list") or not shutil.which("mpicxx"):
        pytest.skip(
            "Slurm has no PMIx here, or there is no Open MPI: apt-get install libopenmpi-dev"
        )
    # All nodes are this machine: what ranks of one share, MPI would look for in the other as well.
    monkeypatch.setenv("OMPI_MCA_btl", "self,tcp")
    monkeypatch.setenv("MY_API_KEY", "canary")
    starts = Launcher(("srun", "--quiet", "--mpi=pmix"), 2)
    gpu = Gpu(0, "fake", "sm_90", 1024, "none")
    setup = Setup((gpu,), headers, find_mpi(), 4, shared=False, launcher=starts)
    secret = tmp_path / "secret"
    secret.write_text("of the user's")
    limits = Limits(seconds=60.0, memory_mb=2048, output_mb=1)
    did = run_hardware(mpi_program, setup, HardwareOptions((str(secret),), limits))
    assert did.ok, did.output
    assert did.nodes == ("n1", "n1", "n2", "n2") and did.sandbox == "bubblewrap"
    said = sorted(line for line in did.output.splitlines() if line.startswith("rank"))
    assert said == [
        f"rank {rank} on n{1 + rank // 2} has GPUs 0,1, key unseen, secret unseen"
        for rank in range(4)
    ]
    values = {one.rank: int.from_bytes(one.data, sys.byteorder) for one in did.readbacks}
    assert values == {rank: 6 + 100 * rank for rank in range(4)}
    assert {one.line for one in did.readbacks} == {12}

    died = run_hardware(mpi_program, setup, HardwareOptions((str(secret), "die"), limits))
    assert died.state == "crashed" and "SIGABRT" in died.findings[0].message
    assert not list(Path("/dev/shm").glob("warploom-*"))
    assert not list((launcher.cache_root() / "ranks").iterdir())

    together = Launcher(("mpirun", "--oversubscribe"), 4)  # on this machine, as all nodes are
    setup = dataclasses.replace(setup, launcher=together)
    did = run_hardware(mpi_program, setup, HardwareOptions((str(secret),), limits))
    assert did.ok and did.nodes == (os.uname().nodename,) * 4, did.output
    assert [one.rank for one in did.readbacks] == [0, 1, 2, 3]
    until(lambda: not slurm_cluster.run("squeue", "-h"), "a job does not end")


@pytest.fixture
def emulated(
    slurm_cluster: Slurm, tmp_path: Path, headers: NcclHeaders, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Put the emulator in the place of the nodes' GPUs; return a workload for two machines."""
    assert slurm_cluster.nodes

    def build_executable(spec: BuildSpec, *_: object) -> HardwareBuild:
        task = dataclasses.replace(Workload.from_file(place), program=spec.program)
        program = tmp_path / f"built-{len(list(tmp_path.glob('built-*')))}"
        program.write_bytes(pickle.dumps(task))
        return HardwareBuild(program, spec, "sm_90", 0.0, cached=False)

    def places(build: HardwareBuild, lines: Iterable[int]) -> dict[int, SourceLocation]:
        return {line: SourceLocation(str(build.spec.program), line, "") for line in lines}

    place = tmp_path / "workload"
    place.mkdir()
    (place / "gemm_allgather.cu").write_bytes((EXAMPLE / "gemm_allgather.cu").read_bytes())
    text = (EXAMPLE / "workload.toml").read_text()
    several = 'node_size = 1\nseeds = 1\nlauncher = "srun --quiet"\n'
    (place / "workload.toml").write_text(text.replace("ranks = 4\n", f"ranks = 2\n{several}"))
    monkeypatch.setattr(launcher, "AGENT", (sys.executable, str(HERE / "emulated_rank.py")))
    monkeypatch.setattr(noted, "places_of", places)
    monkeypatch.setattr(setups, "get_nccl", lambda _: headers)
    monkeypatch.setattr(run, "build_shim", lambda: headers.include / "shim.so")
    monkeypatch.setattr(cuda, "build_executable", build_executable)
    monkeypatch.setattr(observed, "REPEATS", 1)
    monkeypatch.setattr(eval_command, "evaluate", partial(evaluate, tools=()))
    return place


def test_eval_puts_a_candidates_ranks_on_two_nodes(
    emulated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = (emulated / "gemm_allgather.cu").read_text()
    good, wrong = tmp_path / "good.cu", tmp_path / "wrong.cu"
    good.write_text(source.replace("0.5f * z *", "z * 0.5f *"))
    wrong.write_text(source.replace("0.5f * z *", "0.5002f * z *"))
    words = ["--backend", "cuda", "--json"]
    assert main(["eval", str(good), str(emulated), *words]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["passed"] and told["backend"] == "cuda" and told["ranks"] == 2
    assert [one["nodes"] for one in told["runs"]] == [["n1", "n2"]]
    assert len(told["devices"]) == 2 and not told["shared"]
    assert main(["eval", str(wrong), str(emulated), *words]) == 1
    told = json.loads(capsys.readouterr().out)
    (said,) = [one["message"] for one in told["findings"] if one["kind"] == "exit_code"]
    assert said == "the program ended with exit code 1 on the GPU"  # its own check


def test_a_launcher_that_starts_nothing_is_named(slurm_cluster: Slurm) -> None:
    assert slurm_cluster.nodes
    with pytest.raises(
        MissingToolError, match=r"on 2 machines, but started them on 0: .*Invalid partition"
    ):
        look_at_nodes(Launcher(("srun", "--partition=nowhere"), 2), 4)
