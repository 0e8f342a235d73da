"""Limits of launches: the threads of `__launch_bounds__`, constants, and the space of arguments."""

from pathlib import Path

import pytest
from host_program import check_program

from warploom.core.errors import SourceError
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


LIMITS = """\
#include <cuda_runtime.h>
struct Large { char bytes[32752]; };
__constant__ char first[60 * 1024], second[4 * 1024];
__constant__ char third[MORE];
__global__ void take(Large large, int* out) { *out = large.bytes[5] + first[*out] + second[*out]; }
int main() {
  int* out;
  cudaMalloc(&out, 4096);
  cudaMemset(out, 0, 4096);
  Large large = {};
  take<<<1, 1>>>(large, out);
  return cudaDeviceSynchronize();
}
"""


@pytest.mark.parametrize(("more", "found"), [("1", True), ("0", False)])
def test_the_constants_of_a_file_are_bounded(tmp_path: Path, more: str, found: bool) -> None:
    merged = check_program(tmp_path, LIMITS.replace("MORE", more)).findings
    errors = [item.finding for item in merged if item.finding.severity is Severity.ERROR]
    assert [(item.kind, item.line) for item in errors] == [("launch_error", 11)] * found


def test_the_arguments_of_a_kernel_are_bounded(tmp_path: Path) -> None:
    text = LIMITS.replace("MORE", "0").replace("32752", "32757")
    with pytest.raises(SourceError, match="32764"):
        check_program(tmp_path, text)
