// CORPUS run=2,4
// A ring by started MPI messages, from host memory and from the device.
//
// DEFECT EARLY_CHANGE mpi_buffer_in_use: the next value is stored while the last one may be on its way
// DEFECT EARLY_KERNEL mpi_buffer_in_use: a kernel fills the buffer that is still being sent
// DEFECT EARLY_LOOK mpi_buffer_in_use: the host looks at what may not have arrived
// DEFECT EARLY_UPLOAD mpi_buffer_in_use: what may not have arrived goes to the device
// DEFECT EARLY_DOWNLOAD mpi_buffer_in_use: a copy from the device writes what is still being sent
// DEFECT TESTED mpi_buffer_in_use: asks three times whether the messages are there, and goes on
#include "harness.h"

// EXPECT EARLY_KERNEL TESTED
__global__ void fill(int* p, int first) { p[threadIdx.x] = first + static_cast<int>(threadIdx.x); }

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  const int next = (job.rank + 1) % job.ranks, last = (job.rank + job.ranks - 1) % job.ranks;
  bool good = true;
  int token = job.rank, seen = -1;
  for (int round = 0; round < 3; round++) {
    MPI_Request requests[2];
    CHECK(MPI_Irecv(&seen, 1, MPI_INT, last, round, MPI_COMM_WORLD, &requests[0]));
    CHECK(MPI_Isend(&token, 1, MPI_INT, next, round, MPI_COMM_WORLD, &requests[1]));
#if defined(DEFECT_EARLY_CHANGE)
    // EXPECT EARLY_CHANGE
    token = job.rank + round + 1;
#endif
#if defined(DEFECT_EARLY_LOOK)
    // EXPECT EARLY_LOOK
    if (seen != last + round) printf("not yet\n");
#endif
    CHECK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    token = job.rank + round + 1;
    good = good && seen == last + round;
  }
  int *out = nullptr, *in = nullptr;
  CHECK(cudaMalloc(&out, 64 * sizeof(int)));
  CHECK(cudaMalloc(&in, 64 * sizeof(int)));
  fill<<<1, 64, 0, job.stream>>>(out, value(job.rank, next, 0, 0));
  CHECK(cudaGetLastError());
  CHECK(cudaStreamSynchronize(job.stream));
  MPI_Request requests[2];
  CHECK(MPI_Irecv(in, 64, MPI_INT, last, 9, MPI_COMM_WORLD, &requests[0]));
  CHECK(MPI_Isend(out, 64, MPI_INT, next, 9, MPI_COMM_WORLD, &requests[1]));
#if defined(DEFECT_TESTED)
  int there = 0;
  for (int i = 0; i < 3; i++) CHECK(MPI_Testall(2, requests, &there, MPI_STATUSES_IGNORE));
#elif !defined(DEFECT_EARLY_KERNEL)
  CHECK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
#endif
  fill<<<1, 64, 0, job.stream>>>(out, 0);
  CHECK(cudaGetLastError());
#if defined(DEFECT_EARLY_KERNEL)
  CHECK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
#endif
  std::vector<int> host(64);
  CHECK(cudaMemcpyAsync(host.data(), in, 64 * sizeof(int), cudaMemcpyDeviceToHost, job.stream));
  CHECK(cudaStreamSynchronize(job.stream));
  for (int i = 0; i < 64; i++) good = good && host[i] == value(last, job.rank, 0, 0) + i;
  CHECK(cudaFree(out));
  CHECK(cudaFree(in));
  // The halves of what came go on, by way of the host.
  std::vector<int> half(32);
  CHECK(cudaMalloc(&in, 32 * sizeof(int)));
  CHECK(MPI_Irecv(half.data(), 32, MPI_INT, last, 10, MPI_COMM_WORLD, &requests[0]));
  CHECK(MPI_Isend(host.data(), 32, MPI_INT, next, 10, MPI_COMM_WORLD, &requests[1]));
#if !defined(DEFECT_EARLY_UPLOAD)
  CHECK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
#endif
  // EXPECT EARLY_UPLOAD
  CHECK(cudaMemcpy(in, half.data(), 32 * sizeof(int), cudaMemcpyHostToDevice));
#if defined(DEFECT_EARLY_UPLOAD)
  CHECK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
#endif
  CHECK(MPI_Irecv(half.data(), 32, MPI_INT, last, 11, MPI_COMM_WORLD, &requests[0]));
  CHECK(MPI_Isend(host.data() + 32, 32, MPI_INT, next, 11, MPI_COMM_WORLD, &requests[1]));
#if defined(DEFECT_EARLY_DOWNLOAD)
  int* target = host.data() + 32;
#else
  int* target = host.data();  // which is no longer sent
#endif
  // EXPECT EARLY_DOWNLOAD
  CHECK(cudaMemcpyAsync(target, in, 32 * sizeof(int), cudaMemcpyDeviceToHost, job.stream));
  CHECK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  CHECK(cudaStreamSynchronize(job.stream));
  const int second = (last + job.ranks - 1) % job.ranks;
  for (int i = 0; i < 32; i++) {
    good = good && target[i] == value(second, last, 0, 0) + i;
    good = good && half[i] == value(second, last, 0, 0) + 32 + i;
  }
  CHECK(cudaFree(in));
  return finish(job, good);
}
