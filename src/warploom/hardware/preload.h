// What the parts of the library share that stands before a program on real GPUs.
#pragma once

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <initializer_list>

namespace warploom {

template <typename Function>
Function* next(const char* name) {
  void* found = dlsym(RTLD_NEXT, name);
  if (found == nullptr) {
    fprintf(stderr, "warploom: the CUDA or MPI library has no %s\n", name);
    _exit(1);
  }
  return reinterpret_cast<Function*>(found);
}

constexpr int kUnregistered = 0, kHost = 1, kDevice = 2;  // cudaMemoryType

struct Attributes {  // cudaPointerAttributes
  int type, device;
  void *device_pointer, *host_pointer;
  long reserved[8];
};

inline bool has_type(const void* memory, std::initializer_list<int> types) {
  static auto* ask = next<int(Attributes*, const void*)>("cudaPointerGetAttributes");
  Attributes its{};
  return ask(&its, memory) == 0 && std::find(types.begin(), types.end(), its.type) != types.end();
}

}  // namespace warploom
