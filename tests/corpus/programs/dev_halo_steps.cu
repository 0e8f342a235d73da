// CORPUS run=3,4,4/2
// Many steps of a 1-D stencil in one kernel: each rank puts its rim cells to both neighbors, with
// one signal for each side and two halo slots in turn. Who has seen the neighbor's next signal
// knows that its own last put was consumed, so that neither a flush nor a credit is needed.
//
// DEFECT ONE_SLOT destination_overwrite: with one slot the neighbor may still read the last halo
// DEFECT ONE_SIGNAL missing_wait: both neighbors count on one signal, and one may be a step ahead
// DEFECT WEAK_SIGNAL missing_wait: two steps may be under way, and the later one may signal first
// DEFECT OLD_STEP missing_wait: waits for the number of arrivals of the step before
// DEFECT ONE_SIDE missing_wait: waits for the left neighbor only
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>
#include <nccl_device.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define MPICHECK(cmd) do { int e = cmd; if (e != MPI_SUCCESS) { printf("MPI error %d at %d\n", e, __LINE__); exit(1); } } while (0)
#define CUDACHECK(cmd) do { cudaError_t e = cmd; if (e != cudaSuccess) { printf("CUDA error %s at %d\n", cudaGetErrorString(e), __LINE__); exit(1); } } while (0)
#define NCCLCHECK(cmd) do { ncclResult_t r = cmd; if (r != ncclSuccess) { printf("NCCL error %s at %d\n", ncclGetErrorString(r), __LINE__); exit(1); } } while (0)

constexpr int CELLS = 32, STEPS = 5;
#ifdef DEFECT_WEAK_SIGNAL
using Arrived = ncclGin_WeakSignalInc;
#else
using Arrived = ncclGin_StrongSignalInc;
#endif
enum : ncclGinSignal_t { FROM_LEFT = 0, FROM_RIGHT = 1 };

// window: [slot][side] halo cells, then [slot][side] rim cells to send
__host__ __device__ constexpr size_t haloAt(int slot, int side) { return (slot * 2 + side) * sizeof(int); }
__host__ __device__ constexpr size_t rimAt(int slot, int side) { return (4 + slot * 2 + side) * sizeof(int); }

__global__ void steps(ncclDevComm dev, ncclWindow_t win, int* cells) {
  __shared__ int now[CELLS + 2];
  ncclGin gin{dev, 0};
  const ncclTeam world = ncclTeamWorld(dev);
  const int left = (world.rank + world.nRanks - 1) % world.nRanks, right = (world.rank + 1) % world.nRanks;
  const int i = threadIdx.x;
  int mine = cells[i];
  for (int s = 0; s < STEPS; s++) {
#ifdef DEFECT_ONE_SLOT
    const int slot = 0;
#else
    const int slot = s % 2;
#endif
    int* base = (int*)ncclGetLocalPointer(win, 0);
    now[i + 1] = mine;
    if (i == 0) base[rimAt(s % 2, 0) / 4] = mine;
    if (i == CELLS - 1) base[rimAt(s % 2, 1) / 4] = mine;
    __syncthreads();
    if (i == 0) {
#ifdef DEFECT_ONE_SIGNAL
      const ncclGinSignal_t toLeft = FROM_LEFT;
#else
      const ncclGinSignal_t toLeft = FROM_RIGHT;
#endif
      // EXPECT ONE_SLOT
      gin.put(world, left, win, haloAt(slot, 1), win, rimAt(s % 2, 0), sizeof(int), Arrived{toLeft});
      // EXPECT ONE_SLOT
      gin.put(world, right, win, haloAt(slot, 0), win, rimAt(s % 2, 1), sizeof(int), Arrived{FROM_LEFT});
    }
#if defined(DEFECT_ONE_SIGNAL)
    gin.waitSignal(ncclCoopCta{}, FROM_LEFT, 2 * (s + 1));
#elif defined(DEFECT_OLD_STEP)
    gin.waitSignal(ncclCoopCta{}, FROM_LEFT, s);
    gin.waitSignal(ncclCoopCta{}, FROM_RIGHT, s);
#elif defined(DEFECT_ONE_SIDE)
    gin.waitSignal(ncclCoopCta{}, FROM_LEFT, s + 1);
#else
    gin.waitSignal(ncclCoopCta{}, FROM_LEFT, s + 1);
    gin.waitSignal(ncclCoopCta{}, FROM_RIGHT, s + 1);
#endif
    // EXPECT OLD_STEP ONE_SLOT ONE_SIGNAL WEAK_SIGNAL
    if (i == 0) now[0] = base[haloAt(slot, 0) / 4];
    // EXPECT OLD_STEP ONE_SIDE ONE_SLOT ONE_SIGNAL WEAK_SIGNAL
    if (i == CELLS - 1) now[CELLS + 1] = base[haloAt(slot, 1) / 4];
    __syncthreads();
    mine = (now[i] + now[i + 1] + now[i + 2]) % 1000;
    __syncthreads();
  }
  cells[i] = mine;
  gin.flush(ncclCoopCta{});
}

