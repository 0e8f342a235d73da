// What nccl_device/utility.h offers besides the device API, on the host and on the device.
#include <cuda_runtime.h>
#include <nccl_device.h>
#include <cstdio>

namespace nu = nccl::utility;

static_assert(nu::divUp(10, 4) == 3 && nu::roundUp(10, 4) == 12 && nu::roundDown(10, 4) == 8);
static_assert(nu::alignUp(13, 8) == 16 && nu::alignDown(13, 8) == 8 && nu::isPow2(64));
static_assert(nu::ValueAsType<int, 3>::value == 3);
static_assert(nu::idivRcp32(1) == 0 && nu::idivRcp32(3) == 0x55555555);

struct Pair {
  int a;
  long long b;
  NCCL_HOST_DEVICE_INLINE Pair(int a, long long b) : a(a), b(b) {}
};

NCCL_DEVICE_INLINE int laneSum(ncclCoopWarp coop, int value) {
  NVCC_PRAGMA_UNROLL_AUTO
  for (int i = coop.size() / 2; i > 0; i /= 2) value += __shfl_down_sync(~0u, value, i);
  return value;
}

__global__ void everything(const int* in, int* out, unsigned* flag, int n) {
  int at = nu::roundDown(threadIdx.x, 32u) + nu::lane();
  out[at] = 0;
  if NCCL_IF_CONSTEXPR (sizeof(int) == 4) {
    unsigned q, r;
    nu::idivmodFast32(&q, &r, 1000u + at, 7u, nu::idivRcp32(7));
    if (q * 7 + r != 1000u + at) out[at] |= 1;
  }
  if (nu::loadConst(in + at) != at || nu::loadConstLdg(in + at) != at) out[at] |= 2;
  if (__popc(nu::lanemask_lt()) != nu::lane()) out[at] |= 4;
  if (laneSum(ncclCoopWarp(), 1) != 32 && nu::lane() == 0) out[at] |= 8;
  nu::Optional<Pair> made{nu::present(at, 2ll * at)};
  nu::Optional<Pair> none{nu::Absent{}};
  if (!made.present || none.present || made.thing.b != 2 * made.thing.a) out[at] |= 16;
  unsigned steps = 0;
  if (nu::testAbort(flag, steps) || steps != 1) out[at] |= 32;
  if (at == 0) nu::atomicStore(flag, 1u, cuda::memory_order_release, cuda::thread_scope_device);
  while (nu::atomicLoad(flag, cuda::memory_order_acquire, cuda::thread_scope_device) == 0) {
  }
  if (at + nu::opaqueZero() >= n || nu::rollingLessThan<unsigned char>(3, 250)) return;
  out[at] |= nu::rollingLessEq(~0u - 2, 1u) ? 0 : 64;
}

int main() {
  constexpr int n = 64;
  int host[n], *in, *out;
  unsigned* flag;
  for (int i = 0; i < n; i++) host[i] = i;
  cudaMalloc(&in, sizeof host);
  cudaMalloc(&out, sizeof host);
  cudaMalloc(&flag, sizeof *flag);
  cudaMemset(flag, 0, sizeof *flag);
  cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
  everything<<<1, n>>>(in, out, flag, n);
  cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int value : host) wrong |= value;
  char bytes[64];
  if (nu::alignUp(bytes + 1, 16) - nu::alignDown(bytes + 1, 16) > 16) wrong |= 128;
  if (nu::mul64hi(~0ull, 2) != 1 || nu::idivFast64(100, 9, nu::idivRcp64(9)) != 11) wrong |= 256;
  if (nu::add4G(1ull, 3) != (3ull << 32) + 1) wrong |= 512;
  if (wrong) std::printf("wrong: %d\n", wrong);
  return wrong != 0;
}
