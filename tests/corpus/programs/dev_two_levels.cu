// CORPUS run=4/2,2/1,6/3
// All-gather in two levels: blocks travel along the rail by GIN, then each rank stores what came
// to it into the memory of its LSA team.
//
// DEFECT NO_RAIL_WAIT missing_wait: spreads blocks that may not have come
// DEFECT RELEASE_ONLY data_race: reads in the same kernel after a barrier that acquires nothing
// DEFECT OWN_RAIL_ONLY data_race: waits for the team before its own stores, not after them
// DEFECT LSA_AS_WORLD peer_not_in_lsa_team: numbers the team's members by their world rank
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>
#include <nccl_device.h>

#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

namespace detail {
template <typename R>
void assert_ok(R r, R good, const char* expr) {
  if (r == good) return;
  std::fprintf(stderr, "%s -> %d\n", expr, static_cast<int>(r));
  MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}
}  // namespace detail
#define CU(e) detail::assert_ok((e), cudaSuccess, #e)
#define NC(e) detail::assert_ok((e), ncclSuccess, #e)

constexpr int kBlock = 24;

__global__ void all_gather(ncclDevComm comm, ncclSymPtr<float> mine, ncclSymPtr<float> all, float* out) {
  const ncclTeam rail = ncclTeamRail(comm), lsa = ncclTeamLsa(comm);
  ncclGin gin{comm, 0};
  ncclCoopCta cta{};
  for (int p = threadIdx.x; p < rail.nRanks; p += blockDim.x) {
    gin.put(rail, p, all + comm.rank * kBlock, mine, kBlock, ncclGin_WeakSignalInc{0});
  }
#if !defined(DEFECT_NO_RAIL_WAIT)
  gin.waitSignal(cta, 0, rail.nRanks);
#endif
  ncclLsaBarrierSession<ncclCoopCta> bar{cta, comm, ncclTeamTagLsa{}, 0};
#if defined(DEFECT_OWN_RAIL_ONLY)
  bar.sync(cta, cuda::memory_order_acq_rel);
#endif
  for (int team = 0; team < rail.nRanks; ++team) {
    const int owner = team * lsa.nRanks + lsa.rank;
    for (int peer = 0; peer < lsa.nRanks; ++peer) {
      if (peer == lsa.rank) continue;
#if defined(DEFECT_LSA_AS_WORLD)
      // EXPECT LSA_AS_WORLD
      float* theirs = (all + owner * kBlock).lsaPtr(team * lsa.nRanks + peer);
#else
      float* theirs = (all + owner * kBlock).lsaPtr(peer);
#endif
      const float* came = (all + owner * kBlock).localPtr();
      for (int i = threadIdx.x; i < kBlock; i += blockDim.x) {
        // EXPECT NO_RAIL_WAIT OWN_RAIL_ONLY RELEASE_ONLY
        theirs[i] = came[i];
      }
    }
  }
#if defined(DEFECT_RELEASE_ONLY)
  bar.sync(cta, cuda::memory_order_release);
#elif !defined(DEFECT_OWN_RAIL_ONLY)
  bar.sync(cta, cuda::memory_order_acq_rel);
#endif
  const float* local = all.localPtr();
  for (int i = threadIdx.x; i < kBlock * rail.nRanks * lsa.nRanks; i += blockDim.x) {
    // EXPECT RELEASE_ONLY OWN_RAIL_ONLY NO_RAIL_WAIT
    out[i] = local[i] * 2;
  }
  gin.flush(cta);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CU(cudaSetDevice(rank));
  ncclUniqueId id;
  if (rank == 0) NC(ncclGetUniqueId(&id));
  MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t comm;
  NC(ncclCommInitRank(&comm, size, id, rank));

  float *mine, *all, *out;
  ncclWindow_t mine_win, all_win;
  NC(ncclMemAlloc(reinterpret_cast<void**>(&mine), kBlock * sizeof(float)));
  NC(ncclMemAlloc(reinterpret_cast<void**>(&all), size * kBlock * sizeof(float)));
  CU(cudaMalloc(&out, size * kBlock * sizeof(float)));
  NC(ncclCommWindowRegister(comm, mine, kBlock * sizeof(float), &mine_win, NCCL_WIN_COLL_SYMMETRIC));
  NC(ncclCommWindowRegister(comm, all, size * kBlock * sizeof(float), &all_win, NCCL_WIN_COLL_SYMMETRIC));
  std::vector<float> h(kBlock), got(size * kBlock);
  std::iota(h.begin(), h.end(), rank * 100.0f);
  CU(cudaMemcpy(mine, h.data(), kBlock * sizeof(float), cudaMemcpyHostToDevice));

  ncclDevCommRequirements reqs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
  reqs.lsaBarrierCount = 1;
  reqs.ginSignalCount = 1;
  reqs.ginConnectionType = NCCL_GIN_CONNECTION_RAIL;
  ncclDevComm dev;
  NC(ncclDevCommCreate(comm, &reqs, &dev));
  all_gather<<<1, 64>>>(dev, ncclSymPtr<float>(mine_win), ncclSymPtr<float>(all_win), out);
  CU(cudaGetLastError());
  CU(cudaMemcpy(got.data(), out, got.size() * sizeof(float), cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int i = 0; i < size * kBlock; ++i) wrong += got[i] != 2 * (i / kBlock * 100.0f + i % kBlock);
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  NC(ncclDevCommDestroy(comm, &dev));
  NC(ncclCommWindowDeregister(comm, mine_win));
  NC(ncclCommWindowDeregister(comm, all_win));
  NC(ncclMemFree(mine));
  NC(ncclMemFree(all));
  CU(cudaFree(out));
  NC(ncclCommDestroy(comm));
  if (rank == 0) std::printf("%s\n", wrong ? "all-gather is wrong" : "all-gather is right");
  MPI_Finalize();
  return wrong != 0;
}
