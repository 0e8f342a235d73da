"""What is scored is what was verified: the same machine, and its clock in the tests of behavior."""

from pathlib import Path

import pytest

from warploom.core.records import Severity
from warploom.emulator.running.topology import find_topology
from warploom.evaluation.cascade import evaluate
from warploom.workload.workload import Workload

PROGRAM = """\
#include <cuda_runtime.h>
#include <nccl.h>
#include <cstdio>
#include <cstdlib>
#include <vector>
constexpr int kCount = 256;
constexpr int kIters = 4;
__global__ void finish(const float* sum, float* out, bool skip) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (skip) return;
  float x = sum[i];
  for (int k = 0; k < 4000; k++) x = x * 0.999f + 0.001f * k;
  out[i] = x;
}
int main(int argc, char** argv) {
  const int seed = argc > 1 ? std::atoi(argv[1]) : 7;
  ncclComm_t comms[2];
  ncclCommInitAll(comms, 2, nullptr);
  float *in[2], *sum[2], *out[2];
  cudaStream_t streams[2];
  cudaEvent_t start, stop;
  float total = 0, ms = 0;
  bool skip = false;
  for (int d = 0; d < 2; d++) {
    cudaSetDevice(d);
    cudaStreamCreate(&streams[d]);
    std::vector<float> host(kCount);
    for (int i = 0; i < kCount; i++) host[i] = float((i * 37 + d * 11 + seed % 1000) % 101) / 7;
    cudaMalloc(&in[d], kCount * sizeof(float));
    cudaMalloc(&sum[d], kCount * sizeof(float));
    cudaMalloc(&out[d], kCount * sizeof(float));
    cudaMemcpy(in[d], host.data(), kCount * sizeof(float), cudaMemcpyHostToDevice);
  }
  cudaSetDevice(0);
  cudaEventCreate(&start);
  cudaEventCreate(&stop);
  for (int iter = 0; iter <= kIters; iter++) {
    cudaSetDevice(0);
    cudaEventRecord(start, streams[0]);
    ncclGroupStart();
    for (int d = 0; d < 2; d++)
      ncclAllReduce(in[d], sum[d], kCount, ncclFloat, ncclSum, comms[d], streams[d]);
    ncclGroupEnd();
    for (int d = 0; d < 2; d++) {
      cudaSetDevice(d);
      finish<<<1, 256, 0, streams[d]>>>(sum[d], out[d], skip);
    }
    cudaSetDevice(0);
    cudaEventRecord(stop, streams[0]);
    for (int d = 0; d < 2; d++) {
      cudaSetDevice(d);
      cudaStreamSynchronize(streams[d]);
    }
    float one = 0;
    cudaEventElapsedTime(&one, start, stop);
    ms += one;
    // HERE
  }
  for (int d = 0; d < 2; d++) {
    cudaSetDevice(d);
    std::vector<float> got(kCount);
    cudaMemcpy(got.data(), out[d], kCount * sizeof(float), cudaMemcpyDeviceToHost);
    for (float v : got) total += v;
  }
  std::printf("%f %f\\n", total, ms);
  for (int d = 0; d < 2; d++) ncclCommDestroy(comms[d]);
  return 0;
}
"""


def kinds(folder: Path, cheat: str, machine: str) -> set[str]:
    path, other = folder / "trusted.cu", folder / "candidate.cu"
    path.write_text(PROGRAM)
    other.write_text(PROGRAM.replace("// HERE", cheat))
    task = Workload.from_program(path, ranks=2, args=("{seed}",), seeds=1)
    result = evaluate(other, task, level=3, nvcc=False, topology=find_topology(machine))
    found = {i.finding.kind for i in result.findings if i.finding.severity is Severity.ERROR}
    assert result.passed == (not found)
    return found


@pytest.mark.parametrize("machine", ["h200-8", "a100-8"])
def test_work_that_is_left_out_by_the_clock_that_is_scored(tmp_path: Path, machine: str) -> None:
    assert kinds(tmp_path, "if (iter == 0) skip = one > 0.02f;", machine)


def test_work_that_is_left_out_on_one_machine(tmp_path: Path) -> None:
    assert kinds(tmp_path, "if (iter == 0) skip = one > 0.05f && one < 0.09f;", "a100-8")


@pytest.mark.parametrize("machine", ["h200-8", "a100-8"])
def test_the_program_itself_passes(tmp_path: Path, machine: str) -> None:
    assert not kinds(tmp_path, "", machine)
