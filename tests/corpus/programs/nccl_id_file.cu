// CORPUS run=2,4
// No MPI: ranks learn who they are from the environment and pass the unique id through a file.
//
// DEFECT WRONG_COUNT collective_mismatch: the last rank sends fewer elements
// DEFECT EARLY_READ readback_before_sync: reads the pinned result before the stream is done
#include <cuda_runtime.h>
#include <nccl.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#define CHECK_CUDA(x)                                                                    \
  do {                                                                                   \
    cudaError_t r = (x);                                                                 \
    if (r != cudaSuccess) {                                                              \
      fprintf(stderr, "[%d] %s:%d %s\n", g_rank, __FILE__, __LINE__, cudaGetErrorString(r)); \
      _exit(1);                                                                          \
    }                                                                                    \
  } while (0)
#define CHECK_NCCL(x)                                                                    \
  do {                                                                                   \
    ncclResult_t r = (x);                                                                \
    if (r != ncclSuccess) {                                                              \
      fprintf(stderr, "[%d] %s:%d %s\n", g_rank, __FILE__, __LINE__, ncclGetErrorString(r)); \
      _exit(1);                                                                          \
    }                                                                                    \
  } while (0)

static int g_rank = 0, g_world = 1;

static ncclUniqueId share_id(const std::string& path) {
  ncclUniqueId id;
  if (g_rank == 0) {
    CHECK_NCCL(ncclGetUniqueId(&id));
    const std::string draft = path + ".tmp";
    std::ofstream out(draft, std::ios::binary);
    out.write(reinterpret_cast<const char*>(&id), sizeof(id));
    out.close();
    rename(draft.c_str(), path.c_str());
    return id;
  }
  std::ifstream in;
  do {
    usleep(1000);
    in.open(path, std::ios::binary);
  } while (!in.is_open());
  in.read(reinterpret_cast<char*>(&id), sizeof(id));
  return id;
}

__global__ void mark(int* p, int rank) { p[threadIdx.x] = rank * 64 + threadIdx.x; }

int main() {
  const char* rank = getenv("OMPI_COMM_WORLD_RANK");
  const char* world = getenv("OMPI_COMM_WORLD_SIZE");
  if (rank == nullptr || world == nullptr) {
    fprintf(stderr, "start me with mpirun\n");
    return 2;
  }
  g_rank = atoi(rank);
  g_world = atoi(world);
  CHECK_CUDA(cudaSetDevice(g_rank));
  ncclUniqueId id = share_id("/tmp/nccl-id");
  ncclComm_t comm;
  CHECK_NCCL(ncclCommInitRank(&comm, g_world, id, g_rank));

  int *send, *recv, *pinned;
  cudaStream_t stream;
  CHECK_CUDA(cudaStreamCreate(&stream));
  CHECK_CUDA(cudaMalloc(&send, 64 * sizeof(int)));
  CHECK_CUDA(cudaMalloc(&recv, g_world * 64 * sizeof(int)));
  CHECK_CUDA(cudaMallocHost(&pinned, g_world * 64 * sizeof(int)));
  mark<<<1, 64, 0, stream>>>(send, g_rank);
  CHECK_CUDA(cudaGetLastError());
  size_t count = 64;
#ifdef DEFECT_WRONG_COUNT
  if (g_rank == g_world - 1) count = 63;
#endif
  // EXPECT WRONG_COUNT
  CHECK_NCCL(ncclAllGather(send, recv, count, ncclInt, comm, stream));
  // EXPECT EARLY_READ
  CHECK_CUDA(cudaMemcpyAsync(pinned, recv, g_world * 64 * sizeof(int), cudaMemcpyDeviceToHost, stream));
#ifndef DEFECT_EARLY_READ
  CHECK_CUDA(cudaStreamSynchronize(stream));
#endif
  int bad = 0;
  for (int i = 0; i < g_world * 64; i++) {
    // EXPECT EARLY_READ
    bad += pinned[i] != i;
  }
  CHECK_CUDA(cudaDeviceSynchronize());
  CHECK_NCCL(ncclCommDestroy(comm));
  CHECK_CUDA(cudaStreamDestroy(stream));
  CHECK_CUDA(cudaFree(send));
  CHECK_CUDA(cudaFree(recv));
  CHECK_CUDA(cudaFreeHost(pinned));
  if (g_rank == 0) printf("%s\n", bad ? "gathered wrongly" : "gathered");
  return bad != 0;
}
