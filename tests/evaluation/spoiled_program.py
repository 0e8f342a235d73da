"""A small program that gathers, adds up and times itself, and ways to write it."""

TEXT = """\
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int kCount = 64;

static float draw(unsigned seed, int rank, int i) {
  unsigned z = seed * 2654435761u + rank * 40503u + i * 2246822519u;
  z ^= z >> 15, z *= 2246822519u, z ^= z >> 13;
  return 0.5f + z / 8589934592.0f;
}

__global__ void twice(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 2.0f * in[i];
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  cudaSetDevice(rank);
  ncclUniqueId id;
  if (rank == 0) ncclGetUniqueId(&id);
  MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t comm;
  ncclCommInitRank(&comm, ranks, id, rank);
  const unsigned seed = atoi(argv[1]);
  const int all = kCount * ranks;
  std::vector<float> input(kCount), output(all);
  for (int i = 0; i < kCount; i++) input[i] = draw(seed, rank, i);
  float *mine, *gathered, *out;
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaMalloc(&mine, kCount * sizeof(float));
  cudaMalloc(&gathered, all * sizeof(float));
  cudaMalloc(&out, all * sizeof(float));
  cudaMemcpy(mine, input.data(), kCount * sizeof(float), cudaMemcpyHostToDevice);
  cudaEvent_t start, stop;
  cudaEventCreate(&start);
  cudaEventCreate(&stop);
  for (int iteration = 0; iteration < 3; iteration++) {
    if (iteration == 1) {
      cudaStreamSynchronize(stream);
      MPI_Barrier(MPI_COMM_WORLD);
      cudaEventRecord(start, stream);
    }
    /* body */
    ncclAllGather(mine, gathered, kCount, ncclFloat, comm, stream);
    twice<<<(all + 31) / 32, 32, 0, stream>>>(gathered, out, all);
    /* end */
  }
  cudaEventRecord(stop, stream);
  cudaStreamSynchronize(stream);
  float milliseconds = 0;
  cudaEventElapsedTime(&milliseconds, start, stop);
  /* after */
  cudaMemcpy(output.data(), out, all * sizeof(float), cudaMemcpyDeviceToHost);
  cudaEventDestroy(start);
  cudaEventDestroy(stop);
  cudaFree(mine);
  cudaFree(gathered);
  cudaFree(out);
  cudaStreamDestroy(stream);
  ncclCommDestroy(comm);
  MPI_Finalize();
  return 0;
}
"""
_BODY = TEXT.partition("/* body */")[2].partition("/* end */")[0]
KERNEL = "    twice<<<(all + 31) / 32, 32, 0, stream>>>(gathered, out, all);\n"
HOST = """
  std::vector<float> own(all);
  for (int i = 0; i < all; i++) own[i] = 2.0f * draw(seed, i / kCount, i % kCount);
"""
COPY = "  cudaMemcpy(out, own.data(), all * sizeof(float), cudaMemcpyHostToDevice);\n"


def written(body: str | None = None, after: str = "") -> str:
    """Return the program with another body of its loop, and something after it."""
    text = TEXT if body is None else TEXT.replace(_BODY, f"\n{body}\n    ")
    return text.replace("/* after */", after)


REDUCED = written().replace(
    "ncclAllGather(mine, gathered, kCount, ncclFloat, comm, stream);",
    "ncclAllReduce(mine, gathered, kCount, ncclFloat, ncclSum, comm, stream);",
).replace("const int all = kCount * ranks;", "const int all = kCount;")  # fmt: skip
"""The program with a sum in place of the gathering."""
