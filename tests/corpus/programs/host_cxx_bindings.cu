// CORPUS run=2,4
// Sums of squares by the C++ bindings of MPI: rank 0 hands out parts, and each rank's device adds
// its own. The last lines go through a file.
//
// DEFECT EARLY_USE mpi_buffer_in_use: the part goes to the device before it has come
// DEFECT NOT_SYNCHRONIZED readback_before_sync|data_race: MPI adds what is still being computed
// DEFECT OTHER_ROOT mpi_mismatch: the ranks do not agree on who gets the sum
#include <cuda_runtime.h>
#include <mpi.h>

#include <iostream>
#include <vector>

static const int kPart = 64;

__global__ void squares(const double* part, double* sum) {
  __shared__ double terms[kPart];
  terms[threadIdx.x] = part[threadIdx.x] * part[threadIdx.x];
  __syncthreads();
  for (int half = kPart / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) terms[threadIdx.x] += terms[threadIdx.x + half];
    __syncthreads();
  }
  // EXPECT NOT_SYNCHRONIZED
  if (threadIdx.x == 0) *sum = terms[0];
}

static void ok(cudaError_t code) {
  if (code == cudaSuccess) return;
  std::cerr << cudaGetErrorString(code) << std::endl;
  MPI::COMM_WORLD.Abort(2);
}

int main(int argc, char** argv) {
  MPI::Init(argc, argv);
  MPI::Intracomm& world = MPI::COMM_WORLD;
  const int rank = world.Get_rank(), ranks = world.Get_size();
  ok(cudaSetDevice(rank));
  std::vector<double> all, mine(kPart);
  std::vector<MPI::Request> sent(ranks);
  if (rank == 0) {
    for (int i = 0; i < ranks * kPart; i++) all.push_back(i % 10);
    for (int to = 0; to < ranks; to++) {
      sent[to] = world.Isend(&all[to * kPart], kPart, MPI::DOUBLE, to, 1);
    }
  }
  MPI::Request coming = world.Irecv(mine.data(), kPart, MPI::DOUBLE, 0, 1);
#if !defined(DEFECT_EARLY_USE)
  coming.Wait();
#endif
  double *part, *sum;
  ok(cudaMalloc(&part, kPart * sizeof(double)));
  ok(cudaMalloc(&sum, sizeof(double)));
  // EXPECT EARLY_USE
  ok(cudaMemcpy(part, mine.data(), kPart * sizeof(double), cudaMemcpyHostToDevice));
#if defined(DEFECT_EARLY_USE)
  coming.Wait();
#endif
  if (rank == 0) MPI::Request::Waitall(ranks, sent.data());
  squares<<<1, kPart>>>(part, sum);
  ok(cudaGetLastError());
#if !defined(DEFECT_NOT_SYNCHRONIZED)
  ok(cudaDeviceSynchronize());
#endif
  double total = 0;
#if defined(DEFECT_OTHER_ROOT)
  // EXPECT OTHER_ROOT
  world.Reduce(sum, &total, 1, MPI::DOUBLE, MPI::SUM, rank == 1 ? 1 : 0);
#else
  // EXPECT NOT_SYNCHRONIZED
  world.Reduce(sum, &total, 1, MPI::DOUBLE, MPI::SUM, 0);
#endif
  world.Bcast(&total, 1, MPI::DOUBLE, 0);
  double expected = 0;
  for (int i = 0; i < ranks * kPart; i++) expected += (i % 10) * (i % 10);
  ok(cudaFree(part));
  ok(cudaFree(sum));

  MPI::File file = MPI::File::Open(world, "sums.bin",
                                   MPI::MODE_CREATE | MPI::MODE_RDWR | MPI::MODE_DELETE_ON_CLOSE,
                                   MPI::INFO_NULL);
  file.Write_at_all(rank * sizeof total, &total, 1, MPI::DOUBLE);
  file.Sync();
  world.Barrier();
  double other = 0;
  file.Read_at((rank + 1) % ranks * sizeof total, &other, 1, MPI::DOUBLE);
  file.Close();
  const bool good = total == expected && other == expected;
  if (!good) std::cerr << "rank " << rank << ": " << total << ", " << other << std::endl;
  MPI::Finalize();
  return good ? 0 : 1;
}
