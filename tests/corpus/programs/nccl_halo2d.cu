// CORPUS run=4
// Halo exchange on a 2 x 2 torus of ranks: columns are packed by a kernel, rows are sent in place,
// the inner cells are computed meanwhile.
//
// DEFECT NO_PACK_WAIT data_race: sends the packed column while it is still being packed
// DEFECT NO_HALO_WAIT data_race: computes the rim before the halo has come
// DEFECT SHORT_ROW collective_mismatch: sends a row without its last cell
// DEFECT WRONG_NEIGHBOR collective_mismatch: a rank takes its column for a row
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>

#define NX 12
#define NY 10
#define AT(x, y) ((y + 1) * (NX + 2) + (x + 1))

static void ok(int failed, int line) {
  if (!failed) return;
  fprintf(stderr, "line %d failed with %d\n", line, failed);
  MPI_Abort(MPI_COMM_WORLD, 1);
}
#define OK(x) ok((int)(x), __LINE__)

__host__ __device__ int cell(int gx, int gy) { return (gx * 31 + gy * 17) % 101; }

__global__ void start(int *u, int ox, int oy) {
  int x = threadIdx.x, y = blockIdx.x;
  u[AT(x, y)] = cell(ox + x, oy + y);
}

__global__ void pack(const int *u, int *west, int *east) {
  int y = threadIdx.x;
  // EXPECT NO_PACK_WAIT
  west[y] = u[AT(0, y)];
  // EXPECT NO_PACK_WAIT
  east[y] = u[AT(NX - 1, y)];
}

__global__ void unpack(int *u, const int *west, const int *east) {
  int y = threadIdx.x;
  // EXPECT NO_HALO_WAIT
  u[AT(-1, y)] = west[y];
  // EXPECT NO_HALO_WAIT
  u[AT(NX, y)] = east[y];
}

__global__ void relax(const int *u, int *v, int rim) {
  int x = threadIdx.x, y = blockIdx.x;
  int onRim = x == 0 || x == NX - 1 || y == 0 || y == NY - 1;
  if (onRim == rim) {
    // EXPECT NO_HALO_WAIT
    v[AT(x, y)] = u[AT(x - 1, y)] + u[AT(x + 1, y)] + u[AT(x, y - 1)] + u[AT(x, y + 1)];
  }
}

int main(int argc, char **argv) {
  int rank, size, bad = 0, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  OK(size != 4);
  OK(cudaSetDevice(rank));
  ncclUniqueId id;
  ncclComm_t comm;
  if (rank == 0) OK(ncclGetUniqueId(&id));
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  OK(ncclCommInitRank(&comm, size, id, rank));

  int px = rank % 2, py = rank / 2, cells = (NX + 2) * (NY + 2);
  int beside = py * 2 + (1 - px), above = (1 - py) * 2 + px;  // on a torus of two, both neighbors
#ifdef DEFECT_WRONG_NEIGHBOR
  if (rank == 3) { int t = beside; beside = above; above = t; }
#endif
  int *u, *v, *out, *in, *host = (int *)malloc(cells * sizeof(int));
  OK(cudaMalloc(&u, cells * sizeof(int)));
  OK(cudaMalloc(&v, cells * sizeof(int)));
  OK(cudaMalloc(&out, 2 * NY * sizeof(int)));
  OK(cudaMalloc(&in, 2 * NY * sizeof(int)));
  OK(cudaMemset(v, 0, cells * sizeof(int)));
  OK(cudaDeviceSynchronize());
  cudaStream_t inner, halo;
  cudaEvent_t packed, received;
  OK(cudaStreamCreateWithFlags(&inner, cudaStreamNonBlocking));
  OK(cudaStreamCreateWithFlags(&halo, cudaStreamNonBlocking));
  OK(cudaEventCreate(&packed));
  OK(cudaEventCreate(&received));

  start<<<NY, NX, 0, inner>>>(u, px * NX, py * NY);
#ifdef DEFECT_NO_PACK_WAIT
  OK(cudaEventRecord(packed, inner));
  pack<<<1, NY, 0, inner>>>(u, out, out + NY);
#else
  pack<<<1, NY, 0, inner>>>(u, out, out + NY);
  OK(cudaEventRecord(packed, inner));
#endif
  OK(cudaStreamWaitEvent(halo, packed, 0));
  int row = NX;
#ifdef DEFECT_SHORT_ROW
  if (rank == 0) row--;
#endif
  OK(ncclGroupStart());
  // EXPECT NO_PACK_WAIT WRONG_NEIGHBOR
  OK(ncclSend(out, NY, ncclInt, beside, comm, halo));
  // EXPECT NO_PACK_WAIT WRONG_NEIGHBOR
  OK(ncclSend(out + NY, NY, ncclInt, beside, comm, halo));
  // EXPECT WRONG_NEIGHBOR
  OK(ncclRecv(in + NY, NY, ncclInt, beside, comm, halo));
  // EXPECT WRONG_NEIGHBOR NO_HALO_WAIT
  OK(ncclRecv(in, NY, ncclInt, beside, comm, halo));
  // EXPECT SHORT_ROW WRONG_NEIGHBOR
  OK(ncclSend(u + AT(0, 0), row, ncclInt, above, comm, halo));
  // EXPECT SHORT_ROW WRONG_NEIGHBOR
  OK(ncclSend(u + AT(0, NY - 1), row, ncclInt, above, comm, halo));
  // EXPECT SHORT_ROW WRONG_NEIGHBOR NO_HALO_WAIT
  OK(ncclRecv(u + AT(0, NY), NX, ncclInt, above, comm, halo));
  // EXPECT SHORT_ROW WRONG_NEIGHBOR NO_HALO_WAIT
  OK(ncclRecv(u + AT(0, -1), NX, ncclInt, above, comm, halo));
  // EXPECT SHORT_ROW WRONG_NEIGHBOR NO_HALO_WAIT NO_PACK_WAIT
  OK(ncclGroupEnd());
  unpack<<<1, NY, 0, halo>>>(u, in, in + NY);
  OK(cudaEventRecord(received, halo));

  relax<<<NY, NX, 0, inner>>>(u, v, 0);
#ifndef DEFECT_NO_HALO_WAIT
  OK(cudaStreamWaitEvent(inner, received, 0));
#endif
  relax<<<NY, NX, 0, inner>>>(u, v, 1);
  OK(cudaGetLastError());
  OK(cudaStreamSynchronize(inner));
  OK(cudaStreamSynchronize(halo));
  OK(cudaMemcpy(host, v, cells * sizeof(int), cudaMemcpyDeviceToHost));
  for (int y = 0; y < NY; y++) {
    for (int x = 0; x < NX; x++) {
      int gx = px * NX + x, gy = py * NY + y, w = 2 * NX, h = 2 * NY;
      int want = cell((gx + w - 1) % w, gy) + cell((gx + 1) % w, gy) + cell(gx, (gy + h - 1) % h) +
                 cell(gx, (gy + 1) % h);
      bad += host[AT(x, y)] != want;
    }
  }
  MPI_Allreduce(&bad, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d bad cells\n", sum);
  free(host);
  cudaFree(u); cudaFree(v); cudaFree(out); cudaFree(in);
  cudaEventDestroy(packed); cudaEventDestroy(received);
  cudaStreamDestroy(inner); cudaStreamDestroy(halo);
  OK(ncclCommDestroy(comm));
  MPI_Finalize();
  return sum != 0;
}
