"""Long computations that read as a loop that waits would: they take the time of their work, and are
no deadlock. Loops that wait take the time of what they wait for, and without end they are one."""

import math
from pathlib import Path

import pytest

from warploom.core.records import BuildSpec, RunSpec, Timing
from warploom.emulator import EmulatorBuild, EmulatorRun, RunOptions, build, find_topology, run

PROGRAM = r"""
#include <cuda_runtime.h>
#include <mpi.h>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
struct Box { int arrived, wanted; };
__global__ void scan(const volatile int* p, int n, int* out) {
  int sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += p[i];
  out[threadIdx.x] = sum;
}
__global__ void twice(const volatile int* p, int n, int* out) {
  int sum = 0;
  for (int i = 0; i < 4 * n; i++) sum += p[i % n];
  out[threadIdx.x] = sum;
}
__global__ void bound(const int* p, const volatile int* n, int* out) {
  int sum = 0;
  for (int i = 0; i < *n; i++) sum += p[i];
  out[threadIdx.x] = sum;
}
__global__ void store(const int* p, const volatile int* n, int* out) {
  for (int i = 0; i < *n; i++) out[i] = p[i] + 1;
}
__global__ void count(int n, int* counter) {
  for (int i = 0; i < n; i++) atomicAdd(counter, 1);
}
__global__ void take(int n, int* next, const int* p, int* out) {
  int sum = 0;
  for (int i = atomicAdd(next, 1); i < n; i = atomicAdd(next, 1)) sum += p[i];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
__global__ void look(int n, int* p, int* out) {
  int sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += atomicAdd(&p[i], 0);
  out[threadIdx.x] = sum;
}
__global__ void read(int n, const int* p, int* out) {
  int sum = 0;
  for (int round = 0; round < 8; round++)
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += p[i];
  out[threadIdx.x] = sum;
}
__global__ void spin(volatile int* flag) { while (*flag == 0) {} }
__global__ void spin_boxes(Box* boxes, int n) {
  for (bool any = false; !any;)
    for (int i = 0; i < n; i++) any |= *(volatile int*)&boxes[i].arrived > boxes[i].wanted;
}
__global__ void lock(int* word) { while (atomicCAS(word, 1, 2) != 1) {} }
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, done = 0, message = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  cudaSetDevice(rank);
  const char* what = argv[1];
  const auto is = [&](const char* name) { return !std::strcmp(what, name); };
  const int n = std::atoi(argv[2]);
  int *p, *out, *flag, *pinned;
  cudaMalloc(&p, 4 * (n + 1));
  cudaMalloc(&out, 4 * (n + 4096));
  cudaMemset(p, 0, 4 * n);
  cudaMemset(out, 0, 4 * (n + 4096));
  cudaMemcpy(p + n, &n, 4, cudaMemcpyHostToDevice);
  cudaMallocHost(&flag, 4);
  cudaMallocHost(&pinned, 4 * n);
  std::memset(pinned, 0, 4 * n);
  volatile int* shared = flag;
  *shared = 0;
  std::vector<int> values(n, 1);
  long sum = 0;
  const auto compute = [&] {
    for (int round = 0; round < 64; round++)
      for (const int value : values) sum += value;
  };
  const auto test_until_told = [&] {
    MPI_Request request;
    MPI_Irecv(&message, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
    while (!done) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  };
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  cudaDeviceSynchronize();
  MPI_Barrier(MPI_COMM_WORLD);
  cudaEventRecord(begin);
  read<<<1, 1>>>(1, p, out);
  if (is("scan")) scan<<<1, 1>>>(p, n, out);
  if (is("twice")) twice<<<1, 1>>>(p, n, out);
  if (is("bound")) bound<<<1, 1>>>(p, p + n, out);
  if (is("store")) store<<<1, 1>>>(p, p + n, out);
  if (is("count")) count<<<1, 1>>>(n, out);
  if (is("take")) take<<<2, 2>>>(n, out + 10, p, out);
  if (is("look")) look<<<1, 32>>>(n, p, out);
  if (is("read")) read<<<1, 1>>>(n, p, out);
  if (is("query")) {
    read<<<1, 1>>>(n, p, out);
    cudaEventRecord(end);
    while (cudaEventQuery(end) != cudaSuccess) {}
  }
  if (is("pinned")) {
    for (int i = 0; i < n; i++) sum += ((volatile int*)pinned)[i];
    read<<<1, 1>>>(1, p, out);
  }
  if (is("atomic")) {
    std::atomic<int> limit(n);
    for (int i = 0; i < limit.load(); i++) sum += values[i];
    read<<<1, 1>>>(1, p, out);
  }
  if (is("spin")) {
    spin<<<1, 1>>>(flag);
    compute();
    *shared = 1;
  }
  if (is("test") && rank == 0) {
    compute();
    read<<<1, 1>>>(1, p, out);
    MPI_Send(&message, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
  }
  if (is("test") && rank == 1) {
    spin<<<1, 1>>>(flag);
    test_until_told();
    *shared = 1;
  }
  if (is("never_set")) spin<<<1, 1>>>(flag);
  if (is("never_in_boxes")) spin_boxes<<<1, 1>>>((Box*)p, n / 2);
  if (is("never_unlocked")) lock<<<1, 1>>>(p);
  if (is("never_sent") && rank == 1) test_until_told();
  if (is("never_stored")) while (*shared == 0) sum += pinned[0];
  cudaEventRecord(end);
  cudaEventSynchronize(end);
  float ms = 0;
  cudaEventElapsedTime(&ms, begin, end);
  if (rank == 1) std::printf("%.6f\n", ms);
  MPI_Finalize();
}
"""
COMPUTATIONS = (
    *("scan", "twice", "bound", "store", "count", "take", "look", "read", "query"),
    *("pinned", "atomic", "spin", "test"),
)
WAITS = ("never_set", "never_in_boxes", "never_unlocked", "never_sent", "never_stored")


