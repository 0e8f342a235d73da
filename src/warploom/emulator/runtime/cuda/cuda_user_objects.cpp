// Objects of the program that live as long as the graphs that hold them.
#include "cuda/user_objects.h"

#include <utility>

#include "cuda/cuda_error.h"
#include "host/call_targets.h"
#include "host/handles.h"
#include "machine/into_program.h"

namespace warploom {

namespace {
HandleTable<UserObject, cudaUserObject_t> g_user_object_handles("a user object");
}

UserObject* user_object_of(cudaUserObject_t handle) { return g_user_object_handles.find(handle); }

void release_object(UserObject* object, unsigned count) {
  if (object->references > count) {
    object->references -= count;
    return;
  }
  object->references = 0;
  g_user_object_handles.end(object);
  if (object->destroy) {
    into_program(WARPLOOM_FRAME, std::exchange(object->destroy, nullptr), object->pointer);
  }
}

}  // namespace warploom

using namespace warploom;

cudaError_t cudaUserObjectCreate(cudaUserObject_t* object, void* pointer, cudaHostFn_t destroy,
                                 unsigned references, unsigned) {
  if (!object || !destroy || references == 0) return cuda_fail(cudaErrorInvalidValue);
  warploom::check_call_target(destroy);
  *object = g_user_object_handles.give(new UserObject{pointer, destroy, references});
  return cudaSuccess;
}
cudaError_t cudaUserObjectRetain(cudaUserObject_t handle, unsigned count) {
  UserObject* object = g_user_object_handles.find(handle);
  if (!object) return cuda_fail(cudaErrorInvalidValue);
  object->references += count;
  return cudaSuccess;
}
cudaError_t cudaUserObjectRelease(cudaUserObject_t handle, unsigned count) {
  UserObject* object = g_user_object_handles.find(handle);
  if (!object) return cuda_fail(cudaErrorInvalidValue);
  release_object(object, count);
  return cudaSuccess;
}
