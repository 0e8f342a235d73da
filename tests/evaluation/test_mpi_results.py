"""What MPI brings from memory of devices to the host is a result, as a copy is."""

from pathlib import Path

import pytest

from warploom.core.records import BuildSpec, RunSpec, Severity, Timing
from warploom.emulator import Readback, RunOptions, build, run
from warploom.evaluation.cascade import evaluate
from warploom.evaluation.compare.outputs import label
from warploom.evaluation.records import Evaluation
from warploom.evaluation.survey import survey
from warploom.workload.workload import Workload

TRUSTED = """\
#include <cuda_runtime.h>
#include <mpi.h>
#include <cstdio>
#include <cstdlib>
#include <vector>
constexpr int kCount = 64;
struct Best { float value; int where; };
// EVOLVE-BLOCK-START kernel
__global__ void finish(const float* in, float* mine, float* plain, Best* best) {
  const int i = threadIdx.x;
  mine[i] = 3 * in[i] + i;
  plain[i] = in[i];
  best[i].value = mine[i];
  best[i].where = i;
}
// EVOLVE-BLOCK-END
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int seed = argc > 1 ? std::atoi(argv[1]) : 7;
  cudaSetDevice(rank);
  float *in, *mine, *plain;
  Best* best;
  std::vector<float> host(kCount), sum(kCount * ranks), got(kCount);
  for (int i = 0; i < kCount; i++) host[i] = float((i * 37 + rank * 11 + seed % 1000) % 101) / 7;
  cudaMalloc(&in, kCount * sizeof(float));
  cudaMalloc(&plain, kCount * sizeof(float));
  cudaMalloc(&mine, kCount * sizeof(float));
  cudaMalloc(&best, kCount * sizeof(Best));
  cudaMemcpy(in, host.data(), kCount * sizeof(float), cudaMemcpyHostToDevice);
  // EVOLVE-BLOCK-START launch
  finish<<<1, kCount>>>(in, mine, plain, best);
  // EVOLVE-BLOCK-END
  cudaDeviceSynchronize();
  BRING
  cudaMemcpy(got.data(), plain, kCount * sizeof(float), cudaMemcpyDeviceToHost);
  std::printf("%f %f\\n", sum[3], got[3]);
  MPI_Finalize();
}
"""
RIGHT = "  mine[i] = 3 * in[i] + i;\n"
WRONG = "  mine[i] = 2 * in[i] + i;\n"
OTHERWISE = "  mine[i] = (in[i] + 0.5f * i) * 3 - 0.5f * i;\n"  # other last digits
PINNED = (
    "float* both; ALLOCATE MPI_Allreduce(mine, both, kCount, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);"
    " for (int i = 0; i < kCount; i++) sum[i] = both[i];"
)
BRINGS = {
    "reduction": (
        "MPI_Allreduce(mine, sum.data(), kCount, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);",
        {("sum.data()", "float32", 256): 2},
    ),
    "message": (
        "if (rank) MPI_Send(mine, kCount, MPI_FLOAT, 0, 0, MPI_COMM_WORLD);\n"
        "  else MPI_Recv(&sum[0], kCount, MPI_FLOAT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);",
        {("&sum[0]", "float32", 256): 1},
    ),
    "message of any rank": (
        "void* into = sum.data();\n"
        "  if (rank) MPI_Send(mine, kCount, MPI_FLOAT, 0, 0, MPI_COMM_WORLD);\n"
        "  else MPI_Recv(into, kCount, MPI_FLOAT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD,\n"
        "                MPI_STATUS_IGNORE);",
        {("into from rank 1", "float32", 256): 1},
    ),
    "started receive": (
        "MPI_Request two[2];\n"
        "  MPI_Irecv(sum.data(), kCount, MPI_FLOAT, 1 - rank, 0, MPI_COMM_WORLD, &two[0]);\n"
        "  MPI_Isend(mine, kCount, MPI_FLOAT, 1 - rank, 0, MPI_COMM_WORLD, &two[1]);\n"
        "  MPI_Waitall(2, two, MPI_STATUSES_IGNORE);",
        {("sum.data()", "float32", 256): 2},
    ),
    "gather": (
        "MPI_Gather(mine, kCount, MPI_FLOAT, sum.data(), kCount, MPI_FLOAT, 0, MPI_COMM_WORLD);",
        {("sum.data()", "float32", 256): 2},
    ),
    "column": (
        "MPI_Datatype column;\n"
        "  MPI_Type_vector(kCount / 2, 1, 2, MPI_FLOAT, &column);\n"
        "  MPI_Type_commit(&column);\n"
        "  MPI_Sendrecv(mine, 1, column, 1 - rank, 0, sum.data(), 1, column, 1 - rank, 0,\n"
        "               MPI_COMM_WORLD, MPI_STATUS_IGNORE);",
        {("sum.data()", "float32", 128): 2},
    ),
    "largest": (
        "std::vector<Best> most(kCount);\n"
        "  MPI_Reduce(best, most.data(), kCount, MPI_FLOAT_INT, MPI_MAXLOC, 0, MPI_COMM_WORLD);",
        {("most.data()", "float32", 256): 1, ("most.data()", "int32", 256): 1},
    ),
    "from a host": (
        "std::vector<float> copy(kCount);\n"
        "  cudaMemcpy(copy.data(), mine, 256, cudaMemcpyDeviceToHost);\n"
        "  MPI_Allreduce(copy.data(), sum.data(), kCount, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);",
        {("mine", "float32", 256): 2},
    ),
    "put": (
        "MPI_Win win;\n"
        "  MPI_Win_create(sum.data(), ranks * 256, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);\n"
        "  MPI_Win_fence(0, win);\n"
        "  MPI_Put(mine, kCount, MPI_FLOAT, 0, kCount * rank, kCount, MPI_FLOAT, win);\n"
        "  MPI_Win_fence(0, win);\n"
        "  MPI_Win_free(&win);",
        {("MPI_Win_fence", "float32", 256): 2},
    ),
    "get": (
        "MPI_Win win;\n"
        "  MPI_Win_create(mine, 256, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);\n"
        "  MPI_Win_lock(MPI_LOCK_SHARED, 1 - rank, 0, win);\n"
        "  MPI_Get(sum.data(), kCount, MPI_FLOAT, 1 - rank, 0, kCount, MPI_FLOAT, win);\n"
        "  MPI_Win_unlock(1 - rank, win);\n"
        "  MPI_Win_free(&win);",
        {("MPI_Get", "float32", 256): 2},
    ),
    "pinned": (
        PINNED.replace("ALLOCATE", "cudaMallocHost(&both, 256);"),
        {("both", "float32", 256): 2},
    ),
    "managed": (
        PINNED.replace("ALLOCATE", "cudaMallocManaged(&both, 256);"),
        {("both", "float32", 256): 2},
    ),
}
JUDGED = ["reduction", "message", "largest", "managed"]


