"""A thread that recurses beyond `cudaLimitStackSize` crashes on a GPU, and is found.

How many bytes a call that waits takes there, `nvcc -Xptxas -v` tells: 16 at least, and nothing
where its compiler makes a loop of the recursion (`tail`, `factorial`).
"""

from pathlib import Path

import pytest
from host_program import check_program, kinds_of

from warploom.evaluation.check import check
from warploom.evaluation.runs.plan import Effort

_HEAD = """
#include <cuda_runtime.h>
#include <cstdio>
__device__ int visited;
__device__ void walk(int* out, int left) {
  if (left == 0) return;
  walk(out, left - 1);
  out[left] += 1;
}
__device__ float power(float x, int n) { return n == 0 ? 1.0f : x * power(x, n - 1); }
__device__ void odd(int n);
__device__ void even(int n) { if (n == 0) return; odd(n - 1); visited += 1; }
__device__ void odd(int n) { if (n == 0) return; even(n - 1); visited += n; }
struct Board {
  int rows[8];
  __device__ int place(int left) {
    if (left == 0) return 1;
    int found = 0;
    for (int i = 0; i < 2; i++) {
      rows[left % 8] = i;
      if (i == 0) found += place(left - 1);
      rows[left % 8] = -1;
    }
    return found;
  }
};
__device__ int tail(int n, int sum) { return n == 0 ? sum : tail(n - 1, sum * n + 1); }
__device__ int factorial(int n) { return n == 0 ? 1 : n * factorial(n - 1); }
__device__ int big() {
  int table[4096];
  for (int i = 0; i < 4096; i++) table[i] = i * visited;
  return table[visited & 4095];
}
__global__ void run(int* out, int depth) {
  STATEMENT;
}
int main() {
  int* out;
  cudaMalloc(&out, 4096 * sizeof(int));
  cudaMemset(out, 0, 4096 * sizeof(int));
  int zero = 0;
  cudaMemcpyToSymbol(visited, &zero, sizeof zero);
  BEFORE;
  run<<<1, 2>>>(out + 0, DEPTH);
  cudaDeviceSynchronize();
  int got[8];
  cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost);
  printf("%d\\n", got[7]);
}
"""
_RAISED = "cudaDeviceSetLimit(cudaLimitStackSize, 32768)"
DEEP = {
    "store": "if (threadIdx.x == 0) walk(out, depth)",
    "product": "if (threadIdx.x == 0) out[0] = (int)power(1.01f, depth)",
    "mutual": "if (threadIdx.x == 0) even(2 * depth)",
    "member": "Board board; if (threadIdx.x == 0) out[0] = board.place(depth)",
}
RIGHT = {
    "tail": "out[threadIdx.x] = tail(depth, 0)",
    "accumulator": "out[threadIdx.x] = factorial(depth)",
    "large_frame": "out[threadIdx.x] = big()",
}


def _check(folder: Path, statement: str, depth: int, before: str = "") -> list[str]:
    text = _HEAD.replace("STATEMENT", statement).replace("BEFORE", before)
    report = check_program(folder, text.replace("DEPTH", str(depth)))
    return [
        f"{f.finding.kind}: {f.finding.message}"
        for f in report.findings
        if f.finding.kind in kinds_of(report)
    ]


@pytest.mark.parametrize("name", DEEP)
def test_recursion_beyond_the_limit_is_found(tmp_path: Path, name: str) -> None:
    (found,) = _check(tmp_path, DEEP[name], 400)
    assert found.startswith("crash: a thread recurses 129 calls deep, more than its stack of 1024")


@pytest.mark.parametrize("name", DEEP)
def test_a_limit_that_was_raised_is_the_limit(tmp_path: Path, name: str) -> None:
    assert _check(tmp_path, DEEP[name], 400, _RAISED) == []


@pytest.mark.parametrize("name", DEEP)
def test_recursion_within_the_limit_passes(tmp_path: Path, name: str) -> None:
    assert _check(tmp_path, DEEP[name], 60) == []


@pytest.mark.parametrize("name", RIGHT)
def test_what_needs_no_stack_on_a_gpu_passes(tmp_path: Path, name: str) -> None:
    assert _check(tmp_path, RIGHT[name], 400) == []


def test_each_process_has_its_own_limit(tmp_path: Path) -> None:
    before = f"int rank; MPI_Init(0, 0); MPI_Comm_rank(MPI_COMM_WORLD, &rank); if (rank) {_RAISED}"
    text = _HEAD.replace("STATEMENT", DEEP["store"]).replace("BEFORE", before)
    text = text.replace("DEPTH", "400").replace("  printf", "  MPI_Finalize();\n  printf")
    program = tmp_path / "ranks.cu"
    program.write_text("#include <mpi.h>\n" + text)
    report = check(program, ranks=2, effort=Effort.QUICK)
    (found,) = (f.finding for f in report.findings if f.finding.kind == "crash")
    assert found.rank == 0
