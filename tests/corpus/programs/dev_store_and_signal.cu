// CORPUS run=4/2,2
// Two neighbors in turn: the one in the LSA team gets its block by stores and a GIN signal, the one
// on the rail by a put; a rail barrier begins each step.
//
// DEFECT DEVICE_RELEASE scope_too_narrow: the signal releases the stores on this GPU only
// DEFECT RAIL_ONLY peer_off_rail run=4/2: rail connections do not reach the neighbor in the team
// DEFECT WORLD_HANDLE barrier_team run=4/2: the world meets at the rail's barrier
// DEFECT STORE_AFTER data_race: signals before the last stores
// DEFECT OTHER_SIGNAL data_race: waits for the rail's signal before reading what was stored
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>
#include <nccl_device.h>

#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <vector>

using Cta = ncclCoopCta;
static constexpr int kWords = 24, kSteps = 2;

template <int Words>
__global__ void step(ncclDevComm dev, ncclWindow_t stored, ncclWindow_t sent, ncclWindow_t came, int* out, int number) {
  const ncclTeam lsa = ncclTeamLsa(dev), rail = ncclTeamRail(dev), world = ncclTeamWorld(dev);
  ncclGin gin(dev, 0);
  {
#if defined(DEFECT_WORLD_HANDLE)
    const ncclTeam team = world;
#else
    const ncclTeam team = rail;
#endif
    // EXPECT WORLD_HANDLE
    ncclGinBarrierSession<Cta> begin(Cta(), gin, team, dev.railGinBarrier, 0);
    begin.sync(Cta(), cuda::memory_order_acq_rel, ncclGinFenceLevel::None);
    ncclLsaBarrierSession<Cta> both(Cta(), dev, ncclTeamTagLsa(), 0);
    both.sync(Cta(), cuda::memory_order_acq_rel);
  }
  const int beside = (lsa.rank + 1) % lsa.nRanks, above = (rail.rank + 1) % rail.nRanks;
  const int beside_in_world = world.rank - lsa.rank + beside;
  int* theirs = static_cast<int*>(ncclGetLsaPointer(stored, 0, beside));
  int* source = static_cast<int*>(ncclGetLocalPointer(sent, 0));
  const int i = threadIdx.x;
#if defined(DEFECT_STORE_AFTER)
  if (i == 0) {
    gin.signal(world, beside_in_world, ncclGin_WeakSignalInc{0}, ncclCoopThread(), ncclGin_None{},
               cuda::thread_scope_thread, cuda::thread_scope_system);
  }
#endif
  if (i < Words) {
    // EXPECT DEVICE_RELEASE STORE_AFTER OTHER_SIGNAL
    theirs[i] = world.rank * 100 + i + number;
    source[i] = world.rank * 1000 + i + number;
  }
  __syncthreads();
  if (i == 0) {
#if defined(DEFECT_DEVICE_RELEASE)
    // EXPECT DEVICE_RELEASE
    gin.signal(world, beside_in_world, ncclGin_WeakSignalInc{0});
#elif !defined(DEFECT_STORE_AFTER)
    // EXPECT RAIL_ONLY
    gin.signal(world, beside_in_world, ncclGin_WeakSignalInc{0}, ncclCoopThread(), ncclGin_None{}, cuda::thread_scope_thread, cuda::thread_scope_system);
#endif
    gin.put(rail, above, came, 0, sent, 0, Words * sizeof(int), ncclGin_WeakSignalInc{1});
  }
#if !defined(DEFECT_OTHER_SIGNAL)
  gin.waitSignal(Cta(), 0, number + 1);
#endif
  gin.waitSignal(Cta(), 1, number + 1);
  const int* by_store = static_cast<const int*>(ncclGetLocalPointer(stored, 0));
  const int* by_put = static_cast<const int*>(ncclGetLocalPointer(came, 0));
  if (i < Words) {
    // EXPECT DEVICE_RELEASE STORE_AFTER OTHER_SIGNAL
    out[i] = by_store[i];
    out[Words + i] = by_put[i];
  }
#if defined(DEFECT_OTHER_SIGNAL)
  gin.waitSignal(Cta(), 0, number + 1);
#endif
  gin.flush(Cta());
}

struct Window {
  void* memory;
  ncclWindow_t handle;
};

template <class R>
static void need(R result, const char* what) {
  if (static_cast<int>(result) == 0) return;
  std::fprintf(stderr, "%s: %d\n", what, static_cast<int>(result));
  MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}
#define NEED(x) need((x), #x)

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  NEED(cudaSetDevice(rank));
  ncclUniqueId id;
  if (rank == 0) NEED(ncclGetUniqueId(&id));
  MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t comm;
  NEED(ncclCommInitRank(&comm, ranks, id, rank));
  Window w[3];
  for (Window& window : w) {
    NEED(ncclMemAlloc(&window.memory, kWords * sizeof(int)));
    NEED(ncclCommWindowRegister(comm, window.memory, kWords * sizeof(int), &window.handle, NCCL_WIN_COLL_SYMMETRIC));
  }
  int* out;
  NEED(cudaMalloc(&out, 2 * kWords * sizeof(int)));
  ncclDevCommRequirements reqs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
  reqs.ginSignalCount = 2;
  reqs.lsaBarrierCount = 1;
  reqs.railGinBarrierCount = 1;
#if defined(DEFECT_RAIL_ONLY)
  reqs.ginConnectionType = NCCL_GIN_CONNECTION_RAIL;
#else
  reqs.ginConnectionType = NCCL_GIN_CONNECTION_FULL;
#endif
  ncclDevComm dev;
  NEED(ncclDevCommCreate(comm, &reqs, &dev));
  const int team = dev.lsaSize, teams = ranks / team;
  const int beside = rank / team * team + (rank % team + team - 1) % team;
  const int below = (rank / team + teams - 1) % teams * team + rank % team;
  bool good = true;
  std::vector<int> got(2 * kWords);
  for (int number = 0; number < kSteps; ++number) {
    step<kWords><<<1, 32>>>(dev, w[0].handle, w[1].handle, w[2].handle, out, number);
    NEED(cudaGetLastError());
    NEED(cudaMemcpy(got.data(), out, got.size() * sizeof(int), cudaMemcpyDeviceToHost));
    for (int i = 0; i < kWords; ++i) {
      good = good && got[i] == beside * 100 + i + number && got[kWords + i] == below * 1000 + i + number;
    }
  }
  NEED(ncclDevCommDestroy(comm, &dev));
  for (Window& window : w) {
    NEED(ncclCommWindowDeregister(comm, window.handle));
    NEED(ncclMemFree(window.memory));
  }
  NEED(cudaFree(out));
  NEED(ncclCommDestroy(comm));
  MPI_Finalize();
  std::printf("rank %d: %s\n", rank, good ? "both blocks are right" : "a block is wrong");
  return good ? 0 : 1;
}
