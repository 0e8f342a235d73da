// CORPUS run=1
// Blocks pass a value down a chain, each waiting for the block with the next higher number: the
// grid must not be larger than what can be resident at the same time.
//
// DEFECT ONE_MORE not_resident: one block more than there is room for
// DEFECT PLAIN_FLAG data_race: the value is passed through a flag that is no atomic
// DEFECT NO_LAST deadlock: the last block waits for one that does not exist
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

struct Link {
  unsigned long long value;
  int full;
};

__global__ void chain(Link* links) {
  extern __shared__ char reserve[];
  reserve[threadIdx.x] = 0;
  const unsigned self = blockIdx.x;
#ifdef DEFECT_NO_LAST
  const bool first = false;
#else
  const bool first = self + 1 == gridDim.x;
#endif
  unsigned long long value = 1;
  if (!first) {
    Link* before = &links[self + 1];
    // EXPECT NO_LAST
    while (atomicAdd(&before->full, 0) == 0) {
    }
    __threadfence();
    // EXPECT PLAIN_FLAG
    value = before->value + self;
  }
  // EXPECT PLAIN_FLAG
  links[self].value = value;
  __threadfence();
#ifdef DEFECT_PLAIN_FLAG
  // EXPECT PLAIN_FLAG
  links[self].full = 1;
#else
  atomicExch(&links[self].full, 1);
#endif
}

int main() {
  const size_t most = 200 * 1024;  // so that one block fills a multiprocessor
  int device = 0, sms = 0, perSm = 0;
  auto fail = [](cudaError_t e) {
    if (e != cudaSuccess) {
      std::fprintf(stderr, "%s\n", cudaGetErrorString(e));
      std::exit(2);
    }
  };
  fail(cudaGetDevice(&device));
  fail(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device));
  fail(cudaFuncSetAttribute(chain, cudaFuncAttributeMaxDynamicSharedMemorySize, most));
  fail(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&perSm, chain, 1, most));
  int blocks = sms * perSm;
#ifdef DEFECT_ONE_MORE
  blocks++;
#endif
  Link* links;
  fail(cudaMalloc(&links, (blocks + 1) * sizeof(Link)));
  fail(cudaMemset(links, 0, (blocks + 1) * sizeof(Link)));
  // EXPECT ONE_MORE
  chain<<<blocks, 1, most>>>(links);
  fail(cudaGetLastError());
  fail(cudaDeviceSynchronize());
  unsigned long long got = 0, want = 1;
  fail(cudaMemcpy(&got, &links[0].value, sizeof(got), cudaMemcpyDeviceToHost));
  for (int i = 0; i + 1 < blocks; i++) want += i;
  fail(cudaFree(links));
  std::printf("%llu, expected %llu\n", got, want);
  return got == want ? 0 : 1;
}
