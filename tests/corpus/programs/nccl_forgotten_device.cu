// CORPUS run=2,4
// MPI and NCCL with a device for each process, by the rank on its machine. A process that sets none
// is on device 0, as all others are then.
//
// DEFECT FORGOTTEN duplicate_device: cudaSetDevice is not called at all
// DEFECT TOO_LATE duplicate_device: the device is set after the communicator was made
// DEFECT WRONG_MODULO duplicate_device: the rank is divided by the number of ranks, not taken modulo
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <iostream>
#include <numeric>
#include <vector>

template <class T>
void expect(T got, T wanted, const char* what) {
  if (got == wanted) return;
  std::cerr << what << " failed\n";
  MPI_Abort(MPI_COMM_WORLD, 4);
}
#define CUDA_OK(call) expect((call), cudaSuccess, #call)
#define NCCL_OK(call) expect((call), ncclSuccess, #call)

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0, local = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm machine;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &machine);
  MPI_Comm_rank(machine, &local);
  MPI_Comm_free(&machine);
#if defined(DEFECT_WRONG_MODULO)
  CUDA_OK(cudaSetDevice(local / ranks));
#elif !defined(DEFECT_FORGOTTEN) && !defined(DEFECT_TOO_LATE)
  CUDA_OK(cudaSetDevice(local));
#endif

  ncclUniqueId id;
  if (rank == 0) NCCL_OK(ncclGetUniqueId(&id));
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t comm;
  // EXPECT FORGOTTEN TOO_LATE WRONG_MODULO
  NCCL_OK(ncclCommInitRank(&comm, ranks, id, rank));
#if defined(DEFECT_TOO_LATE)
  CUDA_OK(cudaSetDevice(local));
#endif

  std::vector<double> values(128);
  std::iota(values.begin(), values.end(), rank);
  const size_t bytes = values.size() * sizeof(double);
  double* device = nullptr;
  CUDA_OK(cudaMalloc(&device, bytes));
  CUDA_OK(cudaMemcpy(device, values.data(), bytes, cudaMemcpyHostToDevice));
  NCCL_OK(ncclAllReduce(device, device, values.size(), ncclFloat64, ncclMax, comm, nullptr));
  CUDA_OK(cudaMemcpy(values.data(), device, bytes, cudaMemcpyDeviceToHost));
  bool good = true;
  for (size_t i = 0; i < values.size(); ++i) good = good && values[i] == double(i + ranks - 1);
  NCCL_OK(ncclCommDestroy(comm));
  CUDA_OK(cudaFree(device));
  MPI_Finalize();
  std::cout << (good ? "correct" : "incorrect") << std::endl;
  return good ? 0 : 1;
}
