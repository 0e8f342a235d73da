// Memory that graphs allocate and free. The address is known when the node is made, and stays.
#include <algorithm>

#include "../../include/cuda_runtime.h"
#include "cuda/cuda_error.h"
#include "cuda/graph.h"
#include "memory/memory.h"
#include "report/report.h"

using namespace warploom;

namespace {

struct Footprint {
  uint64_t used = 0, high = 0;
};
std::map<int, Footprint> g_footprints;  // by device

void count(const Allocation& allocation, bool more) {
  Footprint& footprint = g_footprints[allocation.device];
  footprint.used += more ? allocation.bytes : -allocation.bytes;
  footprint.high = std::max(footprint.high, footprint.used);
}

// The graph's allocation, or nullptr once other memory has its addresses.
Allocation* still_there(void* pointer) {
  Allocation* found = find_allocation(pointer);
  return found && found->start == reinterpret_cast<uintptr_t>(pointer) ? found : nullptr;
}

NodeWork memory_work(cudaGraphNodeType type, const char* name, StartFunction start) {
  NodeWork work = empty_work();
  work.type = type;
  work.name = name;
  work.prepare = [start = std::move(start)](const std::shared_ptr<StreamOp>&) { return start; };
  return work;
}

}  // namespace

namespace warploom {

StartFunction allocation_start(void* pointer) {
  if (Allocation* found = still_there(pointer)) found->of_graph = true;
  // A write of it all: what is not ordered after the node does not have the memory yet.
  return [pointer](StreamOp& op) {
    Allocation* found = still_there(pointer);
    if (!found || !revive(found)) {
      cuda_fail(cudaErrorMemoryAllocation);
    } else {
      count(*found, true);
      access_write(actor_of(op), pointer, found->bytes);
    }
    complete(op);
  };
}

StartFunction free_start(void* pointer) {
  return [pointer](StreamOp& op) {
    Allocation* found = still_there(pointer);
    if (!found) {
      cuda_fail(cudaErrorInvalidValue);
    } else if (!found->live) {
      report_finding(
          {.kind = kinds::double_free,
           .message = format("%zu bytes of a graph are freed that were freed before", found->bytes),
           .hint = "free what a graph allocated once for each launch",
           .where = op.where,
           .other = found->freed});
    } else {
      access_write(actor_of(op), pointer, found->bytes);
      count(*found, false);
      release(found, op.where);
    }
    complete(op);
  };
}

}  // namespace warploom

cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                     const cudaGraphNode_t* before, size_t count,
                                     cudaMemAllocNodeParams* params) {
  if (!params || !params->bytesize) return cuda_fail(cudaErrorInvalidValue);
  int device = params->poolProps.location.id;
  if (!find_device(device)) return cuda_fail(cudaErrorInvalidDevice);
  params->dptr = allocate_device(device, params->bytesize, AllocKind::Async, capture_frames());
  if (!params->dptr) return cuda_fail(cudaErrorMemoryAllocation);
  return add_node(
      node, graph, before, count,
      memory_work(cudaGraphNodeTypeMemAlloc, "an allocation node", allocation_start(params->dptr)));
}

cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                    const cudaGraphNode_t* before, size_t count, void* pointer) {
  const Allocation* found = in_arena(pointer) ? find_allocation(pointer) : nullptr;
  if (!found || found->start != reinterpret_cast<uintptr_t>(pointer) ||
      found->kind != AllocKind::Async) {
    return cuda_fail(cudaErrorInvalidValue);
  }
  return add_node(node, graph, before, count,
                  memory_work(cudaGraphNodeTypeMemFree, "a free node", free_start(pointer)));
}

cudaError_t cudaDeviceGetGraphMemAttribute(int device, cudaGraphMemAttributeType attribute,
                                           void* value) {
  if (!value || !find_device(device)) return cuda_fail(cudaErrorInvalidValue);
  const Footprint& footprint = g_footprints[device];
  const bool high =
      attribute == cudaGraphMemAttrUsedMemHigh || attribute == cudaGraphMemAttrReservedMemHigh;
  *static_cast<uint64_t*>(value) = high ? footprint.high : footprint.used;
  return cudaSuccess;
}

cudaError_t cudaDeviceSetGraphMemAttribute(int device, cudaGraphMemAttributeType attribute,
                                           void* value) {
  const bool high =
      attribute == cudaGraphMemAttrUsedMemHigh || attribute == cudaGraphMemAttrReservedMemHigh;
  if (!value || !find_device(device) || !high) return cuda_fail(cudaErrorInvalidValue);
  g_footprints[device].high = g_footprints[device].used;
  return cudaSuccess;
}

cudaError_t cudaDeviceGraphMemTrim(int device) {
  return find_device(device) ? cudaSuccess : cuda_fail(cudaErrorInvalidDevice);
}
