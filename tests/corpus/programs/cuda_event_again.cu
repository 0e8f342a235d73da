// CORPUS run=1
// One event, recorded again and again on two streams: each wait is for the record that was the last
// when the wait was queued, whatever the event is used for later.
//
// DEFECT WAIT_TOO_EARLY data_race: the wait is queued before the record that it is meant for
// DEFECT RECORDED_OVER data_race: the event is recorded on the other stream before it is waited for
// DEFECT HOST_OLDER readback_before_sync: the host waits for the last record, which is not the copy's
#include <cuda_runtime.h>

#include <stdio.h>
#include <stdlib.h>

static void ok(cudaError_t e, int line) {
  if (e != cudaSuccess) {
    fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(e));
    exit(2);
  }
}
#define OK(e) ok((e), __LINE__)

__global__ void produce(float* out, float from, int rounds) {
  float x = from + threadIdx.x;
  for (int i = 0; i < rounds; i++) x = x * 0.5f + from;
  // EXPECT WAIT_TOO_EARLY RECORDED_OVER
  out[threadIdx.x] = x;
}

__global__ void consume(const float* in, float* out) {
  // EXPECT WAIT_TOO_EARLY RECORDED_OVER
  out[threadIdx.x] = in[threadIdx.x] + 1.0f;
}

int main() {
  enum { kN = 64 };
  float *a, *b, *x, *y, host[2 * kN];
  OK(cudaMalloc(&a, sizeof(float) * kN));
  OK(cudaMalloc(&b, sizeof(float) * kN));
  OK(cudaMalloc(&x, sizeof(float) * kN));
  OK(cudaMalloc(&y, sizeof(float) * kN));
  cudaStream_t slow, quick, left, right;
  for (cudaStream_t* s : {&slow, &quick, &left, &right}) {
    OK(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking));
  }
  cudaEvent_t done;
  OK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));

#ifdef DEFECT_WAIT_TOO_EARLY
  OK(cudaEventRecord(done, slow));
  OK(cudaStreamWaitEvent(left, done, 0));
#endif
  produce<<<1, kN, 0, slow>>>(a, 1.0f, 200);
  OK(cudaGetLastError());
  OK(cudaEventRecord(done, slow));
#if !defined(DEFECT_WAIT_TOO_EARLY) && !defined(DEFECT_RECORDED_OVER)
  OK(cudaStreamWaitEvent(left, done, 0));
#endif
  produce<<<1, kN, 0, quick>>>(b, 2.0f, 0);
  OK(cudaGetLastError());
  OK(cudaEventRecord(done, quick));
#ifdef DEFECT_RECORDED_OVER
  OK(cudaStreamWaitEvent(left, done, 0));
#endif
  OK(cudaStreamWaitEvent(right, done, 0));
  consume<<<1, kN, 0, left>>>(a, x);
  consume<<<1, kN, 0, right>>>(b, y);
  OK(cudaGetLastError());
  // EXPECT HOST_OLDER
  OK(cudaMemcpyAsync(host, x, sizeof(float) * kN, cudaMemcpyDeviceToHost, left));
#ifndef DEFECT_HOST_OLDER
  OK(cudaEventRecord(done, left));
  OK(cudaEventSynchronize(done));
#endif
  OK(cudaMemcpyAsync(host + kN, y, sizeof(float) * kN, cudaMemcpyDeviceToHost, right));
  OK(cudaEventRecord(done, right));
  OK(cudaEventSynchronize(done));
  int good = 1;
  for (int i = 0; i < kN; i++) {
    // EXPECT HOST_OLDER
    good &= host[i] > 2.9f && host[kN + i] == 3.0f + i;
  }
  OK(cudaDeviceSynchronize());
  OK(cudaEventDestroy(done));
  for (cudaStream_t s : {slow, quick, left, right}) OK(cudaStreamDestroy(s));
  for (float* p : {a, b, x, y}) OK(cudaFree(p));
  printf("%s\n", good ? "PASS" : "FAIL");
  return !good;
}
