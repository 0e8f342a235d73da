// CORPUS run=1
// Chunks go through the device and end in jobs of the host, which a stream runs. Each job owns what
// it gets and frees it; memory that copies use lives until they are synchronized.
//
// DEFECT JOB_FREED use_after_free: the job is freed when it has been queued
// DEFECT VECTOR_GONE use_after_free: the target of a copy goes out of scope
// DEFECT DELETED use_after_free: the target of a copy is deleted before it is synchronized
// DEFECT PINNED_FREED data_race|readback_before_sync|use_after_free: pinned memory goes in a copy
// DEFECT CAPTURED use_after_free: a graph copies from memory that was freed before its launch
// DEFECT JOB_CALLS call_in_host_function: the job calls CUDA
// DEFECT JOB_LAUNCHES call_in_host_function|launch_error: the job launches a kernel
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#define OK(call) \
  if ((call) != cudaSuccess) std::exit(1)

constexpr int kCount = 256, kChunks = 4;

struct Job {
  const int* data;
  int* device;
  long sum;
  long* total;
};

__global__ void twice(int* data) { data[threadIdx.x] *= 2; }

void CUDART_CB add(void* argument) {
  Job* job = static_cast<Job*>(argument);
  for (int i = 0; i < kCount; ++i) job->sum += job->data[i];
  *job->total += job->sum;
#if defined(DEFECT_JOB_CALLS)
  // EXPECT JOB_CALLS
  if (cudaMemset(job->device, 0, sizeof(int)) != cudaSuccess) std::printf("not cleared\n");
#elif defined(DEFECT_JOB_LAUNCHES)
  // EXPECT JOB_LAUNCHES
  twice<<<1, kCount>>>(job->device);
  if (cudaGetLastError() != cudaSuccess) std::printf("not launched\n");
#endif
#if !defined(DEFECT_JOB_FREED)
  delete job;
#endif
}

static long last(cudaStream_t stream, const int* device) {
  // EXPECT DELETED
  std::unique_ptr<int[]> copy(new int[kCount]);
  {
    std::vector<int> back(kCount);
    // EXPECT VECTOR_GONE
    OK(cudaMemcpyAsync(back.data(), device, kCount * sizeof(int), cudaMemcpyDeviceToHost, stream));
#if !defined(DEFECT_VECTOR_GONE)
    OK(cudaStreamSynchronize(stream));
    copy[0] = back[kCount - 1];
#endif
    // EXPECT VECTOR_GONE
  }
  OK(cudaStreamSynchronize(stream));
  // EXPECT DELETED
  OK(cudaMemcpyAsync(copy.get(), device, kCount * sizeof(int), cudaMemcpyDeviceToHost, stream));
#if defined(DEFECT_DELETED)
  // EXPECT DELETED
  copy.reset();
  OK(cudaStreamSynchronize(stream));
  return 0;
#else
  OK(cudaStreamSynchronize(stream));
  // EXPECT DELETED
  return copy[kCount - 1];
#endif
}

static void fill_by_graph(cudaStream_t stream, int* device) {
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  int* ones = static_cast<int*>(std::malloc(kCount * sizeof(int)));
  for (int i = 0; i < kCount; ++i) ones[i] = 1;
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  // EXPECT CAPTURED
  OK(cudaMemcpyAsync(device, ones, kCount * sizeof(int), cudaMemcpyHostToDevice, stream));
  OK(cudaStreamEndCapture(stream, &graph));
  OK(cudaGraphInstantiate(&ready, graph, 0));
#if defined(DEFECT_CAPTURED)
  std::free(ones);
#endif
  OK(cudaGraphLaunch(ready, stream));
  OK(cudaStreamSynchronize(stream));
#if !defined(DEFECT_CAPTURED)
  std::free(ones);
#endif
  OK(cudaGraphExecDestroy(ready));
  OK(cudaGraphDestroy(graph));
}

int main() {
  cudaStream_t stream;
  int *device, *pinned;
  OK(cudaStreamCreate(&stream));
  OK(cudaMalloc(&device, kCount * sizeof(int)));
  // The last job's chunk is not freed before it has run.
  OK(cudaMallocHost(&pinned, kChunks * kCount * sizeof(int)));
  long total = 0;
  fill_by_graph(stream, device);
  for (int chunk = 0; chunk < kChunks; ++chunk) {
    int* to = pinned + chunk * kCount;
    twice<<<1, kCount, 0, stream>>>(device);
    OK(cudaGetLastError());
    OK(cudaMemcpyAsync(to, device, kCount * sizeof(int), cudaMemcpyDeviceToHost, stream));
    Job* job = new Job{to, device, 0, &total};
    OK(cudaLaunchHostFunc(stream, add, job));
#if defined(DEFECT_JOB_FREED)
    // EXPECT JOB_FREED
    delete job;
#endif
  }
  OK(cudaStreamSynchronize(stream));
  long value = last(stream, device);
  bool pass = total == kCount * 30L && value == 16;
#if defined(DEFECT_PINNED_FREED)
  // EXPECT PINNED_FREED
  OK(cudaMemcpyAsync(pinned, device, sizeof(int), cudaMemcpyDeviceToHost, stream));
#endif
  // EXPECT PINNED_FREED
  OK(cudaFreeHost(pinned));
  OK(cudaStreamSynchronize(stream));
  OK(cudaFree(device));
  OK(cudaStreamDestroy(stream));
  std::printf("%s\n", pass ? "PASS" : "FAIL");
  return pass ? 0 : 1;
}
