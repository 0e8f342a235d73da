// Correct as it stands; each macro touches a buffer before its call is completed.
#include <cuda_runtime.h>
#include <mpi.h>

#include <cstdio>
#include <vector>

__global__ void fill(int* p, int v) { p[threadIdx.x] = v; }

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, good = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int peer = 1 - rank;
  // Host memory.
  int out[8] = {rank}, in[8] = {}, other[8] = {};
  MPI_Request requests[3];
  MPI_Irecv(in, 8, MPI_INT, peer, 3, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(out, 8, MPI_INT, peer, 3, MPI_COMM_WORLD, &requests[1]);
  MPI_Isend(out, 8, MPI_INT, peer, 4, MPI_COMM_WORLD, &requests[2]);  // two may read
  good &= out[0] == rank;
#ifdef SEND
  out[3] = 77;
#endif
#ifdef RECEIVE_READ
  good &= in[2] == 0;
#endif
#ifdef RECEIVE_WRITE
  in[2] = 5;
#endif
  MPI_Recv(other, 8, MPI_INT, peer, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  out[3] = 77;
  good &= in[0] == peer && other[0] == peer;
  // Memory of a device.
  int *send, *receive;
  cudaMalloc(&send, 128);
  cudaMalloc(&receive, 128);
  for (int round = 0; round < 3; round++) {
    fill<<<1, 32>>>(send, rank + round);
    cudaDeviceSynchronize();
    MPI_Irecv(receive, 32, MPI_INT, peer, 5, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(send, 32, MPI_INT, peer, 5, MPI_COMM_WORLD, &requests[1]);
#ifdef DEVICE
    fill<<<1, 32>>>(send, 9);
    cudaDeviceSynchronize();
#endif
#ifdef DEVICE_READ
    cudaMemcpy(other, receive, 4, cudaMemcpyDeviceToHost);
#endif
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    cudaMemcpy(other, receive, 32, cudaMemcpyDeviceToHost);
    good &= other[7] == peer + round;
  }
  // A collective.
  int mine = rank + 1, sum = 0;
  MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
#ifdef REDUCE
  mine = 4;
#endif
  int done = 0;
  while (!done) MPI_Test(&requests[0], &done, MPI_STATUS_IGNORE);
  mine = 0;
  good &= sum == 3;
  // Every second number: the gaps stay the program's.
  std::vector<int> spread(16, rank);
  MPI_Datatype every_second;
  MPI_Type_vector(8, 1, 2, MPI_INT, &every_second);
  MPI_Type_commit(&every_second);
  MPI_Isend(spread.data(), 1, every_second, peer, 6, MPI_COMM_WORLD, &requests[0]);
  spread[1] = 5;
#ifdef GAP_HIT
  spread[2] = 5;
#endif
  MPI_Recv(out, 8, MPI_INT, peer, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  good &= out[7] == peer;
  MPI_Type_free(&every_second);
  cudaFree(send);
  cudaFree(receive);
  MPI_Finalize();
  return good ? 0 : 1;
}
