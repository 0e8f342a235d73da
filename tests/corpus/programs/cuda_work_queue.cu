// CORPUS run=1
// A persistent kernel: blocks take tasks from a queue by an atomic and push
// further tasks, until as many were taken as there are. Sums the nodes of an implicit tree.
//
// DEFECT PLAIN_TAKE data_race: the head of the queue is advanced without an atomic
// DEFECT NO_PUBLISH_FENCE data_race: a task is marked ready before it has been written
// DEFECT NO_TAKE_FENCE data_race: a task is read before its mark was
// DEFECT NO_BROADCAST_SYNC shared_memory_race: threads read the block's task before it is there
// DEFECT LOST_TASK deadlock: one child is never pushed, and somebody waits for its slot
#include <cuda_runtime.h>
#include <stdio.h>

#define N_TASKS 63
#define CHECK_CUDA(call)                                                            \
  if ((call) != cudaSuccess) {                                                      \
    fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(cudaGetLastError())); \
    return 1;                                                                       \
  }

struct Task {
  int node, weight;
};

struct Queue {
  unsigned head, tail;
  volatile int ready[N_TASKS];
  Task tasks[N_TASKS];
};

__device__ void push(Queue* q, int node) {
  unsigned slot = atomicAdd(&q->tail, 1);
  // EXPECT NO_PUBLISH_FENCE NO_TAKE_FENCE
  q->tasks[slot] = Task{node, node * 3 + 1};
#ifndef DEFECT_NO_PUBLISH_FENCE
  __threadfence();
#endif
  q->ready[slot] = 1;
}

__global__ void work(Queue* q, unsigned long long* sum) {
  __shared__ int node, weight;
  for (;;) {
    if (threadIdx.x == 0) {
#ifdef DEFECT_PLAIN_TAKE
      // EXPECT PLAIN_TAKE
      unsigned slot = q->head++;
#else
      unsigned slot = atomicAdd(&q->head, 1);
#endif
      node = -1;
      if (slot < N_TASKS) {
        // EXPECT LOST_TASK
        while (!q->ready[slot]) {
        }
#ifndef DEFECT_NO_TAKE_FENCE
        __threadfence();
#endif
        // EXPECT NO_PUBLISH_FENCE NO_TAKE_FENCE
        Task task = q->tasks[slot];
        // EXPECT NO_BROADCAST_SYNC
        node = task.node;
        weight = task.weight;
      }
    }
#ifndef DEFECT_NO_BROADCAST_SYNC
    __syncthreads();
#endif
    // EXPECT NO_BROADCAST_SYNC
    if (node < 0) return;
    if (threadIdx.x < 2) {
      int child = 2 * node + 1 + threadIdx.x;
#ifdef DEFECT_LOST_TASK
      if (child < N_TASKS - 1) push(q, child);
#else
      if (child < N_TASKS) push(q, child);
#endif
    }
    atomicAdd(sum, (unsigned long long)weight);
    // EXPECT NO_BROADCAST_SYNC
    __syncthreads();
  }
}

int main(void) {
  static Queue host;
  host.tail = 1;
  host.ready[0] = 1;
  host.tasks[0].weight = 1;
  Queue* q;
  unsigned long long *sum, got = 0, want = 0;
  CHECK_CUDA(cudaMalloc((void**)&q, sizeof(Queue)));
  CHECK_CUDA(cudaMalloc((void**)&sum, sizeof(*sum)));
  CHECK_CUDA(cudaMemcpy(q, &host, sizeof host, cudaMemcpyHostToDevice));
  CHECK_CUDA(cudaMemset(sum, 0, sizeof(*sum)));
  work<<<3, 32>>>(q, sum);
  CHECK_CUDA(cudaGetLastError());
  CHECK_CUDA(cudaDeviceSynchronize());
  CHECK_CUDA(cudaMemcpy(&got, sum, sizeof got, cudaMemcpyDeviceToHost));
  for (int i = 0; i < N_TASKS; i++) want += 32ull * (3 * i + 1);
  CHECK_CUDA(cudaFree(q));
  CHECK_CUDA(cudaFree(sum));
  puts(got == want ? "Test passed" : "Test FAILED");
  return got != want;
}
