// Multimem: sums over the LSA team, stores to all of it, and reductions of all of it, through the
// address of the team and through handles. The first argument takes one rule away.
#include <cuda_fp16.h>
#include <mpi.h>
#include <nccl.h>
#include <nccl_device.h>

#include <string>

#include "expect.h"

constexpr int kFloats = 64;

__device__ float load_sum(const float* p) {
  float sum;
  asm volatile("multimem.ld_reduce.global.add.f32 %0, [%1];" : "=f"(sum) : "l"(p) : "memory");
  return sum;
}
__device__ float4 load_sum4(const float* p) {
  float4 v;
  asm volatile("multimem.ld_reduce.relaxed.sys.global.add.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "l"(p)
               : "memory");
  return v;
}
__device__ void store4(float* p, float4 v) {
  asm volatile("multimem.st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(p), "f"(v.x), "f"(v.y),
               "f"(v.z), "f"(v.w)
               : "memory");
}

// In place: each rank sums its part of the team's buffers, and stores it to all of them.
__global__ void all_reduce(ncclDevComm dev, ncclWindow_t window, bool entry, bool plain) {
  ncclCoopCta cta;
  ncclLsaBarrierSession<ncclCoopCta> bar(cta, dev, ncclTeamTagLsa(), 0, /*multimem=*/true);
  if (entry) bar.sync(cta, cuda::memory_order_acquire);
  float* all = static_cast<float*>(ncclGetLsaMultimemPointer(window, 0, dev));
  const int first = dev.lsaRank * kFloats;
  if (plain && threadIdx.x == 0) all[first] = 1;  // EXPECT plain
  if (threadIdx.x == 0) {
    float* part = all + first;
    store4(part, float4{load_sum(part), load_sum(part + 1), load_sum(part + 2),  // EXPECT no_entry
                        load_sum(part + 3)});
  }
  if (threadIdx.x > 0 && threadIdx.x < kFloats / 4) {
    store4(all + first + 4 * threadIdx.x, load_sum4(all + first + 4 * threadIdx.x));
  }
  bar.sync(cta, cuda::memory_order_release);
}

// Every other type and operation, on the buffers that `fill` made.
struct Results {
  unsigned count, bits;
  int smallest;
  unsigned long long total;
  double both;
  __half2 pair;
  unsigned flag;
};
__global__ void fill(Results* mine, int rank) {
  *mine = Results{1u + rank,  1u << rank,
                  -rank,      1ull << (32 + rank),
                  rank + 0.5, __floats2half2_rn(rank + 1.0f, 2.0f),
                  0};
}
__global__ void reduce_all(ncclDevComm dev, ncclWindow_t window, ncclMultimemHandle handle,
                           Results* out) {
  ncclCoopThread self;
  ncclLsaBarrierSession<ncclCoopThread> bar(self, dev, ncclTeamTagLsa(), 1);
  bar.sync(self, cuda::memory_order_acq_rel);
  auto* all = static_cast<Results*>(ncclGetMultimemPointer(window, 0, handle));
  asm volatile("multimem.ld_reduce.acquire.sys.global.add.u32 %0, [%1];"
               : "=r"(out->count)
               : "l"(&all->count));
  asm volatile("multimem.ld_reduce.weak.global.or.b32 %0, [%1];"
               : "=r"(out->bits)
               : "l"(&all->bits));
  asm volatile("multimem.ld_reduce.global.min.s32 %0, [%1];"
               : "=r"(out->smallest)
               : "l"(&all->smallest));
  asm volatile("multimem.ld_reduce.global.add.u64 %0, [%1];" : "=l"(out->total) : "l"(&all->total));
  asm volatile("multimem.ld_reduce.global.add.f64 %0, [%1];" : "=d"(out->both) : "l"(&all->both));
  unsigned pair;
  asm volatile("multimem.ld_reduce.global.add.acc::f32.f16x2 %0, [%1];"
               : "=r"(pair)
               : "l"(&all->pair));
  memcpy(&out->pair, &pair, sizeof pair);
  asm volatile("multimem.red.release.sys.global.add.u32 [%0], %1;" ::"l"(&all->flag), "r"(1));
  auto* mine = static_cast<Results*>(ncclGetLocalPointer(window, 0));
  cuda::atomic_ref<unsigned, cuda::thread_scope_system> flag(mine->flag);
  while (flag.load(cuda::memory_order_acquire) < static_cast<unsigned>(dev.lsaSize)) {
  }
  out->flag = mine->flag;
}

// A resource buffer by the same means.
__global__ void through_resources(ncclDevComm dev, ncclDevResourceHandle handle, unsigned* out) {
  ncclCoopThread self;
  ncclLsaBarrierSession<ncclCoopThread> bar(self, dev, ncclTeamTagLsa(), 1);
  bar.sync(self, cuda::memory_order_acq_rel);
  void* all = ncclGetResourceBufferLsaMultimemPointer(dev, handle);
  asm volatile("multimem.red.relaxed.sys.global.max.u32 [%0], %1;" ::"l"(all), "r"(7 + dev.rank));
  bar.sync(self, cuda::memory_order_acq_rel);
  *out = *static_cast<unsigned*>(ncclGetResourceBufferLocalPointer(dev, handle));
  bar.sync(self, cuda::memory_order_acq_rel);
}

