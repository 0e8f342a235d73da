"""A time limit leaves a report whole; an index below the first allocation is out of bounds."""

from pathlib import Path

import pytest

from warploom.core.records import BuildSpec, Limits
from warploom.emulator import RunOptions, build, run

ENDLESS = """
#include <cuda_runtime.h>
#include <vector>
int main() {
  const size_t bytes = 1 << 25;
  std::vector<char> host(bytes);
  char* device;
  cudaMalloc(&device, bytes);
  cudaMemset(device, 's', bytes);
  for (;;) cudaMemcpy(host.data(), device, bytes, cudaMemcpyDeviceToHost);
}
"""
BELOW = """
#include <cuda_runtime.h>
__global__ void left(float* p, int by) { p[threadIdx.x] = p[(int)threadIdx.x - by]; }
__global__ void nowhere(float** p) { **p = 1; }
int main(int argc, char** argv) {
  float *p, **at;
  cudaMalloc(&p, 4096);
  cudaMalloc(&at, sizeof *at);
  cudaMemset(p, 0, 4096);
  cudaMemset(at, 0, sizeof *at);
  if (argc > 2) nowhere<<<1, 1>>>(at);
  else left<<<1, 1>>>(p, argc > 1 ? 1 << 20 : 2);
  cudaDeviceSynchronize();
}
"""


def test_a_read_back_at_the_time_limit_is_told_whole(tmp_path: Path) -> None:
    program = tmp_path / "endless.cu"
    program.write_text(ENDLESS)
    built = build(BuildSpec(program))
    for seconds in (1.5, 1.75, 2.0):
        outcome = run(built, RunOptions(ranks=1, limits=Limits(seconds=seconds)))
        assert {f.kind for f in outcome.findings} == {"timeout"}, outcome.findings


@pytest.mark.parametrize(
    ("args", "kind", "words"),
    [
        ((), "out_of_bounds", "begins 8 bytes before an allocation of 4096 bytes on device 0"),
        (("far",), "out_of_bounds", "begins 4194304 bytes before an allocation of 4096 bytes"),
        (("null", "pointer"), "device_dereference_host", "ordinary host memory"),
    ],
)
def test_what_lies_below_the_first_allocation(
    tmp_path: Path, args: tuple[str, ...], kind: str, words: str
) -> None:
    program = tmp_path / "below.cu"
    program.write_text(BELOW)
    outcome = run(build(BuildSpec(program)), RunOptions(ranks=1, args=args))
    told = [f.message for f in outcome.findings if f.kind == kind]
    assert told and words in told[0], outcome.findings
