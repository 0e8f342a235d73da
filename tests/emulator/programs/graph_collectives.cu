// Collectives in a captured graph: each launch runs them again, between other collectives.
#include <nccl.h>

#include "expect.h"

#define NCCL(call) EXPECT((call) == ncclSuccess)

__global__ void scale(float* p, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) p[i] *= 2;
}

int main() {
  constexpr int n = 300, devices = 2;
  ncclComm_t comms[devices];
  cudaStream_t streams[devices];
  cudaGraphExec_t execs[devices];
  float *in[devices], *out[devices], host[n];
  NCCL(ncclCommInitAll(comms, devices, nullptr));
  for (int i = 0; i < n; i++) host[i] = 1;
  for (int d = 0; d < devices; d++) {
    CUDA(cudaSetDevice(d));
    CUDA(cudaStreamCreateWithFlags(&streams[d], cudaStreamNonBlocking));
    CUDA(cudaMalloc(&in[d], sizeof host));
    CUDA(cudaMalloc(&out[d], sizeof host));
    CUDA(cudaMemcpy(in[d], host, sizeof host, cudaMemcpyHostToDevice));
  }
  for (int d = 0; d < devices; d++) {
    CUDA(cudaStreamBeginCapture(streams[d], cudaStreamCaptureModeThreadLocal));
  }
  NCCL(ncclGroupStart());
  for (int d = 0; d < devices; d++) {
    NCCL(ncclAllReduce(in[d], out[d], n, ncclFloat, ncclSum, comms[d], streams[d]));
  }
  NCCL(ncclGroupEnd());
  for (int d = 0; d < devices; d++) {
    CUDA(cudaSetDevice(d));
    scale<<<1, 64, 0, streams[d]>>>(out[d], n);
    CUDA(cudaMemcpyAsync(in[d], out[d], sizeof host, cudaMemcpyDeviceToDevice, streams[d]));
    cudaGraph_t graph;
    CUDA(cudaStreamEndCapture(streams[d], &graph));
    CUDA(cudaGraphInstantiate(&execs[d], graph, 0));
    CUDA(cudaGraphDestroy(graph));
  }
  const auto broadcast = [&] {
    NCCL(ncclGroupStart());
    for (int d = 0; d < devices; d++) {
      NCCL(ncclBroadcast(in[d], in[d], n, ncclFloat, 1, comms[d], streams[d]));
    }
    NCCL(ncclGroupEnd());
  };
  broadcast();
  for (int round = 0; round < 2; round++) {
    for (int d = 0; d < devices; d++) CUDA(cudaGraphLaunch(execs[d], streams[d]));
    broadcast();
  }
#ifdef ONE_MISSING
  CUDA(cudaGraphLaunch(execs[0], streams[0]));
#endif
  for (int d = 0; d < devices; d++) {
    CUDA(cudaSetDevice(d));
    CUDA(cudaStreamSynchronize(streams[d]));
    CUDA(cudaMemcpy(host, out[d], sizeof host, cudaMemcpyDeviceToHost));
    EXPECT(host[0] == 16 && host[n - 1] == 16);
    CUDA(cudaGraphExecDestroy(execs[d]));
    CUDA(cudaFree(in[d]));
    CUDA(cudaFree(out[d]));
    CUDA(cudaStreamDestroy(streams[d]));
    NCCL(ncclCommDestroy(comms[d]));
  }
  return failures != 0;
}
