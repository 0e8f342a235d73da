// One defect of the host side of NCCL or MPI, named by the first argument.
#include <mpi.h>
#include <nccl.h>

#include <cstdio>
#include <string>
#include <vector>

#define CHECK(call) \
  if ((call) != 0) return 3

int main(int argc, char** argv) {
  const std::string defect = argc > 1 ? argv[1] : "";
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const bool odd = rank % 2;
  const int other = odd ? rank - 1 : rank + 1;
  CHECK(cudaSetDevice(defect == "duplicate_device" ? 0 : rank));
  ncclUniqueId id;
  if (rank == 0) ncclGetUniqueId(&id);
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t comm;
  const int size = defect == "wrong_size" && odd ? ranks + 1 : ranks;
  ncclResult_t made = ncclCommInitRank(&comm, size, id, rank);  // EXPECT wrong_size duplicate_device
  if (made != ncclSuccess) return 0;
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  int *a, *b;
  CHECK(cudaMalloc(&a, 4096));
  CHECK(cudaMalloc(&b, 4096));
  CHECK(cudaMemset(a, 0, 4096));

  if (defect == "send_send") {
    ncclSend(a, 16, ncclInt, other, comm, stream);  // EXPECT send_send
    ncclRecv(b, 16, ncclInt, other, comm, stream);
  } else if (defect == "send_count") {
    ncclGroupStart();
    ncclSend(a, odd ? 8 : 16, ncclInt, other, comm, stream);  // EXPECT send_count
    ncclRecv(b, 16, ncclInt, other, comm, stream);            // EXPECT send_count
    ncclGroupEnd();
  } else if (defect == "order") {
    if (odd) ncclAllReduce(a, b, 4, ncclInt, ncclSum, comm, stream);  // EXPECT order
    ncclBroadcast(a, b, 4, ncclInt, 0, comm, stream);                 // EXPECT order
    if (!odd) ncclAllReduce(a, b, 4, ncclInt, ncclSum, comm, stream);
  } else if (defect == "count") {
    ncclAllReduce(a, b, odd ? 4 : 8, ncclInt, ncclSum, comm, stream);  // EXPECT count
  } else if (defect == "type") {
    ncclAllReduce(a, b, 4, odd ? ncclInt : ncclFloat, ncclSum, comm, stream);  // EXPECT type
  } else if (defect == "operation") {
    ncclAllReduce(a, b, 4, ncclInt, odd ? ncclMax : ncclSum, comm, stream);  // EXPECT operation
  } else if (defect == "root") {
    ncclReduce(a, b, 4, ncclInt, ncclSum, odd, comm, stream);  // EXPECT root
  } else if (defect == "missing_rank") {
    if (rank) ncclAllReduce(a, b, 4, ncclInt, ncclSum, comm, stream);  // EXPECT missing_rank
  } else if (defect == "past_end") {
    ncclAllGather(a, b, 2048 / ranks, ncclInt, comm, stream);  // EXPECT past_end
  } else if (defect == "host_buffer") {
    std::vector<int> host(16);
    ncclAllReduce(host.data(), b, 16, ncclInt, ncclSum, comm, stream);  // EXPECT host_buffer
  } else if (defect == "wrong_device") {
    CHECK(cudaSetDevice((rank + 1) % ranks));
    cudaStream_t wrong;
    CHECK(cudaStreamCreate(&wrong));
    ncclAllReduce(a, b, 4, ncclInt, ncclSum, comm, wrong);  // EXPECT wrong_device
    return 0;
  } else if (defect == "peer") {
    ncclSend(a, 4, ncclInt, ranks, comm, stream);  // EXPECT peer
  } else if (defect == "early_read") {
    ncclAllReduce(a, b, 4, ncclInt, ncclSum, comm, stream);
    int host[4];
    cudaMemcpyAsync(host, b, 16, cudaMemcpyDeviceToHost, stream);
    std::printf("%d\n", host[0]);  // EXPECT early_read
  } else if (defect == "reuse") {
    cudaStream_t second;
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    ncclAllReduce(a, b, 4, ncclInt, ncclSum, comm, stream);  // EXPECT reuse
    cudaMemsetAsync(a, 1, 16, second);                       // EXPECT reuse
    cudaStreamSynchronize(second);
  } else if (defect == "no_communicator") {
    ncclAllReduce(a, b, 4, ncclInt, ncclSum, nullptr, stream);  // EXPECT no_communicator
  } else if (defect == "destroyed") {
    cudaStreamSynchronize(stream);
    ncclCommDestroy(comm);
    ncclAllReduce(a, b, 4, ncclInt, ncclSum, comm, stream);  // EXPECT destroyed
    return 0;
  } else if (defect == "extra_end") {
    ncclGroupEnd();  // EXPECT extra_end
  } else if (defect == "free_twice") {
    void* p;
    ncclMemAlloc(&p, 4096);
    ncclMemFree(p);
    ncclMemFree(p);  // EXPECT free_twice
  } else if (defect == "leak") {
    cudaStreamSynchronize(stream);
    MPI_Finalize();
    return 0;
  } else if (defect == "mpi_order") {
    int x = 0;
    if (odd) MPI_Barrier(MPI_COMM_WORLD);                            // EXPECT mpi_order
    if (!odd) MPI_Bcast(&x, 1, MPI_INT, 0, MPI_COMM_WORLD);          // EXPECT mpi_order
  } else if (defect == "mpi_root") {
    int x = 0;
    MPI_Bcast(&x, 1, MPI_INT, odd, MPI_COMM_WORLD);  // EXPECT mpi_root
  } else if (defect == "mpi_size") {
    int x[2] = {};
    MPI_Bcast(x, odd ? 2 : 1, MPI_INT, 0, MPI_COMM_WORLD);  // EXPECT mpi_size
  } else if (defect == "mpi_type") {
    float x = 0;
    MPI_Bcast(&x, 1, odd ? MPI_INT : MPI_FLOAT, 0, MPI_COMM_WORLD);  // EXPECT mpi_type
  } else if (defect == "mpi_gather_type") {
    double x = 0;
    std::vector<double> all(64);
    const MPI_Datatype type = odd ? MPI_FLOAT : MPI_DOUBLE;
    MPI_Gather(&x, 1 + odd, type, all.data(), 1, type, 0, MPI_COMM_WORLD);  // EXPECT mpi_gather_type
  } else if (defect == "mpi_count") {
    int x[2] = {}, y[2];
    MPI_Allreduce(x, y, 1 + odd, MPI_INT, MPI_SUM, MPI_COMM_WORLD);  // EXPECT mpi_count
  } else if (defect == "mpi_operation") {
    int x = 0, y;
    MPI_Reduce(&x, &y, 1, MPI_INT, odd ? MPI_MAX : MPI_SUM, 0, MPI_COMM_WORLD);  // EXPECT mpi_operation
  } else if (defect == "mpi_message_type") {
    int x = 0;
    if (!odd) MPI_Send(&x, 1, MPI_INT, other, 0, MPI_COMM_WORLD);
    if (odd) MPI_Recv(&x, 1, MPI_FLOAT, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // EXPECT mpi_message_type
  } else if (defect == "mpi_scatter_truncation") {
    std::vector<int> all(64);
    int x[2];
    MPI_Scatter(all.data(), 2, MPI_INT, x, 1, MPI_INT, 0, MPI_COMM_WORLD);  // EXPECT mpi_scatter_truncation
  } else if (defect == "mpi_truncation") {
    int x[4] = {};
    if (!odd) MPI_Send(x, 4, MPI_INT, other, 0, MPI_COMM_WORLD);
    if (odd) MPI_Recv(x, 3, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // EXPECT mpi_truncation
  } else if (defect == "mpi_send_send") {
    std::vector<int> x(4096), y(4096);
    MPI_Send(x.data(), 4096, MPI_INT, other, 0, MPI_COMM_WORLD);  // EXPECT mpi_send_send
    MPI_Recv(y.data(), 4096, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (defect == "mpi_no_sender") {
    int x;
    if (odd) MPI_Recv(&x, 1, MPI_INT, other, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // EXPECT mpi_no_sender
  } else if (defect == "mpi_early") {
    cudaMemsetAsync(a, 1, 64, stream);  // EXPECT mpi_early
    MPI_Bcast(a, 16, MPI_INT, 0, MPI_COMM_WORLD);  // EXPECT mpi_early
  } else if (defect == "mpi_early_exchange") {
    CHECK(cudaDeviceSynchronize());
    cudaMemsetAsync(a, 1, 64, stream);  // EXPECT mpi_early_exchange
    MPI_Sendrecv(a, 16, MPI_INT, other, 0, b, 16, MPI_INT, other, 0,  // EXPECT mpi_early_exchange
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (defect == "mpi_early_receive") {
    CHECK(cudaDeviceSynchronize());
    cudaMemsetAsync(b, 1, 64, stream);  // EXPECT mpi_early_receive
    MPI_Sendrecv(a, 16, MPI_INT, other, 0, b, 16, MPI_INT, other, 0,  // EXPECT mpi_early_receive
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (defect == "mpi_aliased") {
    CHECK(cudaDeviceSynchronize());
    MPI_Allgather(a + 16 * rank, 16, MPI_INT, a, 16, MPI_INT, MPI_COMM_WORLD);  // EXPECT mpi_aliased
  } else if (defect == "mpi_aliased_sum") {
    float x[4] = {};
    MPI_Allreduce(x, x + 1, 3, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);  // EXPECT mpi_aliased_sum
  } else if (defect == "mpi_aliased_root") {
    std::vector<int> all(4 * ranks);
    int* mine = odd ? all.data() + 2 : all.data();
    MPI_Gather(mine, 4, MPI_INT, all.data(), 4, MPI_INT, 0, MPI_COMM_WORLD);  // EXPECT mpi_aliased_root
  } else if (defect == "mpi_aliased_blocks") {
    std::vector<int> all(8 * ranks), counts(ranks, 1), from(ranks), to(ranks);
    for (int r = 0; r < ranks; r++) from[r] = 2 * r, to[r] = 2 * r + (r == 1 ? 0 : 1);
    MPI_Alltoallv(all.data(), counts.data(), from.data(), MPI_INT,  // EXPECT mpi_aliased_blocks
                  all.data(), counts.data(), to.data(), MPI_INT, MPI_COMM_WORLD);
  } else if (defect == "mpi_started") {
    int x = 0;
    MPI_Request again;
    MPI_Recv_init(&x, 1, MPI_INT, other, 0, MPI_COMM_WORLD, &again);
    MPI_Start(&again);
    MPI_Start(&again);  // EXPECT mpi_started
  } else if (defect == "mpi_not_persistent") {
    int x = 0;
    MPI_Request once;
    MPI_Irecv(&x, 1, MPI_INT, other, 0, MPI_COMM_WORLD, &once);
    MPI_Start(&once);  // EXPECT mpi_not_persistent
  } else if (defect == "mpi_replaced_early") {
    CHECK(cudaDeviceSynchronize());
    cudaMemsetAsync(a, 1, 64, stream);  // EXPECT mpi_replaced_early
    MPI_Status s;
    MPI_Sendrecv_replace(a, 16, MPI_INT, other, 0, other, 0, MPI_COMM_WORLD, &s);  // EXPECT mpi_replaced_early
  } else if (defect == "mpi_late") {
    MPI_Finalize();
    MPI_Barrier(MPI_COMM_WORLD);  // EXPECT mpi_late
  }
  CHECK(cudaStreamSynchronize(stream));
  ncclCommDestroy(comm);
  cudaFree(a);
  cudaFree(b);
  cudaStreamDestroy(stream);
  MPI_Finalize();
  return 0;
}
