// Objects of the program that live as long as the graphs that hold them.
#pragma once

#include "../../include/cuda_runtime.h"

namespace warploom {

struct UserObject {
  void* pointer = nullptr;
  cudaHostFn_t destroy = nullptr;
  unsigned references = 0;
};

// The object behind a handle; null for none.
UserObject* user_object_of(cudaUserObject_t handle);
void release_object(UserObject* object, unsigned count);

}  // namespace warploom
