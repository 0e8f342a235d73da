// Objects of the program that live as long as the graphs that hold them.
#include <algorithm>
#include <utility>

#include "call_targets.h"
#include "cuda_error.h"
#include "graph.h"

namespace warploom {

void release_object(UserObject* object, unsigned count) {
  if (object->references > count) {
    object->references -= count;
    return;
  }
  object->references = 0;
  if (object->destroy) std::exchange(object->destroy, nullptr)(object->pointer);
}

}  // namespace warploom

using namespace warploom;

cudaError_t cudaUserObjectCreate(cudaUserObject_t* object, void* pointer, cudaHostFn_t destroy,
                                 unsigned references, unsigned) {
  if (!object || !destroy || references == 0) return cuda_fail(cudaErrorInvalidValue);
  warploom::check_call_target(destroy);
  *object = reinterpret_cast<cudaUserObject_t>(new UserObject{pointer, destroy, references});
  return cudaSuccess;
}
cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned count) {
  reinterpret_cast<UserObject*>(object)->references += count;
  return cudaSuccess;
}
cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned count) {
  release_object(reinterpret_cast<UserObject*>(object), count);
  return cudaSuccess;
}
cudaError_t cudaGraphRetainUserObject(cudaGraph_t handle, cudaUserObject_t object, unsigned count,
                                      unsigned flags) {
  auto* graph = reinterpret_cast<Graph*>(handle);
  if (!graph || graph->destroyed || !object) return cuda_fail(cudaErrorInvalidValue);
  auto* kept = reinterpret_cast<UserObject*>(object);
  graph->objects[kept] += count;
  if (!(flags & cudaGraphUserObjectMove)) kept->references += count;
  return cudaSuccess;
}
cudaError_t cudaGraphReleaseUserObject(cudaGraph_t handle, cudaUserObject_t object,
                                       unsigned count) {
  auto* graph = reinterpret_cast<Graph*>(handle);
  if (!graph || graph->destroyed) return cuda_fail(cudaErrorInvalidValue);
  auto* kept = reinterpret_cast<UserObject*>(object);
  graph->objects[kept] -= std::min(count, graph->objects[kept]);
  release_object(kept, count);
  return cudaSuccess;
}
