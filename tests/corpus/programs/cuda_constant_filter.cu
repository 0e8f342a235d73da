// CORPUS run=1
// A filter with coefficients in constant memory and a counter in a device variable; new
// coefficients are copied between launches, in order with the stream.
//
// DEFECT OTHER_STREAM data_race: coefficients change on another stream than the kernel's
// DEFECT HOST_TOUCH host_dereference: the host sets a device variable by its name
// DEFECT PLAIN_COUNT data_race: the counter is incremented without an atomic
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

#define TAPS 5

__constant__ int coefficient[TAPS];
__device__ int clipped;

__global__ void filter(const int *in, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int sum = 0;
  for (int t = 0; t < TAPS; t++) {
    int j = i + t - TAPS / 2;
    // EXPECT OTHER_STREAM
    if (j >= 0 && j < n) sum += coefficient[t] * in[j];
  }
  if (sum > 100) {
    sum = 100;
#ifdef DEFECT_PLAIN_COUNT
    // EXPECT PLAIN_COUNT
    clipped++;
#else
    atomicAdd(&clipped, 1);
#endif
  }
  out[i] = sum;
}

static int fail(const char *what, cudaError_t e) {
  fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
  return 1;
}
#define OK(x) do { cudaError_t e = (x); if (e) return fail(#x, e); } while (0)

int main() {
  const int n = 300;
  int sets[2][TAPS] = {{1, 2, 3, 2, 1}, {-1, 0, 4, 0, -1}};
  std::vector<int> in(n), out(n);
  for (int i = 0; i < n; i++) in[i] = i * i % 23;
  int *d_in, *d_out, bad = 0, clips = 0, got = 0;
  cudaStream_t stream, other;
  OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  OK(cudaMalloc(&d_in, n * sizeof(int)));
  OK(cudaMalloc(&d_out, n * sizeof(int)));
  OK(cudaMemcpyAsync(d_in, in.data(), n * sizeof(int), cudaMemcpyHostToDevice, stream));
#ifdef DEFECT_HOST_TOUCH
  // EXPECT HOST_TOUCH
  clipped = 0;
#else
  OK(cudaMemcpyToSymbolAsync(clipped, &clips, sizeof(int), 0, cudaMemcpyHostToDevice, stream));
#endif
  for (int s = 0; s < 2; s++) {
#if defined(DEFECT_OTHER_STREAM)
    // EXPECT OTHER_STREAM
    OK(cudaMemcpyToSymbolAsync(coefficient, sets[s], TAPS * sizeof(int), 0, cudaMemcpyHostToDevice, other));
#else
    OK(cudaMemcpyToSymbolAsync(coefficient, sets[s], TAPS * sizeof(int), 0, cudaMemcpyHostToDevice, stream));
#endif
    filter<<<(n + 127) / 128, 128, 0, stream>>>(d_in, d_out, n);
    OK(cudaGetLastError());
    OK(cudaMemcpyAsync(out.data(), d_out, n * sizeof(int), cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamSynchronize(stream));
    for (int i = 0; i < n; i++) {
      int want = 0;
      for (int t = 0; t < TAPS; t++) {
        int j = i + t - TAPS / 2;
        if (j >= 0 && j < n) want += sets[s][t] * in[j];
      }
      clips += want > 100;
      bad += out[i] != (want > 100 ? 100 : want);
    }
  }
  OK(cudaMemcpyFromSymbol(&got, clipped, sizeof(int)));
  OK(cudaFree(d_in));
  OK(cudaFree(d_out));
  OK(cudaStreamDestroy(stream));
  OK(cudaStreamDestroy(other));
  printf("%d wrong, %d clipped\n", bad, got);
  return bad || got != clips;
}
