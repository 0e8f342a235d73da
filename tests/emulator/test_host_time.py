"""Modelled time of a host that computes: what it costs grows with the work, and no faster."""

from pathlib import Path

from warploom.core.records import BuildSpec
from warploom.emulator import RunOptions, build, find_topology, run

PROGRAM = """
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>
__global__ void touch(float* p) { p[threadIdx.x] += 1.0f; }
int main(int argc, char** argv) {
  const int rounds = std::atoi(argv[1]);
  float* device = nullptr;
  cudaMalloc(&device, 32 * sizeof(float));
  cudaMemset(device, 0, 32 * sizeof(float));
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  std::vector<float> values(1 << 16, 1.0f);
  cudaEventRecord(begin);
  touch<<<1, 32>>>(device);
  float sum = 0;
  for (int round = 0; round < rounds; round++) {
    for (const float value : values) sum += value;  // reads alone, as a loop that waits makes them
  }
  touch<<<1, 32>>>(device);
  cudaEventRecord(end);
  cudaEventSynchronize(end);
  float ms = 0;
  cudaEventElapsedTime(&ms, begin, end);
  std::printf("%.6f %g\\n", ms, sum);
}
"""


def test_a_long_computation_is_no_wait(tmp_path: Path):
    (tmp_path / "host.cu").write_text(PROGRAM)
    program = build(BuildSpec(tmp_path / "host.cu", timed=True))
    times: list[float] = []
    for rounds in (50, 200, 800):
        options = RunOptions(
            ranks=1, args=(str(rounds),), race=False, machine=find_topology("h200-8")
        )
        done = run(program, options)
        assert done.state == "finished", done.findings
        times.append(float(done.stdout.split()[0]))
    small, middle, large = times
    assert 3 < middle / small < 5 and 3 < large / middle < 5, times
    # A core adds a few numbers in a nanosecond: 52 million of them take tens of milliseconds.
    assert 5 < large < 200, times
