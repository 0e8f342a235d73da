#include <cuda_runtime.h>
#include <cooperative_groups.h>
#include <cstdio>
namespace cg = cooperative_groups;
// Lanes from 20 on have ended. FORM 0 to 3 use the value of a lane that gave none; the others do not.
__global__ void k(int* q, int n) {
  int lane = threadIdx.x, v = lane * 2, r = -1;
  if (lane >= n) return;
  unsigned m = (1u << n) - 1;
#if FORM == 0
  r = __shfl_down_sync(0xffffffffu, v, 4);
#elif FORM == 1
  r = __shfl_xor_sync(m, v, 31);
#elif FORM == 2
  auto t = cg::tiled_partition<8>(cg::this_thread_block());
  r = t.shfl(v, 7);
#elif FORM == 3
  r = __shfl_sync(m, double(v), lane | 7, 8);
#elif FORM == 4
  r = __shfl_up_sync(m, v, 3);
#elif FORM == 5
  r = __reduce_max_sync(0xffffffffu, -v - 1);
#elif FORM == 6
  r = __popc(__match_any_sync(0xffffffffu, 0));
#elif FORM == 7
  int o = __shfl_down_sync(m, v, 4);
  r = lane + 4 < n ? v + o : v;
#elif FORM == 8
  auto g = cg::coalesced_threads(); r = g.shfl_down(v, 1);
#endif
  q[lane] = r;
}
int main() {
  int* q; int h[32] = {}; cudaMalloc(&q, 128); cudaMemset(q, 0, 128); k<<<1, 32>>>(q, 20); cudaMemcpy(h, q, 128, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 20; i++) printf("%d ", h[i]);
  printf("\n"); cudaFree(q);
}
