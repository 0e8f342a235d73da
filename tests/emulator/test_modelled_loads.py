"""Modelled time of loads: which overlap, what lines they pass, and that addresses decide none."""

from pathlib import Path

import pytest

from warploom.core.records import BuildSpec, RunSpec, Timing
from warploom.emulator import EmulatorRun, RunOptions, build, find_topology, run

PROGRAM = """
#include <cuda_runtime.h>
#include <cstdio>
#include <vector>
#define MAYBE_LEAVE(now) if (now) break
#define fdimf(now, none) if (now) break
constexpr int kSteps = 512;
__device__ float table[1 << 14];
__global__ void one_by_one(const int* from, float* to, int steps) {
  int at = threadIdx.x;
  for (int i = 0; i < steps; ++i) at = from[at];
  to[threadIdx.x] = at;
}
__global__ void side_by_side(const int* from, float* to, int steps) {
  int sum = 0;
  for (int i = 0; i < steps; ++i) sum += from[(i + 1) * 32 + threadIdx.x];
  to[threadIdx.x] = sum;
}
__global__ void shared_or_own(const float* from, int each, float* to) {
  float sum = 0;
  for (int i = threadIdx.x; i < 1 << 14; i += 256) sum += from[blockIdx.x * each + i];
  to[blockIdx.x * 256 + threadIdx.x] = sum;
}
__global__ void first_only(const int* from, float* to, int steps) {
  int sum = 0;
  for (int i = 0; i < steps; ++i) {
    sum += from[threadIdx.x];
    fdimf(1, 0);
  }
  int at = threadIdx.x;
  for (int i = 0; i < steps; ++i) at = from[at];
  to[threadIdx.x] = at + sum;
}
// A line for each lane, or one for all of them.
__global__ void lines(const float* from, float* to, int lane, int step) {
  float sum = 0;
  for (int i = 0; i < 256; ++i) sum += from[threadIdx.x * lane + i * step];
  to[blockIdx.x * 32 + threadIdx.x] = sum;
}
// Lanes that loaded a different number of times, and then met, load together again.
__global__ void after(const float* from, float* to, int odd) {
  float sum = 0;
  if (threadIdx.x % 2 < odd) sum += from[threadIdx.x];
  __syncwarp();
  for (int i = 0; i < 256; ++i) sum += from[threadIdx.x + i * 32];
  to[blockIdx.x * 32 + threadIdx.x] = sum;
}
__global__ void scattered(const float* from, float* to, int* hot) {
  float sum = 0;
  for (int i = 0; i < 200; ++i) {
    const unsigned place = (i * 7919u + threadIdx.x * 104729u) % (1 << 22);
    sum += from[place] + table[place % (1 << 14)];
    to[place] = i;
    atomicAdd(hot + place % 4096, 1);
  }
  to[threadIdx.x] = sum;
}
float* many;
void blocks(int each) { shared_or_own<<<264, 256>>>(many, each, many + (264 << 14)); }
cudaEvent_t start, stop;
template <class F> void tell(const char* name, F work, void (*before)() = [] {}) {
  float ms = 0;
  for (int i = 0; i < 2; i++) {
    before();
    cudaEventRecord(start);
    work();
    cudaEventRecord(stop);
    cudaEventSynchronize(stop);
    cudaEventElapsedTime(&ms, start, stop);
  }
  std::printf("%s %.9g\\n", name, ms * 1e6);
}
int main() {
  cudaEventCreate(&start);
  cudaEventCreate(&stop);
  int *from, *hot;
  float *floats, *to;
  const size_t bytes = (kSteps + 1) * 128;
  std::vector<int> next(bytes / 4);
  for (size_t i = 0; i < next.size(); i++) next[i] = (i + 32) % next.size();
  cudaMalloc(&from, bytes);
  cudaMalloc(&floats, 16 << 20);
  cudaMalloc(&to, 16 << 20);
  cudaMalloc(&hot, 16384);
  cudaMemcpy(from, next.data(), bytes, cudaMemcpyHostToDevice);
  cudaMemset(floats, 0, 16 << 20);
  cudaMemset(hot, 0, 16384);
  tell("empty", [&] { side_by_side<<<1, 32>>>(from, to, 0); });
  tell("one_by_one", [&] { one_by_one<<<1, 32>>>(from, to, kSteps); });
  tell("side_by_side", [&] { side_by_side<<<1, 32>>>(from, to, kSteps); });
  tell("first_only", [&] { first_only<<<1, 32>>>(from, to, kSteps); });
  tell("one_alone", [&] { one_by_one<<<1, 32>>>(from, to, 1); });
  tell("one_unrolled", [&] { side_by_side<<<1, 32>>>(from, to, 1); });
  tell("together", [&] { lines<<<1056, 32>>>(floats, to, 1, 32); });
  tell("apart", [&] { lines<<<1056, 32>>>(floats, to, 1024, 1); });
  tell("even", [&] { after<<<1056, 32>>>(floats, to, 2); });
  tell("uneven", [&] { after<<<1056, 32>>>(floats, to, 1); });
  cudaMalloc(&many, (264 << 16) + (264 << 10));
  cudaMemset(many, 0, 264 << 16);
  tell("own_after_own", [] { blocks(1 << 14); }, [] { blocks(1 << 14); });
  tell("own_after_shared", [] { blocks(1 << 14); }, [] { blocks(0); });
  tell("scattered", [&] { scattered<<<16, 256>>>(floats, to, hot); });
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("loads") / "loads.cu"
    path.write_text(PROGRAM)
    return path


def timed(program: Path, seed: int) -> EmulatorRun:
    options = RunOptions(
        RunSpec(seed, Timing.EAGER), ranks=1, race=False, machine=find_topology("h200-8")
    )
    done = run(build(BuildSpec(program, timed=True)), options)
    assert done.state == "finished", done.findings
    return done


@pytest.fixture(scope="module")
def first(program: Path) -> EmulatorRun:
    return timed(program, 0)


@pytest.fixture(scope="module")
def taken(first: EmulatorRun) -> dict[str, float]:
    pairs = (line.split() for line in first.stdout.splitlines())
    return {name: float(nanoseconds) for name, nanoseconds in pairs}


def test_loads_of_unrolled_iterations_overlap(taken: dict[str, float]):
    alone, together = (taken[name] - taken["empty"] for name in ("one_by_one", "side_by_side"))
    assert 7 < alone / together < 10  # ten at a time, with operations between them
    # However short a loop is, its loads take their time.
    assert taken["one_unrolled"] == pytest.approx(taken["one_alone"], abs=10)


def test_a_loop_that_is_left_early_makes_nothing_behind_it_faster(taken: dict[str, float]):
    assert taken["first_only"] > taken["one_by_one"]


def test_lanes_that_load_from_lines_of_their_own_pass_all_of_them(taken: dict[str, float]):
    """Each of 32 lanes loads 256 numbers in a row, with all lanes of other blocks."""
    apart, together = (taken[name] - taken["empty"] for name in ("apart", "together"))
    assert apart > 3 * together
    passed = 1056 * 256 * 32 * 128  # bytes, of 132 multiprocessors
    assert apart > passed / (132 * 128 * 1.97)


def test_lanes_that_met_load_together_again(taken: dict[str, float]):
    assert taken["uneven"] == pytest.approx(taken["even"], rel=0.05)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_addresses_do_not_change_the_time(program: Path, first: EmulatorRun, seed: int):
    """A seed draws the addresses; they also differ where the system has something else at these."""
    again = timed(program, seed)
    assert first.timeline is not None and again.timeline is not None
    assert again.timeline.ends == first.timeline.ends
    assert again.timeline.spans == first.timeline.spans


def test_what_a_kernel_shared_last_time_makes_no_other_launch_of_it_cheap(taken: dict[str, float]):
    """The price of lines that blocks load together is known from the kernel's launch before."""
    assert taken["own_after_shared"] > 0.95 * taken["own_after_own"]
