// Communication in a header and a further source, whose types, enums, functions and macros have names
// that the others have too.
#include <mpi.h>
#include <vector>
#include "comm.h"
#include "util.h"

void fill(float* x, int n, int rank, int seed, cudaStream_t s);

// Names that the other sources have for themselves, with other meanings.
#define WIDTH 1000
enum Place { kBegin, kEnd };
struct Shape {
  int width;
};
static int at(Shape shape, Place place) { return place == kBegin ? 0 : shape.width - 1; }

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  Comm c;
  setup(c, rank, ranks);
  int seed = argc > 1 ? atoi(argv[1]) : 1;
  const int n = WIDTH;
  float *x, *y;
  CUDA(cudaMalloc(&x, n * sizeof(float)));
  CUDA(cudaMalloc(&y, n * ranks * sizeof(float)));
  fill(x, n, rank, seed, c.stream);
  gather(c, x, y, n);
  sum(c, x, n);
  std::vector<float> h(n), g(n * ranks);
  CUDA(cudaMemcpyAsync(h.data(), x, n * sizeof(float), cudaMemcpyDeviceToHost, c.stream));
  CUDA(cudaMemcpyAsync(g.data(), y, n * ranks * sizeof(float), cudaMemcpyDeviceToHost, c.stream));
  CUDA(cudaStreamSynchronize(c.stream));
  printf("rank %d: %g %g\n", rank, h[3], g[at(Shape{n * ranks}, kEnd)]);
  CUDA(cudaFree(x));
  CUDA(cudaFree(y));
  teardown(c);
  MPI_Finalize();
}
