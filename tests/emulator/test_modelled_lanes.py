"""Modelled time of lanes that leave a loop at different times."""

from pathlib import Path

from warploom.core.records import BuildSpec
from warploom.emulator import RunOptions, build, find_topology, run

PROGRAM = """
#include <cuda_runtime.h>
#include <cstdio>
__global__ void scale(float* out, const float* in, int count) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    const unsigned here = __activemask();
    const float two = __shfl_sync(here, threadIdx.x < 64 ? 2.0f : 0.0f, __ffs(here) - 1);
    out[blockIdx.x * count + i] = two * in[i];
  }
}
int main() {
  constexpr int kCount = 40, kBlocks = 4;
  float in[kCount], out[kBlocks * kCount];
  for (float& value : in) value = 3.0f;
  float *from, *to;
  cudaMalloc(&from, sizeof in);
  cudaMalloc(&to, sizeof out);
  cudaMemcpy(from, in, sizeof in, cudaMemcpyHostToDevice);
  scale<<<kBlocks, 64>>>(to, from, kCount);
  cudaMemcpy(out, to, sizeof out, cudaMemcpyDeviceToHost);
  int right = 0;
  for (float value : out) right += value == 6.0f;
  std::printf("%d", right);
}
"""


def test_lanes_that_wait_for_who_else_is_active_go_on_later(tmp_path: Path):
    """In modelled time, who is released may be ready only later than the block looks."""
    (tmp_path / "lanes.cu").write_text(PROGRAM)
    program = build(BuildSpec(tmp_path / "lanes.cu", timed=True))
    done = run(program, RunOptions(ranks=1, race=False, machine=find_topology("h200-8")))
    assert (done.state, done.stdout) == ("finished", "160"), done.findings
