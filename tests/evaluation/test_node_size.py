"""Machines count: in what `eval` and `transform` run, in prices, and in what is printed."""

import json
from pathlib import Path

import pytest

from warploom.cli.run import run_cli
from warploom.cli.transform_options import TransformChoices
from warploom.core.records import BuildSpec, Verdict
from warploom.emulator import RunOptions, build, find_topology, run

TEXT = """\
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

// EVOLVE-BLOCK-START kernels
__global__ void add(float* x, float value) { x[blockIdx.x * blockDim.x + threadIdx.x] += value; }
// EVOLVE-BLOCK-END

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0, devices = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  cudaGetDeviceCount(&devices);
  cudaSetDevice(rank % devices);
  srand(argc > 1 ? atoi(argv[1]) + rank : rank);
  ncclUniqueId id;
  if (rank == 0) ncclGetUniqueId(&id);
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t comm;
  ncclCommInitRank(&comm, ranks, id, rank);
  std::vector<float> values(1024);
  for (float& v : values) v = rand() % 1000;
  float *x, *y;
  cudaMalloc(&x, 4096);
  cudaMalloc(&y, 4096);
  cudaMemcpy(x, values.data(), 4096, cudaMemcpyHostToDevice);
  cudaEvent_t at[4];
  for (cudaEvent_t& e : at) cudaEventCreate(&e);
  cudaEventRecord(at[0]);
  ncclAllReduce(x, x, 1024, ncclFloat, ncclSum, comm, 0);
  cudaEventRecord(at[1]);
  // EVOLVE-BLOCK-START pipeline
  add<<<4, 256>>>(x, 1.0f);
  // EVOLVE-BLOCK-END
  cudaEventRecord(at[2]);
  ncclGroupStart();
  ncclSend(x, 1024, ncclFloat, (rank + 1) % ranks, comm, 0);
  ncclRecv(y, 1024, ncclFloat, (rank + ranks - 1) % ranks, comm, 0);
  ncclGroupEnd();
  cudaEventRecord(at[3]);
  cudaDeviceSynchronize();
  float all = 0, pair = 0;
  cudaEventElapsedTime(&all, at[0], at[1]);
  cudaEventElapsedTime(&pair, at[2], at[3]);
  const double begin = MPI_Wtime();
  for (int i = 0; i < 50; i++) MPI_Barrier(MPI_COMM_WORLD);
  const double met = (MPI_Wtime() - begin) * 1e3;
  if (rank == 0) std::printf("%f %f %f\\n", all, pair, met);
  cudaMemcpy(values.data(), y, 4096, cudaMemcpyDeviceToHost);
  cudaFree(x);
  cudaFree(y);
  ncclCommDestroy(comm);
  MPI_Finalize();
}
"""
_WORKLOAD = """
name = "nodes"
program = "main.cu"
ranks = 4
args = ["{seed}"]
seeds = 1
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "main.cu").write_text(TEXT)
    (tmp_path / "workload.toml").write_text(_WORKLOAD)
    return tmp_path


def test_what_crosses_machines_is_priced_as_such(folder: Path) -> None:
    program = build(BuildSpec(folder / "main.cu", timed=True))
    topology = find_topology("h200-8")
    shown: dict[int, list[float]] = {}
    for node_size in (4, 2, 1):
        options = RunOptions(
            ranks=4, lsa_size=node_size, node_size=node_size, race=False, machine=topology
        )
        outcome = run(program, options)
        assert outcome.verdict == Verdict.OK, outcome.findings
        shown[node_size] = [float(word) for word in outcome.stdout.split()]
    near, two, far = shown[4], shown[2], shown[1]
    # Collective, send and receive, and MPI: dearer over a network.
    assert all(a < b for a, b in zip(near, two, strict=True)), shown
    assert all(a < b for a, b in zip(near, far, strict=True)), shown


def test_an_evaluation_has_machines_and_both_programs_regions(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["eval", str(folder / "main.cu"), str(folder), "--level", "4", "--no-nvcc"]
    assert run_cli([*command, "--node-size", "2"]) == 0
    text = capsys.readouterr().out
    assert "4 ranks, 2 machines of 2 devices" in text
    assert text.count("timed region main.cu:") == 2
    assert text.count("timed region of the baseline main.cu:") == 2
    assert run_cli([*command, "--json"]) == 0
    benchmark = json.loads(capsys.readouterr().out)["benchmark"]
    assert benchmark["baseline_regions"] == benchmark["regions"]


def test_machines_that_do_not_divide_the_ranks_are_bad_input(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["eval", str(folder / "main.cu"), str(folder), "--node-size", "3"]
    assert run_cli(command) == 2
    assert "node_size must divide the ranks" in capsys.readouterr().err


def test_a_transform_takes_machines(folder: Path) -> None:
    workload = TransformChoices(node_size=2).apply(folder)
    assert (workload.shape.node_size, workload.shape.lsa_size) == (2, 2)
