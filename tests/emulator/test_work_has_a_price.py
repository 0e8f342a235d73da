"""Work that cost nothing in modelled time once: where data lies, and who works, make no gift."""

from collections.abc import Mapping

import pytest

from warploom.core.records import BuildSpec
from warploom.emulator import RunOptions, build, find_topology, run

PROGRAM = """
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>
#include <pthread.h>
#include <cstdio>
#include <vector>
constexpr int N = 1 << 16, kSmall = 1 << 10;
__device__ float in_variable[N];
__managed__ float in_managed[N];
__constant__ float in_constant[kSmall];
__global__ void total(const float* from, int n, float* out) {
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += from[i];
  out[threadIdx.x] = sum;
}
__global__ void of_variable(float* out) {
  float sum = 0;
  for (int i = threadIdx.x; i < N; i += blockDim.x) sum += in_variable[i];
  out[threadIdx.x] = sum;
}
__global__ void of_managed(float* out) {
  float sum = 0;
  for (int i = threadIdx.x; i < N; i += blockDim.x) sum += in_managed[i];
  out[threadIdx.x] = sum;
}
__global__ void of_constant(float* out) {
  float sum = 0;
  for (int i = threadIdx.x; i < kSmall; i += blockDim.x) sum += in_constant[i];
  out[threadIdx.x] = sum;
}
// One thread moves all: by itself, and by what is one call or one assignment in the text.
struct Many { float of[N / 4]; };
__global__ void by_element(const float4* from, float4* to) {
  for (int i = 0; i < N / 16; i++) to[i] = from[i];
}
__global__ void by_memcpy(const float* from, float* to) { memcpy(to, from, N); }
__global__ void by_memset(float* to) { memset(to, 0, N); }
__global__ void by_assignment(const Many* from, Many* to) { *to = *from; }
// Changes `apart` elements from each other: in the second kernel two addresses take turns.
__device__ unsigned tally[8192];
__global__ void hot(int apart) {
  for (int i = 0; i < 32; i++) {
    atomicAdd(&tally[0], 1);
    atomicAdd(&tally[apart], 1);
  }
}
static std::vector<float> numbers(1 << 16, 1.0f);
static float result = 0;
static void compute(void*) {
  for (int round = 0; round < 20; round++)
    for (const float number : numbers) result += number;
}
static void* in_thread(void* p) { compute(p); return nullptr; }
static cudaEvent_t begin, end;
static int rank;
template <class F> void measure(const char* name, F work) {
  cudaDeviceSynchronize();
  MPI_Barrier(MPI_COMM_WORLD);
  cudaEventRecord(begin);
  work();
  cudaEventRecord(end);
  cudaEventSynchronize(end);
  float ms = 0;
  cudaEventElapsedTime(&ms, begin, end);
  if (rank == 0) std::printf("%s %.6f\\n", name, ms);
}
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  cudaSetDevice(rank);
  float *values, *out;
  cudaMalloc(&values, 4 * N);
  cudaMalloc(&out, 4 * N);
  cudaMemset(values, 0, 4 * N);
  cudaMemset(out, 0, 4 * N);
  std::vector<float> read(N);
  double before = MPI_Wtime();
  cudaMemcpy(read.data(), values, 4 * N, cudaMemcpyDeviceToHost);
  compute(nullptr);
  cudaMemcpy(values, read.data(), 4 * N, cudaMemcpyHostToDevice);
  if (rank == 0) std::printf("early %.6f\\n", (MPI_Wtime() - before) * 1e3);
  ncclUniqueId id;
  if (rank == 0) ncclGetUniqueId(&id);
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t comm;
  ncclCommInitRank(&comm, 2, id, rank);
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  measure("memory", [=] { total<<<1, 256>>>(values, N, out); });
  measure("variable", [=] { of_variable<<<1, 256>>>(out); });
  measure("managed", [=] { of_managed<<<1, 256>>>(out); });
  measure("copied", [&] { cudaMemcpyAsync(read.data(), values, 4 * N, cudaMemcpyDeviceToHost); });
  measure("of_symbol", [&] { cudaMemcpyFromSymbolAsync(read.data(), in_variable, 4 * N); });
  measure("uploaded", [&] { cudaMemcpyAsync(values, read.data(), 4 * N, cudaMemcpyHostToDevice); });
  measure("to_symbol", [&] { cudaMemcpyToSymbolAsync(in_variable, read.data(), 4 * N); });
  measure("small", [=] { total<<<1, 256>>>(values + N / 2, kSmall, out); });
  measure("constant", [=] { of_constant<<<1, 256>>>(out); });
  measure("by_element", [=] { by_element<<<1, 1>>>((float4*)values, (float4*)out); });
  measure("by_memcpy", [=] { by_memcpy<<<1, 1>>>(values, out); });
  measure("by_memset", [=] { by_memset<<<1, 1>>>(out); });
  measure("by_assignment", [=] { by_assignment<<<1, 1>>>((Many*)values, (Many*)out); });
  measure("same", [=] { hot<<<4, 64>>>(0); });
  measure("near", [=] { hot<<<4, 64>>>(64); });
  measure("apart", [=] { hot<<<4, 64>>>(4096); });
  measure("host", [] { compute(nullptr); });
  measure("callback", [] { cudaLaunchHostFunc(nullptr, compute, nullptr); });
  measure("thread", [] {
    pthread_t thread;
    pthread_create(&thread, nullptr, in_thread, nullptr);
    pthread_join(thread, nullptr);
  });
  measure("whole", [=] { ncclAllReduce(values, out, N, ncclFloat, ncclSum, comm, nullptr); });
  measure("parts", [=] {
    ncclGroupStart();
    for (int part = 0; part < 16; part++)
      ncclAllReduce(values + N / 16 * part, out + N / 16 * part, N / 16, ncclFloat, ncclSum, comm,
                    nullptr);
    ncclGroupEnd();
  });
  ncclCommDestroy(comm);
  MPI_Finalize();
}
"""

