#include <cuda_runtime.h>
#include <mpi.h>
#include <map>
#include <cstring>
#include <cstdlib>
// what another rank's host memory holds, by the C++ library's walk over a tree
struct Node { long color; Node *parent, *left, *right; };
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank; MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int* d; cudaMalloc(&d, 4);
  Node* mine = static_cast<Node*>(calloc(3000, sizeof(Node)));
  mine[0].left = &mine[1234 + rank];   // the secret: 1234 + rank
  Node* theirs = nullptr;
  Node* all[2];
  MPI_Allgather(&mine, 8, MPI_BYTE, all, 8, MPI_BYTE, MPI_COMM_WORLD);
  theirs = all[1 - rank];
  Node start = {0, nullptr, nullptr, theirs};
  std::map<int, int>::iterator it;
  Node* at = &start;
  std::memcpy(&it, &at, 8);
  ++it;
  std::memcpy(&at, &it, 8);
  long seen = (reinterpret_cast<long>(at) - reinterpret_cast<long>(theirs)) / long(sizeof(Node));
  MPI_Finalize();
  return seen == 1234 + 1 - rank ? 0 : 9;
}
