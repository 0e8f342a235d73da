"""Lanes that hand values on by volatile accesses: told where a failure has no other reason."""

from pathlib import Path

import pytest

from warploom.core.records import Severity
from warploom.evaluation.check import check
from warploom.evaluation.runs.plan import Effort

PROGRAM = """\
#include <cuda_runtime.h>
#include <cstdio>
#include <cstring>

__device__ void last_warp(volatile int* part, unsigned lane, bool barriers) {
  for (int step = 32; step > 0; step /= 2) {
    const int mine = part[lane] + part[lane + step];  // SUM
    if (barriers) __syncwarp();
    part[lane] = mine;  // SUM
    if (barriers) __syncwarp();
  }
}
__global__ void sum(const int* in, int* out, bool barriers) {
  __shared__ int part[96];
  part[threadIdx.x] = in[threadIdx.x];
  if (threadIdx.x < 32) part[threadIdx.x + 64] = 0;
  __syncthreads();
  if (threadIdx.x < 32) last_warp(part, threadIdx.x, barriers);
  if (threadIdx.x == 0) *out = part[0];
}
__global__ void scan(const int* in, int* out) {
  __shared__ volatile int part[64];
  part[threadIdx.x] = 0;
  part[threadIdx.x + 32] = in[threadIdx.x] + in[threadIdx.x + 32];
  __syncthreads();
  for (int step = 1; step < 32; step *= 2) {
    part[threadIdx.x + 32] += part[threadIdx.x + 32 - step];  // SCAN
  }
  if (threadIdx.x == 31) *out = part[63];
}
__global__ void reverse(const int* in, int* out) {
  __shared__ volatile int part[32];
  part[threadIdx.x] = 0;
  __syncthreads();
  part[threadIdx.x] = in[threadIdx.x] + in[threadIdx.x + 32];  // REVERSE
  const int other = part[31 - threadIdx.x];  // REVERSE
  atomicAdd(out, other);
}
__global__ void flag(const int* in, int* out) {
  __shared__ volatile int ready, value;
  if (threadIdx.x == 0) ready = 0;
  __syncthreads();
  if (threadIdx.x == 5) {
    value = 2016;
    __threadfence_block();
    ready = 1;
  }
  while (!ready) {
  }
  __threadfence_block();
  if (threadIdx.x == 0) *out = value;
}
int main(int argc, char** argv) {
  const auto is = [&](const char* name) { return std::strcmp(argv[1], name) == 0; };
  int h[64], *in, *out, got = 0, want = 0;
  for (int i = 0; i < 64; i++) want += h[i] = i;
  cudaMalloc(&in, sizeof h);
  cudaMalloc(&out, sizeof got);
  cudaMemset(out, 0, sizeof got);
  cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice);
  if (is("sum") || is("barriers") || is("unchecked") || is("other")) {
    sum<<<1, 64>>>(in, out, is("barriers") || is("other"));
  }
  if (is("scan")) scan<<<1, 32>>>(in, out);
  if (is("reverse")) reverse<<<1, 32>>>(in, out);
  if (is("flag")) flag<<<1, 32>>>(in, out);
  cudaMemcpy(&got, out, sizeof got, cudaMemcpyDeviceToHost);
  std::printf("%d of %d\\n", got, want);
  return is("unchecked") ? 0 : is("other") ? 1 : got != want;
}
"""


def _found(folder: Path, way: str) -> tuple[set[str], set[int]]:
    program = folder / "lanes.cu"
    program.write_text(PROGRAM)
    report = check(program, ranks=1, effort=Effort.QUICK, args=[way])
    found = [m.finding for m in report.findings if m.finding.severity is Severity.ERROR]
    places = {f.line for f in found} | {f.other.line for f in found if f.other}
    return {f.kind for f in found}, {line for line in places if line}


def _lines(mark: str) -> set[int]:
    return {n for n, line in enumerate(PROGRAM.splitlines(), 1) if line.endswith(f"// {mark}")}


@pytest.mark.parametrize("way", ["sum", "scan", "reverse"])
def test_lanes_without_a_barrier_explain_a_wrong_result(tmp_path: Path, way: str) -> None:
    kinds, lines = _found(tmp_path, way)
    assert kinds == {"shared_memory_race", "exit_code"}
    assert lines <= _lines(way.upper()) and lines


@pytest.mark.parametrize("way", ["barriers", "flag"])
def test_right_programs_are_not_accused(tmp_path: Path, way: str) -> None:
    assert _found(tmp_path, way) == (set(), set())


@pytest.mark.parametrize(("way", "kinds"), [("unchecked", set()), ("other", {"exit_code"})])
def test_nothing_is_said_where_no_failure_or_no_exchange_is(
    tmp_path: Path, way: str, kinds: set[str]
) -> None:
    assert _found(tmp_path, way)[0] == kinds
