"""Work that cost nothing in modelled time once: where data lies, and who works, make no gift."""

from collections.abc import Mapping

import pytest

from warploom.core.records import BuildSpec
from warploom.emulator import RunOptions, build, find_topology, run

PROGRAM = """
#include <cuda_runtime.h>
#include <mma.h>
#include <mpi.h>
#include <nccl.h>
#include <pthread.h>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
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
// A warp's tensor cores, and as many multiplications and additions by its lanes.
using namespace nvcuda;
__global__ void by_tensor_cores(float* out) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(a, __float2half(1.0f));
  wmma::fill_fragment(b, __float2half(1.0f));
  wmma::fill_fragment(sum, 0.0f);
  for (int i = 0; i < 64; i++) wmma::mma_sync(sum, a, b, sum);
  wmma::store_matrix_sync(out, sum, 16, wmma::mem_row_major);
}
__global__ void by_lanes(float* out) {
  float sums[4] = {};
  for (int i = 0; i < 64; i++)
    for (int k = 0; k < 128; k++) sums[k % 4] = sums[k % 4] * 0.5f + i;
  out[threadIdx.x] = sums[0] + sums[1] + sums[2] + sums[3];
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
  std::vector<float> here(1 << 16, 1.0f), there(1 << 16, 1.0f);
  measure("nothing", [] {});
  measure("multiplied", [&] {
    for (std::size_t i = 0; i < here.size(); i++) there[i] *= here[i];
  });
  measure("reduced", [&] {
    MPI_Reduce_local(here.data(), there.data(), 1 << 16, MPI_FLOAT, MPI_PROD);
  });
  measure("moved", [&] { std::memcpy(there.data(), here.data(), 4 << 16); });
  measure("packed", [&] {
    int at = 0;
    MPI_Pack(here.data(), 1 << 16, MPI_FLOAT, there.data(), 4 << 16, &at, MPI_COMM_SELF);
  });
  measure("unpacked", [&] {
    int at = 0;
    MPI_Unpack(here.data(), 4 << 16, &at, there.data(), 1 << 16, MPI_FLOAT, MPI_COMM_SELF);
  });
  MPI_Datatype apart;
  MPI_Type_vector(1 << 14, 1, 4, MPI_FLOAT, &apart);
  MPI_Type_commit(&apart);
  measure("packed_apart", [&] {
    int at = 0;
    MPI_Pack(here.data(), 1, apart, there.data(), 1 << 16, &at, MPI_COMM_SELF);
  });
  MPI_Type_free(&apart);
  measure("divided", [&] {
    long sum = 0;
    for (int i = 1; i < 1 << 12; i++) sum += 1000003 / (long)(here[i] + i);
    here[0] += sum % 2;
  });
  measure("by_ldiv", [&] {
    long sum = 0;
    for (int i = 1; i < 1 << 12; i++) sum += std::ldiv(1000003, (long)(here[i] + i)).quot;
    here[0] += sum % 2;
  });
  measure("exp", [&] {
    double sum = 0;
    for (int i = 1; i < 1 << 12; i++) sum = std::exp(sum / i);
    here[0] += sum > 1e9;
  });
  measure("complex_exp", [&] {
    std::complex<double> sum;
    for (int i = 1; i < 1 << 12; i++) sum = std::exp(sum / double(i));
    here[0] += sum.real() > 1e9;
  });
  measure("tensor_cores", [=] { by_tensor_cores<<<1, 32>>>(out); });
  measure("lanes", [=] { by_lanes<<<1, 32>>>(out); });
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


def beside_nothing(times: Values, name: str) -> float:
    return times[name] - times["nothing"]


@pytest.mark.parametrize("name", ["packed", "unpacked"])
def test_what_mpi_packs_costs_what_moving_it_does(times: Values, name: str):
    moved = beside_nothing(times, "moved")
    assert 0.8 < beside_nothing(times, name) / moved < 1.3, times
    # Of elements that are apart, each.
    assert beside_nothing(times, "packed_apart") > moved / 2, times


def test_what_mpi_computes_by_itself_is_no_gift(times: Values):
    """Libraries use vectors: it costs less than a plain loop, and not nothing."""
    assert beside_nothing(times, "reduced") > beside_nothing(times, "multiplied") / 4, times


@pytest.mark.parametrize(("call", "plain"), [("by_ldiv", "divided"), ("complex_exp", "exp")])
def test_functions_of_the_c_library_cost_what_they_compute(times: Values, call: str, plain: str):
    assert beside_nothing(times, call) > 0.8 * beside_nothing(times, plain), times


def test_tensor_cores_do_not_wait_for_local_memory(times: Values):
    """Each lane's share of their products is half of what a lane does by itself here."""
    assert times["nothing"] < times["tensor_cores"] < 2 * times["lanes"], times
