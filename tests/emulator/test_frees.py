"""Freeing what the call did not allocate: it frees nothing, and its status is rarely looked at."""

from pathlib import Path

import pytest
from host_program import check_program, kinds_of

_TEXT = """
#include <cuda_runtime.h>
#include <nccl.h>
#include <cstdlib>
int main() {
  char *device, *pinned, *managed, *window, heap[64];
  void* pooled;
  cudaMalloc(&device, 256);
  cudaMallocHost(&pinned, 256);
  cudaMallocManaged(&managed, 256);
  ncclMemAlloc((void**)&window, 4096);
  cudaMallocAsync(&pooled, 256, 0);
  STATEMENT;
  cudaFree(device);
  cudaFreeHost(pinned);
  cudaFree(managed);
  ncclMemFree(window);
  cudaFreeAsync(pooled, 0);
  cudaDeviceSynchronize();
  (void)heap;
}
"""

WRONG = [
    "cudaFree(device + 16)",
    "cudaFreeHost(pinned + 16)",
    "cudaFree(managed + 1)",
    "cudaFreeAsync((char*)pooled + 8, 0)",
    "ncclMemFree(window + 64)",
    "cudaFree(pinned)",
    "cudaFree(window)",
    "cudaFreeHost(device)",
    "cudaFreeHost(managed)",
    "cudaFree(heap)",
    "cudaFreeHost(heap)",
]
RIGHT = ["cudaFree(nullptr)", "cudaFreeHost(nullptr)", "cudaFree(0)", "(void)device"]


@pytest.mark.parametrize("statement", WRONG)
def test_what_is_not_the_calls_to_free(tmp_path: Path, statement: str) -> None:
    report = check_program(tmp_path, _TEXT.replace("STATEMENT", statement))
    assert kinds_of(report) == {"invalid_free"}


@pytest.mark.parametrize("statement", RIGHT)
def test_each_by_its_own(tmp_path: Path, statement: str) -> None:
    report = check_program(tmp_path, _TEXT.replace("STATEMENT", statement))
    assert kinds_of(report) == set()