def written(folder: Path, text: str) -> Path:
    path = folder / "trusted.cu"
    path.write_text(text)
    return path


def judged(folder: Path, trusted: str, candidate: str) -> Evaluation:
    path, other = written(folder, trusted), folder / "candidate.cu"
    other.write_text(candidate)
    task = Workload.from_program(path, ranks=2, args=("{seed}",), seeds=1)
    return evaluate(other, task, nvcc=False, timings=[Timing.EAGER])


def kinds(result: Evaluation) -> set[str]:
    return {i.finding.kind for i in result.findings if i.finding.severity is Severity.ERROR}


@pytest.mark.parametrize("form", BRINGS)
def test_each_way_is_a_read_back_of_who_gets_it(tmp_path: Path, form: str) -> None:
    bring, expected = BRINGS[form]
    path = written(tmp_path, TRUSTED.replace("BRING", bring))
    facts = survey(Workload.from_program(path, ranks=2))
    found: list[tuple[Readback, ...]] = []
    for spec in (RunSpec(1, Timing.EAGER), RunSpec(2, Timing.RANDOM)):
        outcome = run(build(BuildSpec(path)), RunOptions(spec, 2, processes="per_rank"))
        assert outcome.state == "finished", outcome.findings
        found.append(outcome.readbacks)
        samples = [s for s in label(outcome.readbacks, facts.sites) if s.key.buffer != "plain"]
        counts: dict[tuple[str, str, int], int] = {}
        for s in samples:
            what = (s.key.buffer, s.dtype, len(s.data))
            counts[what] = counts.get(what, 0) + 1
        assert counts == expected
    assert [bytes(item.data) for item in found[0]] == [bytes(item.data) for item in found[1]]


@pytest.mark.parametrize("form", JUDGED)
def test_a_wrong_result_is_found_and_other_last_digits_are_none(tmp_path: Path, form: str) -> None:
    text = TRUSTED.replace("BRING", BRINGS[form][0])
    assert kinds(judged(tmp_path, text, text.replace(RIGHT, OTHERWISE))) == set()
    assert "wrong_result" in kinds(judged(tmp_path, text, text.replace(RIGHT, WRONG)))
