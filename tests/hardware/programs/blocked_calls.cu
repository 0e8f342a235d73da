// Calls that wait in the CUDA driver while a kernel waits for what a peer puts.
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>
#include <nccl_device.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <utility>
#include <vector>

#define CHECK(call)                                                     \
  do {                                                                  \
    const int status = static_cast<int>(call);                          \
    if (status != 0) {                                                  \
      fprintf(stderr, "%s:%d: error %d\n", __FILE__, __LINE__, status); \
      MPI_Abort(MPI_COMM_WORLD, 1);                                     \
    }                                                                   \
  } while (0)

constexpr int kInts = 256;
constexpr size_t kBytes = kInts * sizeof(int);
__device__ int table[kInts];

__global__ void fill(int* send, int value) { send[threadIdx.x] = value + threadIdx.x; }

__global__ void exchange(ncclDevComm dev, ncclWindow_t send, ncclWindow_t recv, int* out,
                         uint64_t round) {
  ncclGin gin(dev, 0);
  ncclTeam world = ncclTeamWorld(dev);
  if (threadIdx.x == 0) {
    gin.put(world, world.rank ^ 1, recv, 0, send, 0, kBytes, ncclGin_WeakSignalInc{0});
  }
  gin.waitSignal(ncclCoopCta(), 0, round);
  out[threadIdx.x] = static_cast<const int*>(ncclGetLocalPointer(recv, 0))[threadIdx.x];
  gin.flush(ncclCoopCta());
}

int main(int argc, char** argv) {
  int rank, ranks, devices;
  CHECK(MPI_Init(&argc, &argv));
  CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  CHECK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
  CHECK(cudaGetDeviceCount(&devices));
  CHECK(cudaSetDevice(rank % devices));
  ncclUniqueId id;
  if (rank == 0) CHECK(ncclGetUniqueId(&id));
  CHECK(MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD));
  ncclComm_t comm;
  CHECK(ncclCommInitRank(&comm, ranks, id, rank));
  cudaStream_t stream, other;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));

  int *send, *recv, *out, *spare;
  void* pinned;
  CHECK(ncclMemAlloc(reinterpret_cast<void**>(&send), kBytes));
  CHECK(ncclMemAlloc(reinterpret_cast<void**>(&recv), kBytes));
  ncclWindow_t send_window, recv_window;
  CHECK(ncclCommWindowRegister(comm, send, kBytes, &send_window, NCCL_WIN_COLL_SYMMETRIC));
  CHECK(ncclCommWindowRegister(comm, recv, kBytes, &recv_window, NCCL_WIN_COLL_SYMMETRIC));
  CHECK(cudaMalloc(&out, kBytes));
  CHECK(cudaMalloc(&spare, kBytes));
  CHECK(cudaMemset(spare, 0, kBytes));
  CHECK(cudaMallocHost(&pinned, kBytes));
  std::vector<int> host(kInts, 3), got(kInts);
  CHECK(cudaMemcpyToSymbol(table, host.data(), kBytes));

  ncclDevCommRequirements needs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
  needs.ginSignalCount = 1;
  needs.ginConnectionType = NCCL_GIN_CONNECTION_FULL;
  ncclDevComm dev;
  CHECK(ncclDevCommCreate(comm, &needs, &dev));

  const auto d2h = cudaMemcpyDeviceToHost;
  const std::vector<std::pair<const char*, std::function<cudaError_t(cudaStream_t)>>> calls = {
      {"cudaMemcpyAsync to pageable memory",
       [&](cudaStream_t on) { return cudaMemcpyAsync(got.data(), out, kBytes, d2h, on); }},
      {"cudaMemcpyAsync of the default kind",
       [&](cudaStream_t on) {
         return cudaMemcpyAsync(got.data(), out, kBytes, cudaMemcpyDefault, on);
       }},
      {"cudaMemcpy2DAsync",
       [&](cudaStream_t on) {
         return cudaMemcpy2DAsync(got.data(), 64, out, 64, 64, kBytes / 64, d2h, on);
       }},
      {"cudaMemcpyFromSymbolAsync",
       [&](cudaStream_t on) {
         return cudaMemcpyFromSymbolAsync(got.data(), table, kBytes, 0, d2h, on);
       }},
      {"cudaMemcpy", [&](cudaStream_t) { return cudaMemcpy(got.data(), spare, kBytes, d2h); }},
      {"cudaMemcpy to the device",
       [&](cudaStream_t) {
         return cudaMemcpy(spare, host.data(), kBytes, cudaMemcpyHostToDevice);
       }},
      {"cudaMemcpy to pinned memory",
       [&](cudaStream_t) { return cudaMemcpy(pinned, spare, kBytes, d2h); }},
      {"cudaMemcpy2D",
       [&](cudaStream_t) { return cudaMemcpy2D(got.data(), 64, spare, 64, 64, kBytes / 64, d2h); }},
      {"cudaMemcpyToSymbol",
       [&](cudaStream_t) { return cudaMemcpyToSymbol(table, host.data(), kBytes); }},
      {"cudaMemcpyFromSymbol",
       [&](cudaStream_t) { return cudaMemcpyFromSymbol(got.data(), table, kBytes); }},
      {"cudaFree",
       [&](cudaStream_t) {
         const cudaError_t status = cudaFree(spare);
         if (status != cudaSuccess) return status;
         CHECK(cudaMalloc(&spare, kBytes));
         return cudaMemset(spare, 0, kBytes);
       }},
      {"cudaFreeHost",
       [&](cudaStream_t) {
         const cudaError_t status = cudaFreeHost(pinned);
         return status != cudaSuccess ? status : cudaMallocHost(&pinned, kBytes);
       }},
  };
  bool good = true;
  uint64_t round = 0;
  for (const cudaStream_t on : {stream, other}) {
    for (const auto& [name, call] : calls) {
      fill<<<1, kInts, 0, on>>>(send, static_cast<int>(++round) * 1000 + rank);
      CHECK(cudaStreamSynchronize(on));
      CHECK(MPI_Barrier(MPI_COMM_WORLD));
      if (rank == 1) usleep(100000);  // the other's kernel waits meanwhile
      fprintf(stderr, "round %d: %s\n", static_cast<int>(round), name);
      exchange<<<1, kInts, 0, on>>>(dev, send_window, recv_window, out, round);
      CHECK(cudaGetLastError());
      CHECK(call(on));
      CHECK(cudaStreamSynchronize(on));
      CHECK(cudaMemcpy(got.data(), out, kBytes, d2h));
      for (int i = 0; i < kInts; i++) {
        good = good && got[i] == static_cast<int>(round) * 1000 + (rank ^ 1) + i;
      }
    }
  }
  printf("rank %d: %s\n", rank, good ? "PASS" : "FAIL");
  CHECK(ncclDevCommDestroy(comm, &dev));
  CHECK(ncclCommWindowDeregister(comm, send_window));
  CHECK(ncclCommWindowDeregister(comm, recv_window));
  CHECK(ncclMemFree(send));
  CHECK(ncclMemFree(recv));
  CHECK(cudaFree(out));
  CHECK(cudaFree(spare));
  CHECK(cudaFreeHost(pinned));
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaStreamDestroy(other));
  CHECK(ncclCommDestroy(comm));
  CHECK(MPI_Finalize());
  return good ? 0 : 1;
}
