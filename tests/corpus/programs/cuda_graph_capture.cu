// CORPUS run=1
// A captured fork and join: two branches between events, replayed for several steps.
//
// DEFECT NO_FORK_WAIT data_race: the second branch is captured without waiting for the first kernel
// DEFECT NO_JOIN data_race: the last kernel does not wait for the second branch
// DEFECT SHARED_OUTPUT data_race: both branches write the same buffer
// DEFECT HOST_WRITE data_race: the host changes pinned input between launches without waiting
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define gpuErrchk(ans) { gpuAssert((ans), __FILE__, __LINE__); }
inline void gpuAssert(cudaError_t code, const char *file, int line, bool abort = true) {
   if (code != cudaSuccess) {
      fprintf(stderr, "GPUassert: %s %s %d\n", cudaGetErrorString(code), file, line);
      if (abort) exit(code);
   }
}

#define N 192

__global__ void prepare(const int *step, int *x) {
   // EXPECT NO_FORK_WAIT HOST_WRITE
   x[threadIdx.x] = threadIdx.x * 3 + *step;
}
// EXPECT NO_FORK_WAIT SHARED_OUTPUT NO_JOIN
__global__ void twice(const int *x, int *y) { y[threadIdx.x] = 2 * x[threadIdx.x]; }
// EXPECT NO_FORK_WAIT SHARED_OUTPUT NO_JOIN
__global__ void plus7(const int *x, int *y) { y[threadIdx.x] = x[threadIdx.x] + 7; }
__global__ void combine(const int *a, const int *b, int *sum) {
   // EXPECT NO_JOIN
   sum[threadIdx.x] += a[threadIdx.x] * b[threadIdx.x];
}

int main() {
   int *step, *x, *a, *b, *sum, got[N], want[N] = {0};
   gpuErrchk(cudaHostAlloc((void **)&step, sizeof(int), cudaHostAllocMapped));
   gpuErrchk(cudaMalloc((void **)&x, N * sizeof(int)));
   gpuErrchk(cudaMalloc((void **)&a, N * sizeof(int)));
   gpuErrchk(cudaMalloc((void **)&b, N * sizeof(int)));
   gpuErrchk(cudaMalloc((void **)&sum, N * sizeof(int)));
   gpuErrchk(cudaMemset(sum, 0, N * sizeof(int)));
   gpuErrchk(cudaDeviceSynchronize());

   cudaStream_t s, t;
   cudaEvent_t fork, join;
   gpuErrchk(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
   gpuErrchk(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
   gpuErrchk(cudaEventCreate(&fork));
   gpuErrchk(cudaEventCreate(&join));

   cudaGraph_t graph;
   cudaGraphExec_t exec;
   gpuErrchk(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
#ifdef DEFECT_NO_FORK_WAIT
   gpuErrchk(cudaEventRecord(fork, s));
   prepare<<<1, N, 0, s>>>(step, x);
#else
   prepare<<<1, N, 0, s>>>(step, x);
   gpuErrchk(cudaEventRecord(fork, s));
#endif
   gpuErrchk(cudaStreamWaitEvent(t, fork, 0));
   twice<<<1, N, 0, s>>>(x, a);
#ifdef DEFECT_SHARED_OUTPUT
   plus7<<<1, N, 0, t>>>(x, a);
#else
   plus7<<<1, N, 0, t>>>(x, b);
#endif
   gpuErrchk(cudaEventRecord(join, t));
#ifdef DEFECT_NO_JOIN
   combine<<<1, N, 0, s>>>(a, b, sum);
   gpuErrchk(cudaStreamWaitEvent(s, join, 0));
#else
   gpuErrchk(cudaStreamWaitEvent(s, join, 0));
   combine<<<1, N, 0, s>>>(a, b, sum);
#endif
   gpuErrchk(cudaGetLastError());
   gpuErrchk(cudaStreamEndCapture(s, &graph));
   gpuErrchk(cudaGraphInstantiate(&exec, graph, NULL, NULL, 0));

   for (int k = 0; k < 4; k++) {
      // EXPECT HOST_WRITE
      *step = k;
      gpuErrchk(cudaGraphLaunch(exec, s));
#ifndef DEFECT_HOST_WRITE
      gpuErrchk(cudaStreamSynchronize(s));
#endif
      for (int i = 0; i < N; i++) want[i] += 2 * (3 * i + k) * (3 * i + k + 7);
   }
   gpuErrchk(cudaStreamSynchronize(s));
   gpuErrchk(cudaMemcpy(got, sum, sizeof got, cudaMemcpyDeviceToHost));
   int errors = 0;
   for (int i = 0; i < N; i++) errors += got[i] != want[i];
   gpuErrchk(cudaGraphExecDestroy(exec));
   gpuErrchk(cudaGraphDestroy(graph));
   gpuErrchk(cudaEventDestroy(fork));
   gpuErrchk(cudaEventDestroy(join));
   gpuErrchk(cudaStreamDestroy(s));
   gpuErrchk(cudaStreamDestroy(t));
   cudaFree(x); cudaFree(a); cudaFree(b); cudaFree(sum); cudaFreeHost(step);
   printf("%d errors\n", errors);
   return errors ? 1 : 0;
}
