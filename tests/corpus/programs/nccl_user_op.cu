// CORPUS run=2,4
// Scaled sums by a user's reduction, on half floats, with buffers registered beforehand.
//
// DEFECT SCALAR_CHANGED data_race: the scalar in device memory changes while it may be in use
// DEFECT OP_DESTROYED use_after_destroy: the operation is gone before the collective is called
// DEFECT COUNT collective_mismatch: the last rank counts bytes
// DEFECT STALE_BUFFER use_after_free: the buffer was freed before the collective ran
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <iostream>
#include <sstream>
#include <stdexcept>
#include <vector>

template <class Status>
void expect(Status status, Status good, const char* what) {
  if (status == good) return;
  std::ostringstream text;
  text << what << " returned " << int(status);
  throw std::runtime_error(text.str());
}
#define CUDA(call) expect((call), cudaSuccess, #call)
#define NCCL(call) expect((call), ncclSuccess, #call)

__global__ void make(__half* x, int n, int rank) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = __float2half(float(rank + i % 4));
}

// EXPECT SCALAR_CHANGED
__global__ void set(__half* x, float v) { *x = __float2half(v); }

int body(int rank, int size) {
  const int n = 512;
  CUDA(cudaSetDevice(rank));
  ncclUniqueId id;
  if (rank == 0) NCCL(ncclGetUniqueId(&id));
  MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t comm;
  NCCL(ncclCommInitRank(&comm, size, id, rank));
  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));
  __half *x, *scale;
  void* handle;
  NCCL(ncclMemAlloc((void**)&x, n * sizeof(__half)));
  CUDA(cudaMalloc(&scale, sizeof(__half)));
  NCCL(ncclCommRegister(comm, x, n * sizeof(__half), &handle));
  make<<<n / 128, 128, 0, stream>>>(x, n, rank);
  set<<<1, 1, 0, stream>>>(scale, 0.5f);
  CUDA(cudaGetLastError());
  ncclRedOp_t op;
  NCCL(ncclRedOpCreatePreMulSum(&op, scale, ncclHalf, ncclScalarDevice, comm));
#if defined(DEFECT_OP_DESTROYED)
  NCCL(ncclRedOpDestroy(op, comm));
#endif
  size_t count = n;
#if defined(DEFECT_COUNT)
  if (rank == size - 1) count /= 2;
#endif
#if defined(DEFECT_STALE_BUFFER)
  NCCL(ncclCommDeregister(comm, handle));
  NCCL(ncclMemFree(x));
#endif
  // EXPECT OP_DESTROYED COUNT SCALAR_CHANGED STALE_BUFFER
  NCCL(ncclAllReduce(x, x, count, ncclHalf, op, comm, stream));
#if defined(DEFECT_SCALAR_CHANGED)
  cudaStream_t other;
  CUDA(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  // EXPECT SCALAR_CHANGED
  set<<<1, 1, 0, other>>>(scale, 2.0f);
  CUDA(cudaStreamSynchronize(other));
  CUDA(cudaStreamDestroy(other));
#endif
#if !defined(DEFECT_OP_DESTROYED)
  NCCL(ncclRedOpDestroy(op, comm));
#endif
  std::vector<__half> got(n);
  CUDA(cudaStreamSynchronize(stream));
  CUDA(cudaMemcpy(got.data(), x, n * sizeof(__half), cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int i = 0; i < n; ++i) {
    wrong += __half2float(got[i]) != 0.5f * (size * (size - 1) / 2 + size * (i % 4));
  }
#if !defined(DEFECT_STALE_BUFFER)
  NCCL(ncclCommDeregister(comm, handle));
  NCCL(ncclMemFree(x));
#endif
  CUDA(cudaFree(scale));
  CUDA(cudaStreamDestroy(stream));
  NCCL(ncclCommDestroy(comm));
  return wrong;
}

int main(int argc, char** argv) {
  int rank = 0, size = 0, wrong = 1, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  try {
    wrong = body(rank, size);
  } catch (const std::exception& error) {
    std::cerr << "rank " << rank << ": " << error.what() << "\n";
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Reduce(&wrong, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) std::cout << sum << " wrong values\n";
  MPI_Finalize();
  return wrong != 0;
}