struct Setup {
  ncclComm_t comm;
  int rank, ranks, lsa;
  void* buffer;
  ncclWindow_t window;
  ncclDevComm dev;
  ncclMultimemHandle handle;
  ncclDevResourceHandle resource;
};

ncclResult_t create(Setup& s, bool multimem) {
  ncclDevCommRequirements reqs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
  reqs.lsaBarrierCount = 2;
  reqs.lsaMultimem = multimem;
  ncclTeamRequirements team = {};
  team.team = ncclTeamLsa(s.comm);
  team.multimem = true;
  team.outMultimemHandle = &s.handle;
  if (multimem) reqs.teamRequirementsList = &team;
  ncclDevResourceRequirements resource = {};
  resource.bufferSize = 256;
  resource.bufferAlign = 16;
  resource.outBufferHandle = &s.resource;
  reqs.resourceRequirementsList = &resource;
  return ncclDevCommCreate(s.comm, &reqs, &s.dev);
}

void check_sums(const Setup& s, bool entry, bool plain) {
  const int floats = s.lsa * kFloats;
  float* host = new float[floats];
  for (int i = 0; i < floats; i++) host[i] = i + 1000 * s.rank;
  cudaMemcpy(s.buffer, host, floats * sizeof(float), cudaMemcpyHostToDevice);
  all_reduce<<<1, 64>>>(s.dev, s.window, entry, plain);
  cudaMemcpy(host, s.buffer, floats * sizeof(float), cudaMemcpyDeviceToHost);
  const int first = s.rank / s.lsa * s.lsa;
  for (int i = 0; i < floats; i++) {
    float sum = 0;
    for (int r = first; r < first + s.lsa; r++) sum += i + 1000 * r;
    EXPECT(host[i] == sum);
  }
  delete[] host;
}

void check_operations(const Setup& s) {
  Results *out, got;
  unsigned* flag;
  cudaMalloc(&out, sizeof *out);
  cudaMalloc(&flag, sizeof *flag);
  fill<<<1, 1>>>(static_cast<Results*>(s.buffer), s.rank);
  cudaDeviceSynchronize();
  MPI_Barrier(MPI_COMM_WORLD);
  reduce_all<<<1, 1>>>(s.dev, s.window, s.handle, out);
  cudaMemcpy(&got, out, sizeof got, cudaMemcpyDeviceToHost);
  Results want = {};
  float low = 0;
  for (int r = s.rank / s.lsa * s.lsa; r < (s.rank / s.lsa + 1) * s.lsa; r++) {
    want.count += 1 + r;
    want.bits |= 1u << r;
    want.smallest = -r;
    want.total += 1ull << (32 + r);
    want.both += r + 0.5;
    low += r + 1;
  }
  EXPECT(got.count == want.count && got.bits == want.bits && got.smallest == want.smallest);
  EXPECT(got.total == want.total && got.both == want.both);
  EXPECT(__low2float(got.pair) == low && __high2float(got.pair) == 2.0f * s.lsa);
  EXPECT(got.flag == static_cast<unsigned>(s.lsa));
  through_resources<<<1, 1>>>(s.dev, s.resource, flag);
  unsigned most = 0;
  cudaMemcpy(&most, flag, sizeof most, cudaMemcpyDeviceToHost);
  EXPECT(most == 7u + (s.rank / s.lsa + 1) * s.lsa - 1);
  cudaFree(out);
  cudaFree(flag);
}

int main(int argc, char** argv) {
  const std::string defect = argc > 1 ? argv[1] : "";
  Setup s = {};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &s.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &s.ranks);
  ncclUniqueId id;
  if (s.rank == 0) ncclGetUniqueId(&id);
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  cudaSetDevice(s.rank);
  EXPECT(ncclCommInitRank(&s.comm, s.ranks, id, s.rank) == ncclSuccess);
  s.lsa = ncclTeamLsa(s.comm).nRanks;
  ncclCommProperties_t props = NCCL_COMM_PROPERTIES_INITIALIZER;
  EXPECT(ncclCommQueryProperties(s.comm, &props) == ncclSuccess);
  EXPECT(props.multimemSupport == (s.lsa > 1));
  const size_t bytes = 8192;
  EXPECT(ncclMemAlloc(&s.buffer, bytes) == ncclSuccess);
  EXPECT(ncclCommWindowRegister(s.comm, s.buffer, bytes, &s.window, NCCL_WIN_COLL_SYMMETRIC) ==
         ncclSuccess);
  const ncclResult_t created = create(s, defect != "not_asked");
  EXPECT(created == (s.lsa > 1 ? ncclSuccess : ncclInvalidArgument));
  if (created == ncclSuccess) {
    void* address = nullptr;
    EXPECT(ncclGetLsaMultimemDevicePointer(s.window, 16, &address) == ncclSuccess && address);
    check_sums(s, defect != "no_entry", defect == "plain");
    check_operations(s);
    EXPECT(ncclDevCommDestroy(s.comm, &s.dev) == ncclSuccess);
  }
  EXPECT(ncclCommWindowDeregister(s.comm, s.window) == ncclSuccess);
  EXPECT(ncclMemFree(s.buffer) == ncclSuccess);
  EXPECT(ncclCommDestroy(s.comm) == ncclSuccess);
  MPI_Finalize();
  return defect.empty() && failures != 0;
}
