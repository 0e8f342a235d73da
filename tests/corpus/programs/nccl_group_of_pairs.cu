// CORPUS run=2,4
// One process and one thread for all devices: halos go around the ring in one group, a block stays
// on its device by a send to itself, then all devices reduce.
//
// DEFECT EACH_FOR_ITSELF group_required: one thread calls for each device in turn, without a group
// DEFECT GROUP_FOR_EACH group_required: a group for each device is not one group for all
// DEFECT PAIRS_IN_TURN group_required: each device's sends and receives in a group of their own
// DEFECT SAME_BUFFER overlapping_buffers: the halo is received into the block that is being sent
// DEFECT RECEIVES_OVERLAP overlapping_buffers: the halo is received where the own block goes
// DEFECT CHAINED overlapping_buffers: the broadcast of a sum is in the group of the sum itself
// DEFECT LATE_HALO overlapping_buffers: the next halo is received in the group that sums the last one
// DEFECT LONE_SELF_SEND group_required: the receive of the own block is in the next group
#include <cuda_runtime.h>
#include <nccl.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CU(x) if ((x) != cudaSuccess) { std::printf("CUDA, line %d\n", __LINE__); std::exit(1); }
#define NC(x) if ((x) != ncclSuccess) { std::printf("NCCL, line %d\n", __LINE__); std::exit(1); }

constexpr size_t kBlock = 48;

int main() {
  int n = 0;
  CU(cudaGetDeviceCount(&n));
  std::vector<ncclComm_t> comms(n);
  NC(ncclCommInitAll(comms.data(), n, nullptr));
  std::vector<float*> data(n), got(n), sum(n);
  for (int i = 0; i < n; i++) {
    CU(cudaSetDevice(i));
    CU(cudaMalloc(&data[i], kBlock * sizeof(float)));
    CU(cudaMalloc(&got[i], 2 * kBlock * sizeof(float)));
    CU(cudaMalloc(&sum[i], 2 * kBlock * sizeof(float)));
    std::vector<float> host(kBlock);
    for (size_t k = 0; k < kBlock; k++) host[k] = 100.0f * i + k;
    CU(cudaMemcpy(data[i], host.data(), kBlock * sizeof(float), cudaMemcpyHostToDevice));
  }

#if !defined(DEFECT_PAIRS_IN_TURN)
  NC(ncclGroupStart());
#endif
  for (int i = 0; i < n; i++) {
#if defined(DEFECT_PAIRS_IN_TURN)
    NC(ncclGroupStart());
#endif
#if defined(DEFECT_SAME_BUFFER)
    float* halo = data[i];
#elif defined(DEFECT_RECEIVES_OVERLAP)
    float* halo = got[i] + kBlock / 2;
#else
    float* halo = got[i] + kBlock;
#endif
    // EXPECT PAIRS_IN_TURN SAME_BUFFER
    NC(ncclSend(data[i], kBlock, ncclFloat, (i + 1) % n, comms[i], 0));
    // EXPECT PAIRS_IN_TURN SAME_BUFFER RECEIVES_OVERLAP
    NC(ncclRecv(halo, kBlock, ncclFloat, (i + n - 1) % n, comms[i], 0));
    // EXPECT LONE_SELF_SEND SAME_BUFFER
    NC(ncclSend(data[i], kBlock, ncclFloat, i, comms[i], 0));
#if !defined(DEFECT_LONE_SELF_SEND)
    // EXPECT RECEIVES_OVERLAP
    NC(ncclRecv(got[i], kBlock, ncclFloat, i, comms[i], 0));
#endif
#if defined(DEFECT_PAIRS_IN_TURN)
    NC(ncclGroupEnd());
#endif
  }
#if !defined(DEFECT_PAIRS_IN_TURN)
  NC(ncclGroupEnd());
#endif
#if defined(DEFECT_LONE_SELF_SEND)
  NC(ncclGroupStart());
  for (int i = 0; i < n; i++) NC(ncclRecv(got[i], kBlock, ncclFloat, i, comms[i], 0));
  NC(ncclGroupEnd());
#endif

#if !defined(DEFECT_EACH_FOR_ITSELF) && !defined(DEFECT_GROUP_FOR_EACH)
  NC(ncclGroupStart());
#endif
  for (int i = 0; i < n; i++) {
#if defined(DEFECT_GROUP_FOR_EACH)
    NC(ncclGroupStart());
#endif
    // EXPECT EACH_FOR_ITSELF GROUP_FOR_EACH CHAINED LATE_HALO
    NC(ncclAllReduce(got[i], sum[i], 2 * kBlock, ncclFloat, ncclSum, comms[i], 0));
#if defined(DEFECT_CHAINED)
    // EXPECT CHAINED
    NC(ncclBroadcast(sum[i], got[i], kBlock, ncclFloat, 0, comms[i], 0));
#endif
#if defined(DEFECT_LATE_HALO)
    NC(ncclSend(data[i], kBlock, ncclFloat, (i + 1) % n, comms[i], 0));
    // EXPECT LATE_HALO
    NC(ncclRecv(got[i] + kBlock, kBlock, ncclFloat, (i + n - 1) % n, comms[i], 0));
#endif
#if defined(DEFECT_GROUP_FOR_EACH)
    NC(ncclGroupEnd());
#endif
  }
#if !defined(DEFECT_EACH_FOR_ITSELF) && !defined(DEFECT_GROUP_FOR_EACH)
  NC(ncclGroupEnd());
#endif

  bool good = true;
  for (int i = 0; i < n; i++) {
    std::vector<float> host(2 * kBlock);
    CU(cudaSetDevice(i));
    CU(cudaMemcpy(host.data(), sum[i], 2 * kBlock * sizeof(float), cudaMemcpyDeviceToHost));
    for (size_t k = 0; k < 2 * kBlock; k++) {
      good = good && host[k] == 50.0f * n * (n - 1) + float(n) * (k % kBlock);
    }
    CU(cudaFree(data[i]));
    CU(cudaFree(got[i]));
    CU(cudaFree(sum[i]));
  }
  for (ncclComm_t comm : comms) NC(ncclCommDestroy(comm));
  std::printf("%s\n", good ? "passed" : "failed");
  return good ? 0 : 1;
}