def program(folder: Path, timed: bool) -> EmulatorBuild:
    (folder / "long.cu").write_text(PROGRAM)
    return build(BuildSpec(folder / "long.cu", timed=timed))


@pytest.fixture(scope="module")
def timed(tmp_path_factory: pytest.TempPathFactory) -> EmulatorBuild:
    return program(tmp_path_factory.mktemp("timed"), True)


@pytest.fixture(scope="module")
def ordered(tmp_path_factory: pytest.TempPathFactory) -> EmulatorBuild:
    return program(tmp_path_factory.mktemp("ordered"), False)


def run_timed(timed: EmulatorBuild, what: str, n: int) -> EmulatorRun:
    options = RunOptions(ranks=2, args=(what, str(n)), race=False, machine=find_topology("h200-8"))
    return run(timed, options)


def run_ordered(ordered: EmulatorBuild, what: str, n: int, timing: Timing) -> EmulatorRun:
    return run(ordered, RunOptions(RunSpec(0, timing), ranks=2, args=(what, str(n))))


@pytest.mark.parametrize("what", COMPUTATIONS)
def test_time_grows_with_the_work(timed: EmulatorBuild, what: str):
    times: list[float] = []
    for n in (1 << 14, 1 << 16):
        done = run_timed(timed, what, n)
        assert done.state == "finished", done.findings
        assert done.timeline is not None and math.isfinite(done.timeline.total_ms)
        times.append(float(done.stdout))
    small, large = times
    # What is not of the work, a launch and the events, is some microseconds.
    assert 3 < (large - 0.006) / (small - 0.006) < 5, times
    assert large < 50, times


@pytest.mark.parametrize("what", COMPUTATIONS)
@pytest.mark.parametrize("timing", [Timing.LAZY, Timing.RANDOM])
def test_a_long_computation_is_no_deadlock(ordered: EmulatorBuild, what: str, timing: Timing):
    done = run_ordered(ordered, what, 1 << 16, timing)
    assert done.state == "finished", done.findings


@pytest.mark.parametrize("what", WAITS)
def test_an_endless_wait_is_a_deadlock(timed: EmulatorBuild, ordered: EmulatorBuild, what: str):
    many = 1 << 14 if what == "never_in_boxes" else 64
    for done in (run_timed(timed, what, many), run_ordered(ordered, what, many, Timing.LAZY)):
        assert done.state == "deadlock", done.stdout
        assert done.timeline is None or done.timeline.total_ms < 50


def test_identical_runs_take_identical_time(timed: EmulatorBuild):
    for what in ("test", "take"):
        one, two = (run_timed(timed, what, 1 << 14) for _ in range(2))
        assert one.timeline == two.timeline
