// CORPUS run=1
// A linked list in managed memory, changed in turns by the host and a kernel.
//
// DEFECT NO_SYNC readback_before_sync: the host follows the list while the kernel changes it
// DEFECT HOST_WRITE data_race: the host changes a node while the kernel may read it
// DEFECT HOST_NODE device_dereference_host: one node comes from the host's heap
// DEFECT FREED_NODE use_after_free: a node is freed while it is still linked
#include <cuda_runtime.h>

#include <cassert>
#include <cstdio>
#include <new>

class Managed {
 public:
  void* operator new(size_t bytes) {
    void* p = nullptr;
    if (cudaMallocManaged(&p, bytes) != cudaSuccess) throw std::bad_alloc();
    return p;
  }
  void operator delete(void* p) { cudaFree(p); }
};

struct Node : public Managed {
  int key;
  Node* next;
};

__global__ void add_to_all(Node* list, int amount) {
  // EXPECT HOST_NODE FREED_NODE
  for (Node* n = list; n; n = n->next) {
    // EXPECT NO_SYNC HOST_WRITE HOST_NODE FREED_NODE
    n->key += amount;
  }
}

int main() {
  Node* list = nullptr;
  for (int i = 0; i < 10; ++i) {
#ifdef DEFECT_HOST_NODE
    Node* n = i == 4 ? ::new Node : new Node;
#else
    Node* n = new Node;
#endif
    n->key = i;
    n->next = list;
    list = n;
  }
#ifdef DEFECT_FREED_NODE
  delete list->next;
#endif
  for (int round = 1; round <= 3; ++round) {
    add_to_all<<<1, 1>>>(list, round);
    if (cudaPeekAtLastError() != cudaSuccess) return 1;
#ifdef DEFECT_HOST_WRITE
    // EXPECT HOST_WRITE
    list->key += 100;
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
#else
#ifndef DEFECT_NO_SYNC
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
#endif
    // EXPECT NO_SYNC
    list->key += 100;
#endif
  }
  int i = 9, wrong = 0;
  while (list) {
    // EXPECT NO_SYNC
    wrong += list->key != i + 6 + (i == 9 ? 300 : 0);
    Node* next = list->next;
    delete list;
    list = next;
    --i;
  }
  printf("%s\n", wrong ? "the list is wrong" : "the list is right");
  return wrong != 0;
}
