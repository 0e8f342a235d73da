"""Events made and destroyed in a loop cost no memory that grows with it, and times pass."""

from pathlib import Path

import pytest

from warploom.core.records import BuildSpec, RunSpec, Timing
from warploom.emulator import RunOptions, build, run

EVENTS = """
#include <cuda_runtime.h>
#include <cstdio>
#include <cstring>
static long resident() {
  long all = 0, pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%ld %ld", &all, &pages) != 2) return -1;
  fclose(file);
  return pages * 4096;
}
int main() {
  long first = 0;
  for (int round = 0; round < 4; round++) {
    for (int i = 0; i < 20000; i++) {
      cudaEvent_t event;
      if (cudaEventCreate(&event) || cudaEventRecord(event)) return 1;
      if (cudaEventSynchronize(event) || cudaEventDestroy(event)) return 1;
    }
    if (round == 0) first = resident();
  }
  printf("%ld\\n", (resident() - first) / 60000);
  return 0;
}
"""

COLLECTIVES = """
#include <cuda_runtime.h>
#include <nccl.h>
#include <cstdio>
int main() {
  ncclComm_t comms[2];
  const int devices[2] = {0, 1};
  cudaStream_t streams[2];
  cudaEvent_t events[2][3];
  float* data[2];
  if (ncclCommInitAll(comms, 2, devices)) return 1;
  for (int d = 0; d < 2; d++) {
    cudaSetDevice(d);
    cudaStreamCreate(&streams[d]);
    cudaMalloc(&data[d], 4096);
    cudaMemsetAsync(data[d], 0, 4096, streams[d]);
    for (cudaEvent_t& event : events[d]) cudaEventCreate(&event);
    cudaEventRecord(events[d][0], streams[d]);
  }
  ncclGroupStart();
  for (int d = 0; d < 2; d++) {
    ncclAllReduce(data[d], data[d], 1024, ncclFloat, ncclSum, comms[d], streams[d]);
  }
  ncclGroupEnd();
  for (int d = 0; d < 2; d++) {
    cudaSetDevice(d);
    cudaEventRecord(events[d][1], streams[d]);
    cudaEventRecord(events[d][2], streams[d]);
  }
  for (int d = 0; d < 2; d++) {
    cudaSetDevice(d);
    cudaStreamSynchronize(streams[d]);
    float whole = 0, none = 0;
    if (cudaEventElapsedTime(&whole, events[d][0], events[d][1])) return 1;
    if (cudaEventElapsedTime(&none, events[d][1], events[d][2])) return 1;
    printf("%.9f %.9f\\n", whole, none);
  }
  return 0;
}
"""


def test_a_destroyed_event_gives_its_memory_back(tmp_path: Path) -> None:
    (tmp_path / "events.cu").write_text(EVENTS)
    outcome = run(build(BuildSpec(tmp_path / "events.cu")), RunOptions(ranks=1))
    assert outcome.state == "finished" and outcome.exit_codes == {0: 0}, outcome.findings
    assert int(outcome.stdout) < 600, "bytes for each event"


@pytest.mark.parametrize("timing", list(Timing))
def test_time_passes_while_devices_talk(tmp_path: Path, timing: Timing) -> None:
    (tmp_path / "talk.cu").write_text(COLLECTIVES)
    options = RunOptions(ranks=2, processes="single", run=RunSpec(0, timing))
    outcome = run(build(BuildSpec(tmp_path / "talk.cu")), options)
    assert outcome.exit_codes == {0: 0}, outcome.findings
    times = [float(text) for text in outcome.stdout.split()]
    assert len(times) == 4 and all(0 < time < 1 for time in times), times
