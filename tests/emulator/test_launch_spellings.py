"""Launches as programs spell them: behind labels, from tables of pointers, by calls that tell."""

from dataclasses import replace
from pathlib import Path

import pytest

from warploom.core.records import Limits, Severity, Verdict
from warploom.evaluation.check import check
from warploom.evaluation.runs.plan import Effort
from warploom.workload.workload import Workload

PROGRAM = """\
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
template <int value> __global__ void store(int* p) { *p = value; }
__global__ void one(int* p) { *p += 1; }
__global__ void ten(int* p) { *p += 10; }
typedef void (*Kernel)(int*);
Kernel kernels[2] = {one, ten};
struct Steps { Kernel all[2]; } steps = {{one, ten}};
int main() {
  int *p, got = 0;
  cudaMalloc(&p, sizeof(int));
  cudaMemset(p, 0, sizeof(int));
  LAUNCH
  cudaMemcpy(&got, p, sizeof got, cudaMemcpyDeviceToHost);
  cudaFree(p);
  printf("%d\\n", got);
  return got != EXPECTED;
}
"""
SPELLINGS = {
    "behind a label": (
        "switch (got) {\n    case 1: break;\n    default:store<3><<<1, 1>>>(p);\n  }",
        3,
    ),
    "from a table": ("for (int i = 0; i < 4; i++) kernels[i % 2]<<<1, 1>>>(p);", 22),
    "from a member": ("for (int i = 0; i < 2; i++) steps.all[i]<<<1, 1>>>(p);", 11),
}
REFUSED = """\
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
__global__ void kernel(int* p) { *p = 1; }
int main() {
  int* p;
  cudaMalloc(&p, sizeof(int));
  void* args[] = {&p};
  cudaError_t error = cudaLaunchCooperativeKernel((void*)kernel, dim3(40960), dim3(256), args);
  if (error != cudaSuccess) {
    printf("%s\\n", cudaGetErrorString(error));
    exit(1);
  }
}
"""
ENDLESS = """\
#include <cuda_runtime.h>
#include <cstdio>
__global__ void add(int* p) {
  for (long long i = 0; i < 100000000000ll; i++) p[i % 64] += 1;
}
static double run(int* p) {
  double took;
  add<<<1, 1>>>(p);
  cudaDeviceSynchronize();
  took = 1;
  return took;
}
int main() {
  int* p;
  cudaMalloc(&p, 256);
  cudaMemset(p, 0, 256);
  printf("%g\\n", run(p));
}
"""


@pytest.mark.parametrize("name", SPELLINGS)
def test_a_launch_is_read_as_nvcc_reads_it(name: str, tmp_path: Path) -> None:
    launch, expected = SPELLINGS[name]
    path = tmp_path / "program.cu"
    path.write_text(PROGRAM.replace("LAUNCH", launch).replace("EXPECTED", str(expected)))
    assert check(path, ranks=1, effort=Effort.QUICK).verdict is Verdict.OK


def kinds(path: Path, seconds: float = 60) -> dict[str, Severity]:
    task = replace(Workload.from_program(path, ranks=1), limits=Limits(seconds=seconds))
    report = check(task, effort=Effort.QUICK)
    return {one.finding.kind: one.finding.severity for one in report.findings}


def test_a_refused_launch_whose_status_is_looked_at_is_not_called_unseen(tmp_path: Path) -> None:
    path = tmp_path / "refused.cu"
    path.write_text(REFUSED)
    assert "launch_error" not in kinds(path)
    assert kinds(path)["exit_code"] is Severity.ERROR


def test_what_a_run_did_not_get_to_is_not_called_unset(tmp_path: Path) -> None:
    path = tmp_path / "endless.cu"
    path.write_text(ENDLESS)
    told = kinds(path, 3)
    assert told["timeout"] is Severity.ERROR
    assert "uninitialized_read" not in told
