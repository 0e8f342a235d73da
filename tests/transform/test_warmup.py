"""When a warm-up round is added, where, and when not."""

from pathlib import Path

import pytest

from warploom.source import AnalysisReport, CUDAAnalyzer
from warploom.source.regions import Program
from warploom.transform.warmup import WarmUp, add_warmup

PROGRAM = """\
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#define CHECK(call) do { if ((call) != 0) return 1; } while (0)

__global__ void twice(const float* x, float* y) { y[threadIdx.x] = 2 * x[threadIdx.x]; }

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  ncclUniqueId id;
  ncclComm_t comm;
  ncclCommInitRank(&comm, ranks, id, rank);
  float *x, *y, *z;
  CHECK(cudaMalloc(&x, 128));
  CHECK(cudaMalloc(&y, 128));
  CHECK(cudaMalloc(&z, 128));
  cudaStream_t stream;
  cudaEvent_t start, stop;
  cudaEventCreate(&start);
  cudaEventCreate(&stop);
  cudaEventRecord(start, stream);
  for (int i = 0; i < 10; ++i) {
    twice<<<1, 32, 0, stream>>>(x, y);
    ncclAllReduce(y, z, 32, ncclFloat, ncclSum, comm, stream);
  }
  cudaEventRecord(stop, stream);
  cudaEventSynchronize(stop);
  float ms;
  cudaEventElapsedTime(&ms, start, stop);
  MPI_Finalize();
}
"""
ROUND = """\
  {  // warm-up: one round that is not timed
  {
    twice<<<1, 32, 0, stream>>>(x, y);
    ncclAllReduce(y, z, 32, ncclFloat, ncclSum, comm, stream);
  }
  CHECK(cudaDeviceSynchronize());
  }
"""


def analyze(tmp_path: Path, text: str) -> AnalysisReport:
    path = tmp_path / "program.cu"
    path.write_text(text)
    return CUDAAnalyzer(path).analyze()


def warmed(tmp_path: Path, text: str) -> WarmUp:
    analysis = analyze(tmp_path, text)
    return add_warmup(text, analysis, analysis)


def test_one_round_before_the_timer_starts(tmp_path: Path) -> None:
    found = warmed(tmp_path, PROGRAM)
    assert found.text == PROGRAM.replace(
        "  cudaEventRecord(start, stream);\n", ROUND + "  cudaEventRecord(start, stream);\n"
    )
    assert found.line == PROGRAM[: PROGRAM.index("  cudaEventRecord(start")].count("\n") + 1


def test_a_host_clock_is_a_timer_too(tmp_path: Path) -> None:
    text = PROGRAM.replace("  cudaEventRecord(start, stream);", "  double begun = MPI_Wtime();")
    text = text.replace("  cudaEventRecord(stop, stream);", "  double s = MPI_Wtime() - begun;")
    text = text.replace("  cudaEventElapsedTime(&ms, start, stop);\n", "")
    found = warmed(tmp_path, text)
    assert found.text is not None and ROUND in found.text


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("  cudaEventElapsedTime(&ms, start, stop);\n", "", "does not time"),
        ("  cudaEvent_t start", "  int warmup = 1;\n  cudaEvent_t start", "has a warm-up"),
        ("ncclAllReduce(y, z,", "ncclAllReduce(y, y,", "in place"),
        ("y[threadIdx.x] = 2 *", "y[threadIdx.x] += 2 *", "reads and writes y"),
        ("    twice<<<", "    MPI_Barrier(MPI_COMM_WORLD);\n    twice<<<", "more than launch"),
        (
            "  cudaEventCreate(&start);",
            "  twice<<<1, 32, 0, stream>>>(x, y);\n  cudaEventCreate(&start);",
            "before the timer",
        ),
    ],
)
def test_reasons_not_to(old: str, new: str, reason: str, tmp_path: Path) -> None:
    assert old in PROGRAM
    found = warmed(tmp_path, PROGRAM.replace(old, new, 1))
    assert found.text is None
    assert reason in found.reason


def test_the_examples_have_theirs() -> None:
    for path in sorted((Path(__file__).parents[2] / "examples").glob("*/*.cu")):
        analysis = CUDAAnalyzer(path).analyze()
        found = add_warmup(path.read_text(), analysis, analysis)
        assert found.text is None, path
        assert "warm-up" in found.reason


def test_the_round_names_no_region_again(tmp_path: Path) -> None:
    marked = PROGRAM.replace(
        "    twice<<<", "    // EVOLVE-BLOCK-START pipeline\n    twice<<<"
    ).replace("comm, stream);\n  }", "comm, stream);\n    // EVOLVE-BLOCK-END\n  }")
    found = warmed(tmp_path, marked)
    assert found.text is not None and ROUND in found.text
    assert len(Program(found.text).regions) == 1