Values = Mapping[str, float]


@pytest.fixture(scope="module")
def times(tmp_path_factory: pytest.TempPathFactory) -> Values:
    path = tmp_path_factory.mktemp("priced") / "work.cu"
    path.write_text(PROGRAM)
    program = build(BuildSpec(path, timed=True))
    done = run(program, RunOptions(ranks=2, race=False, machine=find_topology("h200-8")))
    assert done.state == "finished", done.findings
    return {name: float(ms) for name, ms in map(str.split, done.stdout.splitlines())}


@pytest.mark.parametrize("name", ["variable", "managed"])
def test_variables_of_a_device_cost_what_its_memory_does(times: Values, name: str):
    assert 0.8 < times[name] / times["memory"] < 1.25, times


@pytest.mark.parametrize(("symbol", "plain"), [("of_symbol", "copied"), ("to_symbol", "uploaded")])
def test_copies_of_symbols_cost_what_other_copies_do(times: Values, symbol: str, plain: str):
    assert 0.9 < times[symbol] / times[plain] < 1.1, times


@pytest.mark.parametrize("name", ["by_memcpy", "by_assignment"])
def test_a_thread_that_moves_much_makes_many_accesses(times: Values, name: str):
    # Ten loads are on their way at once, as in a loop that nvcc unrolls.
    assert times[name] > 0.07 * times["by_element"], times
    assert times["by_memset"] > 0.002, times  # 4096 stores, one each cycle


def test_constants_that_the_cache_holds_cost_less(times: Values):
    assert times["constant"] < times["small"], times


@pytest.mark.parametrize("name", ["callback", "thread", "early"])
def test_the_host_works_for_nothing_nowhere(times: Values, name: str):
    assert times["host"] > 0.2, times
    # Beside others, a loop over reads is taken to wait for them as well: up to three times.
    assert 0.9 < times[name] / times["host"] < 4, times


def test_collectives_of_a_group_share_the_links(times: Values):
    assert 0.95 < times["parts"] / times["whole"] < 1.2, times


def test_no_address_hides_how_often_another_one_is_changed(times: Values):
    assert times["same"] > 1.5 * times["near"], times
    assert times["apart"] > 0.9 * times["near"], times
