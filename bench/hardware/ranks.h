// One host thread and one GPU for each rank of a communicator.
#pragma once

#include <nccl.h>
#include <pthread.h>

#include <thread>

#include "measure.h"

#define NCCL(call)                                                                                \
  do {                                                                                            \
    ncclResult_t status_ = (call);                                                                \
    if (status_ != ncclSuccess) {                                                                 \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, ncclGetErrorString(status_)); \
      exit(1);                                                                                    \
    }                                                                                             \
  } while (0)

struct Rank {
  int rank, ranks;
  ncclComm_t comm;
  cudaStream_t stream;
  pthread_barrier_t* barrier;
  std::vector<double>* shared;  // one place for each rank

  void meet() const { pthread_barrier_wait(barrier); }

  // The slowest rank's time of each repeat, in microseconds; all start together.
  Spread slowest(int repeats, int calls, const std::function<void()>& work) const {
    cudaEvent_t begin, end;
    CUDA(cudaEventCreate(&begin));
    CUDA(cudaEventCreate(&end));
    std::vector<double> values;
    for (int i = 0; i < repeats + 2; ++i) {
      CUDA(cudaStreamSynchronize(stream));
      meet();
      CUDA(cudaEventRecord(begin, stream));
      for (int k = 0; k < calls; ++k) work();
      CUDA(cudaEventRecord(end, stream));
      CUDA(cudaEventSynchronize(end));
      float ms;
      CUDA(cudaEventElapsedTime(&ms, begin, end));
      (*shared)[rank] = ms * 1e3 / calls;
      meet();
      if (i >= 2) values.push_back(*std::max_element(shared->begin(), shared->end()));
      meet();
    }
    CUDA(cudaEventDestroy(begin));
    CUDA(cudaEventDestroy(end));
    return spread(values);
  }
};

inline int over_ranks(int ranks, const std::function<void(Rank&)>& body) {
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, ranks);
  std::vector<double> shared(ranks);
  ncclUniqueId id;
  NCCL(ncclGetUniqueId(&id));
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] {
      int devices;
      CUDA(cudaGetDeviceCount(&devices));
      CUDA(cudaSetDevice(r % devices));
      Rank rank{r, ranks, nullptr, nullptr, &barrier, &shared};
      CUDA(cudaStreamCreateWithFlags(&rank.stream, cudaStreamNonBlocking));
      NCCL(ncclCommInitRank(&rank.comm, ranks, id, r));
      body(rank);
      CUDA(cudaDeviceSynchronize());
      rank.meet();
      NCCL(ncclCommDestroy(rank.comm));
    });
  }
  for (auto& thread : threads) thread.join();
  return 0;
}
