// CORPUS run=1
// Two host threads, each on its own default stream: one fills a frame, the other weighs it. Frames
// go from thread to thread by an event; the weights come back through the legacy default stream,
// which waits for both. The second thread's stream is captured once and replayed.
//
// DEFECT NO_EVENT data_race: the reader's stream does not wait for the writer's
// DEFECT BLOCKING_STREAM data_race: a stream that blocks does not wait for a thread's default
// stream
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <cuda_runtime.h>

#define OK(call)                                                                 \
  do {                                                                           \
    cudaError_t e = (call);                                                      \
    if (e != cudaSuccess) {                                                      \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); \
      exit(1);                                                                   \
    }                                                                            \
  } while (0)

constexpr int kPixels = 96, kFrames = 3;

__global__ void draw(float* frame, int number) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  // EXPECT NO_EVENT
  if (i < kPixels) frame[i] = static_cast<float>(i % 7 + number);
}

__global__ void weigh(const float* frame, float* weights) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  // EXPECT NO_EVENT BLOCKING_STREAM
  if (i < kPixels) weights[i] += 0.5f * frame[i];
}

__global__ void scale(float* weights) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  // EXPECT BLOCKING_STREAM
  if (i < kPixels) weights[i] *= 2.0f;
}

int main() {
  float *frames, *weights;
  OK(cudaMalloc(&frames, kFrames * kPixels * sizeof(float)));
  OK(cudaMalloc(&weights, kPixels * sizeof(float)));
  OK(cudaMemset(weights, 0, kPixels * sizeof(float)));
  cudaEvent_t drawn;
  OK(cudaEventCreateWithFlags(&drawn, cudaEventDisableTiming));
  OK(cudaDeviceSynchronize());

  std::thread([&] {
    for (int n = 0; n < kFrames; ++n) {
      draw<<<3, 32, 0, cudaStreamPerThread>>>(frames + n * kPixels, n);
    }
    OK(cudaGetLastError());
    OK(cudaEventRecord(drawn, cudaStreamPerThread));
  }).join();
  std::thread([&] {
#ifndef DEFECT_NO_EVENT
    OK(cudaStreamWaitEvent(cudaStreamPerThread, drawn, 0));
#endif
    cudaGraph_t graph;
    cudaGraphExec_t replay;
    OK(cudaStreamBeginCapture(cudaStreamPerThread, cudaStreamCaptureModeThreadLocal));
    for (int n = 0; n < kFrames; ++n) {
      weigh<<<3, 32, 0, cudaStreamPerThread>>>(frames + n * kPixels, weights);
    }
    OK(cudaStreamEndCapture(cudaStreamPerThread, &graph));
    OK(cudaGraphInstantiate(&replay, graph, 0));
    OK(cudaGraphLaunch(replay, cudaStreamPerThread));
    OK(cudaGraphLaunch(replay, cudaStreamPerThread));
#ifndef DEFECT_BLOCKING_STREAM
    scale<<<3, 32, 0, cudaStreamLegacy>>>(weights);
#else
    cudaStream_t other;
    OK(cudaStreamCreate(&other));
    scale<<<3, 32, 0, other>>>(weights);
#endif
    OK(cudaGetLastError());
    OK(cudaDeviceSynchronize());
    OK(cudaGraphExecDestroy(replay));
    OK(cudaGraphDestroy(graph));
  }).join();

  float result[kPixels];
  OK(cudaMemcpy(result, weights, sizeof(result), cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int i = 0; i < kPixels; ++i) {
    float sum = 0.0f;
    for (int n = 0; n < kFrames; ++n) sum += static_cast<float>(i % 7 + n);
    wrong += result[i] != 2.0f * sum;
  }
  OK(cudaEventDestroy(drawn));
  OK(cudaFree(frames));
  OK(cudaFree(weights));
  printf("%d of %d weights are wrong\n", wrong, kPixels);
  return wrong != 0;
}
