// CORPUS run=2,4 nccl=2.28.9
// The all-reduce of the first device-API examples: several CTAs, each reduces its share over all
// peers and stores it everywhere, requirements cleared by memset as NCCL 2.28 allowed.
//
// DEFECT CLEARED_ON_229 requirements_initializer nccl=2.29.7: a cleared struct has no version there
// DEFECT ONE_BARRIER barrier_shared: all CTAs meet at the same barrier
// DEFECT TOO_FEW barrier_index: fewer barriers than CTAs
// DEFECT NO_FIRST_SYNC data_race: reads the peers' input before they have filled it
// DEFECT NO_LAST_SYNC data_race: the next kernel reads what a peer may still be storing
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>
#include <nccl_device.h>

#define CTAS 4
#define THREADS 64

#define NCCLCHECK(x) { ncclResult_t r_ = (x); if (r_ != ncclSuccess) { fprintf(stderr, "%s:%d NCCL %d\n", __FILE__, __LINE__, r_); MPI_Abort(MPI_COMM_WORLD, 1); } }
#define CUDACHECK(x) { cudaError_t e_ = (x); if (e_ != cudaSuccess) { fprintf(stderr, "%s:%d CUDA %d\n", __FILE__, __LINE__, e_); MPI_Abort(MPI_COMM_WORLD, 1); } }

template <typename T>
__global__ void fillKernel(T* p, size_t count, int rank) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    // EXPECT NO_FIRST_SYNC
    p[i] = T(rank + 1) * T(i % 13);
  }
}

template <typename T>
__global__ void simpleAllReduceKernel(ncclWindow_t window, size_t offset, size_t count, ncclDevComm devComm) {
#ifdef DEFECT_ONE_BARRIER
  const int index = 0;
#else
  const int index = blockIdx.x;
#endif
  // EXPECT ONE_BARRIER TOO_FEW
  ncclLsaBarrierSession<ncclCoopCta> bar{ncclCoopCta(), devComm, ncclTeamLsa(devComm), devComm.lsaBarrier, index};
#ifndef DEFECT_NO_FIRST_SYNC
  // EXPECT ONE_BARRIER
  bar.sync(ncclCoopCta(), cuda::memory_order_relaxed);
#endif
  const int rank = devComm.lsaRank, nRanks = devComm.lsaSize;
  const size_t globalTid = threadIdx.x + blockDim.x * (rank + blockIdx.x * nRanks);
  const size_t globalNthreads = size_t(blockDim.x) * gridDim.x * nRanks;
  for (size_t o = globalTid; o < count; o += globalNthreads) {
    T v = 0;
    for (int peer = 0; peer < nRanks; peer++) {
      T* inputPtr = (T*)ncclGetLsaPointer(window, offset, peer);
      // EXPECT NO_FIRST_SYNC
      v += inputPtr[o];
    }
    for (int peer = 0; peer < nRanks; peer++) {
      T* outputPtr = (T*)ncclGetLsaPointer(window, offset, peer);
      // EXPECT NO_LAST_SYNC
      outputPtr[o] = v;
    }
  }
#ifndef DEFECT_NO_LAST_SYNC
  // EXPECT ONE_BARRIER
  bar.sync(ncclCoopCta(), cuda::memory_order_release);
#endif
}

__global__ void halve(const float* in, float* out, size_t count) {
  for (size_t i = threadIdx.x; i < count; i += blockDim.x) {
    // EXPECT NO_LAST_SYNC
    out[i] = in[i] / 2;
  }
}

int main(int argc, char* argv[]) {
  int my_rank = 0, total_ranks = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &total_ranks);
  ncclUniqueId nccl_unique_id;
  if (my_rank == 0) NCCLCHECK(ncclGetUniqueId(&nccl_unique_id));
  MPI_Bcast(&nccl_unique_id, sizeof(ncclUniqueId), MPI_BYTE, 0, MPI_COMM_WORLD);
  CUDACHECK(cudaSetDevice(my_rank));
  ncclComm_t comm;
  NCCLCHECK(ncclCommInitRank(&comm, total_ranks, nccl_unique_id, my_rank));
  const size_t count = 600, size_bytes = count * sizeof(float);
  void* d_buf;
  float* d_half;
  NCCLCHECK(ncclMemAlloc(&d_buf, size_bytes));
  CUDACHECK(cudaMalloc(&d_half, size_bytes));
  ncclWindow_t win;
  NCCLCHECK(ncclCommWindowRegister(comm, d_buf, size_bytes, &win, NCCL_WIN_COLL_SYMMETRIC));
  ncclDevComm devComm;
#ifdef DEFECT_TOO_FEW
  const int barriers = CTAS - 1;
#else
  const int barriers = CTAS;
#endif
  // the cleared struct is what this version documents
  ncclDevCommRequirements reqs;
  memset(&reqs, 0, sizeof(reqs));
  reqs.lsaBarrierCount = barriers;
#ifdef DEFECT_CLEARED_ON_229
  // EXPECT CLEARED_ON_229
  ncclResult_t created = ncclDevCommCreate(comm, &reqs, &devComm);
  NCCLCHECK(created);
#else
  NCCLCHECK(ncclDevCommCreate(comm, &reqs, &devComm));
#endif

  cudaStream_t stream;
  CUDACHECK(cudaStreamCreate(&stream));
  fillKernel<float><<<2, 128, 0, stream>>>((float*)d_buf, count, my_rank);
  simpleAllReduceKernel<float><<<CTAS, THREADS, 0, stream>>>(win, 0, count, devComm);
  halve<<<1, 128, 0, stream>>>((const float*)d_buf, d_half, count);
  CUDACHECK(cudaGetLastError());
  std::vector<float> host(count);
  CUDACHECK(cudaMemcpyAsync(host.data(), d_half, size_bytes, cudaMemcpyDeviceToHost, stream));
  CUDACHECK(cudaStreamSynchronize(stream));
  bool success = true;
  for (size_t i = 0; i < count; i++) {
    success = success && host[i] == float(total_ranks * (total_ranks + 1) / 2 * (i % 13)) / 2;
  }
  NCCLCHECK(ncclDevCommDestroy(comm, &devComm));
  NCCLCHECK(ncclCommWindowDeregister(comm, win));
  NCCLCHECK(ncclMemFree(d_buf));
  CUDACHECK(cudaFree(d_half));
  CUDACHECK(cudaStreamDestroy(stream));
  NCCLCHECK(ncclCommFinalize(comm));
  NCCLCHECK(ncclCommDestroy(comm));
  MPI_Finalize();
  printf("Rank %d: %s\n", my_rank, success ? "PASSED" : "FAILED");
  return success ? 0 : 1;
}
