// CORPUS run=2,4
// Each rank gives its inbox and an event to all others (cudaIpc*). In each round it stores into the
// inbox of the next rank, from a kernel or by a copy, and the next rank waits for its event.
//
// DEFECT NO_EVENT missing_wait|data_race: nobody waits until the neighbor has stored
// DEFECT NO_ROUND_BARRIER data_race|destination_overwrite: the next round's values may come while these are read
// DEFECT EVENT_AFTER data_race|missing_wait: the event is recorded before the store that it should cover
// DEFECT NO_WAIT_FOR_READER data_race|use_after_free: the inbox is freed while the neighbor may still store
// DEFECT NO_CLOSE use_after_free: the inbox is freed while the neighbor has it open
// DEFECT USE_CLOSED use_after_free: the neighbor's inbox is closed before the kernel that reads it has run
// DEFECT COPY_CLOSED use_after_free: the same with a copy
// DEFECT FREES_THEIRS invalid_free: the neighbor's inbox is freed instead of being closed
// DEFECT RAW_POINTER peer_not_in_lsa_team: the pointer itself is sent, not its handle
// DEFECT PAST_THE_END out_of_bounds: the neighbor's inbox is not as long as that
#include "harness.h"

constexpr int kInts = 64, kRounds = 3;

__global__ void store(int* inbox, int rank, int round) {
#if defined(DEFECT_PAST_THE_END)
  // EXPECT PAST_THE_END
  inbox[threadIdx.x + 1] = value(rank, round, threadIdx.x, 0);
#else
  // EXPECT NO_EVENT NO_ROUND_BARRIER EVENT_AFTER NO_WAIT_FOR_READER RAW_POINTER
  inbox[threadIdx.x] = value(rank, round, threadIdx.x, 0);
#endif
}
// EXPECT NO_EVENT NO_ROUND_BARRIER EVENT_AFTER
__global__ void take(const int* inbox, int* out) { out[threadIdx.x] = inbox[threadIdx.x]; }
// EXPECT USE_CLOSED
__global__ void peek(const int* theirs, int* out) { *out = theirs[0]; }

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  const int next = (job.rank + 1) % job.ranks, before = (job.rank + job.ranks - 1) % job.ranks;
  int *inbox, *mine, *out, *theirs;
  CHECK(cudaMalloc(&inbox, kInts * sizeof(int)));
  CHECK(cudaMalloc(&mine, kInts * sizeof(int)));
  CHECK(cudaMalloc(&out, kInts * sizeof(int)));
  cudaEvent_t stored, arrived;
  CHECK(cudaEventCreateWithFlags(&stored, cudaEventDisableTiming | cudaEventInterprocess));

  struct Shared {
    cudaIpcMemHandle_t inbox;
    cudaIpcEventHandle_t stored;
    int* raw;
  } own;
  std::vector<Shared> all(job.ranks);
  CHECK(cudaIpcGetMemHandle(&own.inbox, inbox + 1));  // of the whole allocation
  CHECK(cudaIpcGetEventHandle(&own.stored, stored));
  own.raw = inbox;
  CHECK(MPI_Allgather(&own, sizeof own, MPI_BYTE, all.data(), sizeof own, MPI_BYTE,
                      MPI_COMM_WORLD));
#if defined(DEFECT_RAW_POINTER)
  theirs = all[next].raw;
#else
  CHECK(cudaIpcOpenMemHandle(reinterpret_cast<void**>(&theirs), all[next].inbox,
                             cudaIpcMemLazyEnablePeerAccess));
#endif
  CHECK(cudaIpcOpenEventHandle(&arrived, all[before].stored));

  bool good = true;
  std::vector<int> got(kInts);
  for (int round = 0; round < kRounds; round++) {
#if defined(DEFECT_EVENT_AFTER)
    CHECK(cudaEventRecord(stored, job.stream));
#endif
    if (round != 1) {
      store<<<1, kInts, 0, job.stream>>>(theirs, job.rank, round);
      CHECK(cudaGetLastError());
    } else {
      for (int i = 0; i < kInts; i++) got[i] = value(job.rank, round, i, 0);
      CHECK(cudaMemcpyAsync(mine, got.data(), kInts * sizeof(int), cudaMemcpyHostToDevice,
                            job.stream));
      // EXPECT NO_EVENT NO_ROUND_BARRIER EVENT_AFTER
      CHECK(cudaMemcpyAsync(theirs, mine, kInts * sizeof(int), cudaMemcpyDeviceToDevice,
                            job.stream));
    }
#if !defined(DEFECT_EVENT_AFTER)
    CHECK(cudaEventRecord(stored, job.stream));
#endif
    CHECK(MPI_Barrier(MPI_COMM_WORLD));  // all events are recorded
#if !defined(DEFECT_NO_EVENT)
    CHECK(cudaStreamWaitEvent(job.stream, arrived, 0));
#endif
    take<<<1, kInts, 0, job.stream>>>(inbox, out);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(got.data(), out, kInts * sizeof(int), cudaMemcpyDeviceToHost,
                          job.stream));
    CHECK(cudaStreamSynchronize(job.stream));
    for (int i = 0; i < kInts; i++) good = good && got[i] == value(before, round, i, 0);
#if !defined(DEFECT_NO_ROUND_BARRIER)
    CHECK(MPI_Barrier(MPI_COMM_WORLD));
#endif
  }

#if defined(DEFECT_USE_CLOSED)
  peek<<<1, 1, 0, job.stream>>>(theirs, out);
#elif defined(DEFECT_COPY_CLOSED)
  // EXPECT COPY_CLOSED
  CHECK(cudaMemcpyAsync(out, theirs, sizeof(int), cudaMemcpyDeviceToDevice, job.stream));
#elif defined(DEFECT_NO_WAIT_FOR_READER)
  store<<<1, kInts, 0, job.stream>>>(theirs, job.rank, kRounds);
#endif
#if defined(DEFECT_FREES_THEIRS)
  // EXPECT FREES_THEIRS
  cudaFree(theirs);
#endif
#if !defined(DEFECT_NO_CLOSE) && !defined(DEFECT_NO_WAIT_FOR_READER) && !defined(DEFECT_RAW_POINTER)
  CHECK(cudaIpcCloseMemHandle(theirs));
#endif
  CHECK(cudaEventDestroy(arrived));
  CHECK(MPI_Barrier(MPI_COMM_WORLD));
  // EXPECT NO_CLOSE NO_WAIT_FOR_READER
  CHECK(cudaFree(inbox));
  CHECK(cudaStreamSynchronize(job.stream));
  CHECK(cudaEventDestroy(stored));
  CHECK(cudaFree(mine));
  CHECK(cudaFree(out));
  return finish(job, good);
}
