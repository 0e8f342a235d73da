"""A read-back is the same one in every run, whatever order threads, streams and graphs take."""

from pathlib import Path

from warploom.core.records import BuildSpec, RunSpec, Timing
from warploom.emulator import RunOptions, build, run

THREADS = Path(__file__).parents[1] / "hardware" / "programs" / "threads.cu"
STREAMS = """
#include <cuda_runtime.h>
__global__ void fill(int* out, int value, int steps) {
  int sum = 0;
  for (int i = 0; i < steps; i++) sum += atomicAdd(out + 1, 1) >= 0;
  *out = value + (sum - steps);
}
int main() {
  cudaStream_t streams[4];
  int *out[4], got[4], back[4];
  for (int i = 0; i < 4; i++) {
    cudaStreamCreate(&streams[i]);
    cudaMalloc(&out[i], 2 * sizeof(int));
    cudaMemset(out[i], 0, 2 * sizeof(int));
  }
  cudaDeviceSynchronize();
  for (int i = 0; i < 4; i++) {  // the first takes the longest
    fill<<<1, 1, 0, streams[i]>>>(out[i], i, (4 - i) * 200);
    cudaMemcpyAsync(&got[i], out[i], sizeof(int), cudaMemcpyDeviceToHost, streams[i]);
  }
  cudaDeviceSynchronize();
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaEvent_t begin, ends[4];
  cudaEventCreate(&begin);
  cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeGlobal);
  cudaEventRecord(begin, streams[0]);
  for (int i = 0; i < 4; i++) {
    if (i) cudaStreamWaitEvent(streams[i], begin, 0);
    fill<<<1, 1, 0, streams[i]>>>(out[i], 10 + i, (4 - i) * 200);
    cudaMemcpyAsync(&back[i], out[i], sizeof(int), cudaMemcpyDeviceToHost, streams[i]);
    cudaEventCreate(&ends[i]);
    cudaEventRecord(ends[i], streams[i]);
    if (i) cudaStreamWaitEvent(streams[0], ends[i], 0);
  }
  cudaStreamEndCapture(streams[0], &graph);
  cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphLaunch(exec, streams[0]);
  cudaDeviceSynchronize();
}
"""
SCHEDULES = [(1, Timing.EAGER), (1, Timing.LAZY), *((seed, Timing.RANDOM) for seed in range(2, 8))]


def read_back(program: Path, ranks: int) -> set[tuple[tuple[int, int, bytes], ...]]:
    """Return what the schedules read back: one set of data if they agree."""
    built = build(BuildSpec(program))
    found = set[tuple[tuple[int, int, bytes], ...]]()
    for seed, timing in SCHEDULES:
        options = RunOptions(RunSpec(seed, timing), ranks, processes="single")
        outcome = run(built, options)
        assert outcome.state == "finished", outcome.findings
        found.add(tuple((r.rank, r.seq, bytes(r.data)) for r in outcome.readbacks))
    return found


def test_of_several_threads() -> None:
    [data] = read_back(THREADS, 2)
    assert [(rank, seq) for rank, seq, _ in data] == [(r, n) for r in (0, 1) for n in range(15)]


def test_of_several_streams_and_of_a_graph(tmp_path: Path) -> None:
    program = tmp_path / "streams.cu"
    program.write_text(STREAMS)
    [data] = read_back(program, 1)
    assert [int.from_bytes(d, "little") for _, _, d in data] == [0, 1, 2, 3, 10, 11, 12, 13]
