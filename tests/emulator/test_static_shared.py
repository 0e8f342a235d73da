"""`__shared__` variables have 48 KiB together: nvcc builds no kernel with more."""

from pathlib import Path

import pytest
from host_program import check_program

PROGRAM = """\
#include <cuda_runtime.h>
#include <cstdio>
template <int n> __device__ int more(int i) {
  __shared__ int other[n];
  other[i] = i;
  return other[i];
}
__global__ void kernel(int* out) {
  __shared__ int tile[SIZE];
  tile[threadIdx.x] = threadIdx.x;
  out[threadIdx.x] = tile[threadIdx.x] + more<OTHER>(threadIdx.x);
}
int main() {
  int *out, got[32];
  cudaMalloc(&out, sizeof got);
  kernel<<<1, 32>>>(out);
  cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost);
  printf("%d\\n", got[31]);
}
"""


@pytest.mark.parametrize(
    ("size", "other", "found"),
    [(12256, 32, False), (12257, 32, True), (15000, 32, True), (6144, 6144, False),
     (6144, 6145, True)],
)  # fmt: skip
def test_variables_of_a_block_have_a_limit(
    tmp_path: Path, size: int, other: int, found: bool
) -> None:
    text = PROGRAM.replace("SIZE", str(size)).replace("OTHER", str(other))
    kinds = {item.finding.kind for item in check_program(tmp_path, text).findings}
    assert ("launch_error" in kinds) == found
