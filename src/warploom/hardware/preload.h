// What the parts of the library share that stands before a program on real GPUs.
#pragma once

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>

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

}  // namespace warploom
