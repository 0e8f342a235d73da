// Communication within templates, lambdas and classes that free what they hold, behind a macro that
// stands before a call without parentheses, and wrappers with an error type of the program's own.
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

enum class Status { kOk, kCuda, kNccl };

struct Failure : std::runtime_error {
  Failure(Status status, const std::string& what) : std::runtime_error(what), status(status) {}
  Status status;
};

static Status status_of(cudaError_t error) {
  return error == cudaSuccess ? Status::kOk : Status::kCuda;
}
static Status status_of(ncclResult_t result) {
  return result == ncclSuccess ? Status::kOk : Status::kNccl;
}

template <typename Result>
void must(Result result, const char* what) {
  if (status_of(result) != Status::kOk) throw Failure(status_of(result), what);
}

// Takes over the result of the call that follows it.
struct Checker {
  template <typename Result>
  Checker& operator=(Result result) {
    must(result, "a call in a group");
    return *this;
  }
};
static Checker checker;
#define DO checker =

template <typename T>
class Buffer {
 public:
  explicit Buffer(size_t n) : n_(n) {
    must(cudaMalloc(&data_, n * sizeof(T)), "cudaMalloc");
    must(cudaMemset(data_, 0, n * sizeof(T)), "cudaMemset");
    must(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
  ~Buffer() { cudaFree(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  T* get() const { return data_; }
  size_t size() const { return n_; }

 private:
  T* data_ = nullptr;
  size_t n_;
};

struct Stream {
  Stream() { must(cudaStreamCreateWithFlags(&handle, cudaStreamNonBlocking), "a stream"); }
  ~Stream() { cudaStreamDestroy(handle); }
  cudaStream_t handle;
};

// New input for each round, different on each rank; small enough that sums are exact.
template <typename T>
__global__ void fill(T* data, size_t n, unsigned seed, int rank, int round) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    unsigned z = (seed * 977u + rank * 131u + round * 31u + unsigned(i)) * 2654435761u;
    data[i] = static_cast<T>(static_cast<int>((z >> 24) % 9) - 4);
  }
}

// Uses what arrived, so that what a round gets wrong shows at the end.
template <typename T>
__global__ void consume(const T* data, T* sum, size_t n) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    sum[i] = sum[i] / 2 + data[i];
  }
}

template <typename Action>
void grouped(Action action) {
  must(ncclGroupStart(), "ncclGroupStart");
  action();
  must(ncclGroupEnd(), "ncclGroupEnd");
}

static void run(unsigned seed, int rank, int ranks, ncclComm_t comm) {
  const size_t count = 37, n = count * ranks;
  Buffer<float> send(n), recv(n), sum(n);
  Stream stream;
  const auto gather = [&](const Buffer<float>& from, Buffer<float>& to) {
    must(ncclAllGather(from.get(), to.get(), count, ncclFloat, comm, stream.handle), "gather");
  };
  for (int round = 0; round < 3; ++round) {
    fill<float><<<2, 32, 0, stream.handle>>>(send.get(), n, seed, rank, round);
    must(ncclAllReduce(send.get(), recv.get(), n, ncclFloat, ncclSum, comm, stream.handle), "sum");
    consume<float><<<2, 32, 0, stream.handle>>>(recv.get(), sum.get(), n);
    gather(send, recv);
    consume<float><<<2, 32, 0, stream.handle>>>(recv.get(), sum.get(), n);
    grouped([&] {
      for (int peer = 0; peer < ranks; ++peer) {
        DO ncclSend(send.get() + peer * count, count, ncclFloat, peer, comm, stream.handle);
        DO ncclRecv(recv.get() + peer * count, count, ncclFloat, peer, comm, stream.handle);
      }
    });
    consume<float><<<2, 32, 0, stream.handle>>>(recv.get(), sum.get(), n);
    must(cudaGetLastError(), "a launch");
  }
  must(cudaStreamSynchronize(stream.handle), "the end");
  std::vector<float> result(n);
  must(cudaMemcpy(result.data(), sum.get(), n * sizeof(float), cudaMemcpyDeviceToHost), "a copy");
  if (rank == 0) printf("first %f\n", result[0]);
}

int main(int argc, char* argv[]) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  try {
    must(cudaSetDevice(rank), "cudaSetDevice");
    ncclUniqueId id;
    if (rank == 0) must(ncclGetUniqueId(&id), "an id");
    MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);
    ncclComm_t comm;
    must(ncclCommInitRank(&comm, ranks, id, rank), "a communicator");
    run(argc > 1 ? atoi(argv[1]) : 1, rank, ranks, comm);
    must(ncclCommDestroy(comm), "ncclCommDestroy");
  } catch (const Failure& failure) {
    fprintf(stderr, "rank %d: %s (%d)\n", rank, failure.what(), static_cast<int>(failure.status));
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return 0;
}
