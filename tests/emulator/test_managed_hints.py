"""What was advised for managed memory can be asked for, range by range; it changes nothing else."""

from pathlib import Path

import pytest
from host_program import check_program, kinds_of

_HEAD = """
#include <cuda_runtime.h>
#include <cstdio>
#define WANT(x) if (!(x)) { std::printf("line %d\\n", __LINE__); return 1; }
static float* p;
static int ask(cudaMemRangeAttribute which, size_t from = 0, size_t bytes = 8192) {
  int value = 99;
  const char* start = reinterpret_cast<char*>(p) + from;
  return cudaMemRangeGetAttribute(&value, sizeof value, which, start, bytes) ? 98 : value;
}
static cudaMemLocation on(int device) {
  cudaMemLocation place{};
  place.type = device < 0 ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
  place.id = device < 0 ? 0 : device;
  return place;
}
int main() {
  cudaMallocManaged(&p, 8192);
"""
_TAIL = "\n  cudaFree(p);\n  return 0;\n}\n"
RIGHT = {
    "nothing said": """
  WANT(ask(cudaMemRangeAttributePreferredLocation) == cudaInvalidDeviceId);
  WANT(ask(cudaMemRangeAttributeReadMostly) == 0);
  WANT(ask(cudaMemRangeAttributeLastPrefetchLocation) == cudaInvalidDeviceId);""",
    "a place for a half": """
  cudaMemAdvise(p, 4096, cudaMemAdviseSetPreferredLocation, on(0));
  WANT(ask(cudaMemRangeAttributePreferredLocation, 0, 4096) == 0);
  WANT(ask(cudaMemRangeAttributePreferredLocation) == cudaInvalidDeviceId);
  cudaMemAdvise(p, 8192, cudaMemAdviseSetPreferredLocation, on(-1));
  WANT(ask(cudaMemRangeAttributePreferredLocation) == cudaCpuDeviceId);
  WANT(ask(cudaMemRangeAttributePreferredLocationType) == cudaMemLocationTypeHost);
  cudaMemAdvise(p, 8192, cudaMemAdviseUnsetPreferredLocation, on(-1));
  WANT(ask(cudaMemRangeAttributePreferredLocation) == cudaInvalidDeviceId);""",
    "prefetched, then freed": """
  cudaMemPrefetchAsync(p, 8192, on(0), 0, nullptr);
  cudaDeviceSynchronize();
  WANT(ask(cudaMemRangeAttributeLastPrefetchLocation) == 0);
  cudaFree(p);
  cudaMallocManaged(&p, 8192);
  WANT(ask(cudaMemRangeAttributeLastPrefetchLocation) == cudaInvalidDeviceId);""",
    "several at once": """
  cudaMemAdvise(p, 8192, cudaMemAdviseSetReadMostly, on(0));
  cudaMemAdvise(p, 8192, cudaMemAdviseSetAccessedBy, on(0));
  int mostly = 99, by[2] = {99, 99};
  void* values[] = {&mostly, by};
  size_t sizes[] = {sizeof mostly, sizeof by};
  cudaMemRangeAttribute which[] = {cudaMemRangeAttributeReadMostly,
                                   cudaMemRangeAttributeAccessedBy};
  WANT(cudaMemRangeGetAttributes(values, sizes, which, 2, p, 8192) == cudaSuccess);
  WANT(mostly == 1 && by[0] == 0 && by[1] == cudaInvalidDeviceId);""",
    "not managed": """
  float* d;
  int value;
  cudaMalloc(&d, 64);
  WANT(cudaMemRangeGetAttribute(&value, sizeof value, cudaMemRangeAttributeReadMostly, d, 64) ==
       cudaErrorInvalidValue);
  WANT(cudaMemRangeGetAttribute(&value, 3, cudaMemRangeAttributeReadMostly, p, 64) ==
       cudaErrorInvalidValue);
  cudaFree(d);""",
}


@pytest.mark.parametrize("body", RIGHT.values(), ids=list(RIGHT))
def test_hints_are_kept(tmp_path: Path, body: str) -> None:
    assert kinds_of(check_program(tmp_path, _HEAD + body + _TAIL)) == set()


def test_the_value_must_be_the_hosts(tmp_path: Path) -> None:
    body = """
  int* d;
  cudaMalloc(&d, 4);
  cudaMemRangeGetAttribute(d, 4, cudaMemRangeAttributeReadMostly, p, 4);"""
    assert "host_dereference" in kinds_of(check_program(tmp_path, _HEAD + body + _TAIL))
