"""`__launch_bounds__` limit the threads of a block: a launch with more fails on a GPU."""

from pathlib import Path

import pytest
from host_program import check_program

from warploom.core.records import Severity

PROGRAM = """\
#include <cuda_runtime.h>
constexpr int kMost = 96;
__global__ void __launch_bounds__(128, 2) plain(int* out) { out[threadIdx.x] = 1; }
template <int most> __launch_bounds__(most) __global__
void templated(int* out) { out[threadIdx.x] = 1; }
template <class T>
__global__ void __launch_bounds__(
    kMost + sizeof(T)) sized(T* out) { out[threadIdx.x] = 1; }
int main() {
  int* out;
  cudaMalloc(&out, 4096);
  LAUNCH;
  return cudaDeviceSynchronize();
}
"""


@pytest.mark.parametrize(
    ("launch", "found"),
    [
        ("plain<<<1, 128>>>(out)", False),
        ("plain<<<1, dim3(8, 4, 4)>>>(out)", False),
        ("plain<<<1, 129>>>(out)", True),
        ("plain<<<1, dim3(8, 4, 5)>>>(out)", True),
        ("templated<64><<<1, 64>>>(out)", False),
        ("templated<64><<<1, 65>>>(out)", True),
        ("sized<<<1, 100>>>(out)", False),
        ("sized<<<1, 101>>>(out)", True),
    ],
)
def test_a_block_with_more_threads_is_found(tmp_path: Path, launch: str, found: bool) -> None:
    text = PROGRAM.replace("LAUNCH", launch)
    merged = check_program(tmp_path, text).findings
    errors = [item.finding for item in merged if item.finding.severity is Severity.ERROR]
    assert [(item.kind, item.line) for item in errors] == [("launch_error", 12)] * found