int main(int argc, char* argv[]) {
  int rank, nRanks;
  MPICHECK(MPI_Init(&argc, &argv));
  MPICHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  MPICHECK(MPI_Comm_size(MPI_COMM_WORLD, &nRanks));
  CUDACHECK(cudaSetDevice(rank));
  ncclUniqueId id;
  if (rank == 0) NCCLCHECK(ncclGetUniqueId(&id));
  MPICHECK(MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD));
  ncclComm_t comm;
  NCCLCHECK(ncclCommInitRank(&comm, nRanks, id, rank));
  void* buffer;
  ncclWindow_t win;
  NCCLCHECK(ncclMemAlloc(&buffer, 8 * sizeof(int)));
  NCCLCHECK(ncclCommWindowRegister(comm, buffer, 8 * sizeof(int), &win, NCCL_WIN_COLL_SYMMETRIC));
  ncclDevCommRequirements reqs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
  reqs.ginSignalCount = 2;
  reqs.ginConnectionType = NCCL_GIN_CONNECTION_FULL;
  ncclDevComm dev;
  NCCLCHECK(ncclDevCommCreate(comm, &reqs, &dev));

  const int total = nRanks * CELLS;
  std::vector<int> all(total), next(total), mine(CELLS);
  for (int i = 0; i < total; i++) all[i] = i * i % 97;
  int* cells;
  CUDACHECK(cudaMalloc(&cells, CELLS * sizeof(int)));
  CUDACHECK(cudaMemcpy(cells, all.data() + rank * CELLS, CELLS * sizeof(int), cudaMemcpyHostToDevice));
  steps<<<1, CELLS>>>(dev, win, cells);
  CUDACHECK(cudaGetLastError());
  CUDACHECK(cudaMemcpy(mine.data(), cells, CELLS * sizeof(int), cudaMemcpyDeviceToHost));
  for (int s = 0; s < STEPS; s++) {
    for (int i = 0; i < total; i++) next[i] = (all[(i + total - 1) % total] + all[i] + all[(i + 1) % total]) % 1000;
    all.swap(next);
  }
  int bad = 0;
  for (int i = 0; i < CELLS; i++) bad += mine[i] != all[rank * CELLS + i];

  NCCLCHECK(ncclDevCommDestroy(comm, &dev));
  NCCLCHECK(ncclCommWindowDeregister(comm, win));
  NCCLCHECK(ncclMemFree(buffer));
  CUDACHECK(cudaFree(cells));
  NCCLCHECK(ncclCommDestroy(comm));
  MPICHECK(MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  if (rank == 0) printf("%d cells differ\n", bad);
  MPICHECK(MPI_Finalize());
  return bad != 0;
}
