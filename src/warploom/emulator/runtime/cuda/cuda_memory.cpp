// Allocation and freeing.
#include <algorithm>
#include <set>

#include "../../include/cuda_runtime.h"
#include "cuda/cuda_error.h"
#include "cuda/graph.h"
#include "cuda/host_functions.h"
#include "cuda/ipc.h"
#include "cuda/stream.h"
#include "host/own_memory.h"
#include "memory/memory.h"
#include "report/report.h"

using namespace warploom;
namespace {

bool host_kind(AllocKind kind) { return kind == AllocKind::Pinned; }

cudaError_t give(void** pointer, void* memory) {
  if (!memory) return cuda_fail(cudaErrorMemoryAllocation);
  *pointer = memory;
  return cudaSuccess;
}

const char* allocator_of(AllocKind kind) {
  switch (kind) {
    case AllocKind::NcclMemAlloc:
      return "ncclMemAlloc";
    case AllocKind::Pinned:
      return "cudaMallocHost";
    case AllocKind::Heap:
      return "device code";
    default:
      return "cudaMalloc";
  }
}

// It frees nothing then, and returns an error that many do not look at.
cudaError_t refuse_other_kind(const Allocation& allocation, const char* call) {
  report_finding(
      {.kind = kinds::invalid_free,
       .message = format("%s of memory that %s allocated", call, allocator_of(allocation.kind)),
       .hint = "cudaFree belongs to cudaMalloc, cudaFreeHost to cudaMallocHost, and "
               "ncclMemFree to ncclMemAlloc; it frees nothing so",
       .other = allocation.allocated});
  return cuda_fail(cudaErrorInvalidValue);
}

cudaError_t refuse_foreign(const Allocation& allocation, const char* call) {
  report_finding(
      {.kind = kinds::invalid_free,
       .message = format("%s of memory of another process (rank %d)", call, allocation.process),
       .hint = "only its own process frees it; what cudaIpcOpenMemHandle gave is closed "
               "with cudaIpcCloseMemHandle",
       .other = allocation.allocated});
  return cuda_fail(cudaErrorInvalidValue);
}

// The allocation that starts at `pointer`, or an error after reporting why there is none.
cudaError_t find_to_free(void* pointer, const char* call, Allocation** found) {
  Allocation* allocation = find_allocation(pointer);
  if (!allocation) {
    report_finding(
        {.kind = kinds::invalid_free,
         .message = format("%s of %p, which no call of CUDA has allocated", call, pointer),
         .hint = "free what cudaMalloc or cudaMallocHost gave; the call fails so"});
    return cuda_fail(cudaErrorInvalidValue);
  }
  if (!allocation->is_of(*g_current)) return refuse_foreign(*allocation, call);
  const std::size_t inside = reinterpret_cast<uintptr_t>(pointer) - allocation->start;
  if (inside > 0) {
    if (allocation->live && inside < allocation->bytes) {
      report_finding({.kind = kinds::invalid_free,
                      .message = format("%s of a pointer %zu bytes into an allocation of %zu bytes",
                                        call, inside, allocation->bytes),
                      .hint = "free the pointer that the allocation gave; it frees nothing so",
                      .other = allocation->allocated});
    }
    return cuda_fail(cudaErrorInvalidValue);
  }
  if (!allocation->live) {
    report_finding({.kind = kinds::double_free,
                    .message = format("%s of an allocation of %zu bytes that was freed before",
                                      call, allocation->bytes),
                    .hint = "free each allocation once",
                    .other = allocation->freed});
    return cuda_fail(cudaErrorInvalidValue);
  }
  if (allocation->windows > 0) {
    report_finding({.kind = kinds::window_use_after_free,
                    .message = format("%s frees memory in which %d registered window(s) still lie",
                                      call, allocation->windows),
                    .hint = "call ncclCommWindowDeregister before the memory is freed",
                    .other = allocation->allocated});
  }
  *found = allocation;
  return cudaSuccess;
}

std::set<const void*> g_unreached;  // memory of cudaMallocAsync whose stream is not there yet

void report_free_ahead(const Allocation& allocation, const StreamOp& op) {
  report_finding({.kind = kinds::data_race,
                  .message = format("cudaFreeAsync of %zu bytes is not ordered after the "
                                    "cudaMallocAsync of another stream that gave them",
                                    allocation.bytes),
                  .hint = "order the two streams: an event, or one stream for both",
                  .where = op.where,
                  .other = allocation.allocated,
                  .rank = op.rank});
}

constexpr std::size_t kLooksAt = std::size_t{256} << 20;
// The stream has the memory from there on. A write of it says so: what is not ordered after it does
// not have the memory yet.
void push_allocation(Stream* stream, void* memory, std::size_t bytes) {
  g_unreached.insert(memory);
  const auto start = [memory, bytes](StreamOp& op) {
    g_unreached.erase(memory);
    const Allocation* found = find_allocation(memory);
    if (found && found->live && found->start == reinterpret_cast<uintptr_t>(memory)) {
      access_write(actor_of(op), memory, std::min(bytes, kLooksAt));
    }
    complete(op);
  };
  push_unpriced(stream, "cudaMallocAsync", start);
}

}  // namespace

namespace warploom {

cudaError_t allocate(void** pointer, std::size_t bytes) {
  if (refused_in_host_function("cudaMalloc")) return cuda_fail(cudaErrorNotPermitted);
  if (!pointer) return cuda_fail(cudaErrorInvalidValue);
  if (bytes == 0) {
    *pointer = nullptr;
    return cudaSuccess;
  }
  if (unsafe_during_capture()) return cudaErrorStreamCaptureUnsupported;
  return give(pointer, allocate_device(current_host().device, bytes, AllocKind::CudaMalloc,
                                       capture_frames()));
}

cudaError_t allocate_pitch(void** pointer, std::size_t* pitch, std::size_t width,
                           std::size_t height) {
  *pitch = (width + 511) / 512 * 512;
  return allocate(pointer, *pitch * height);
}

cudaError_t allocate_host(void** pointer, std::size_t bytes) {
  if (refused_in_host_function("cudaMallocHost")) return cuda_fail(cudaErrorNotPermitted);
  if (!pointer) return cuda_fail(cudaErrorInvalidValue);
  if (unsafe_during_capture()) return cudaErrorStreamCaptureUnsupported;
  return give(pointer, allocate_pinned(bytes ? bytes : 1, AllocKind::Pinned, capture_frames()));
}

cudaError_t allocate_managed(void** pointer, std::size_t bytes) {
  if (refused_in_host_function("cudaMallocManaged")) return cuda_fail(cudaErrorNotPermitted);
  if (!pointer || bytes == 0) return cuda_fail(cudaErrorInvalidValue);
  if (unsafe_during_capture()) return cudaErrorStreamCaptureUnsupported;
  void* memory = allocate_pinned(bytes, AllocKind::Managed, capture_frames());
  if (memory) forget_hints(memory, bytes);
  return give(pointer, memory);
}

cudaError_t allocate_async(void** pointer, std::size_t bytes, cudaStream_t stream) {
  if (refused_in_host_function("cudaMallocAsync")) return cuda_fail(cudaErrorNotPermitted);
  if (!pointer) return cuda_fail(cudaErrorInvalidValue);
  Stream* target = resolve_stream(stream);
  if (!target->capture && unsafe_during_capture()) return cudaErrorStreamCaptureUnsupported;
  void* memory = allocate_device(target->device, bytes, AllocKind::Async, capture_frames());
  if (memory && target->capture) {
    push_op(target, OpKind::Copy, "cudaMallocAsync", allocation_start(memory));
  } else if (memory) {
    push_allocation(target, memory, bytes);
  }
  return give(pointer, memory);
}

}  // namespace warploom

cudaError_t cudaFree(void* pointer) {
  if (!pointer) return cudaSuccess;
  if (unsafe_during_capture()) return cudaErrorStreamCaptureUnsupported;
  Allocation* allocation = nullptr;
  if (const cudaError_t error = find_to_free(pointer, "cudaFree", &allocation)) return error;
  if (host_kind(allocation->kind) || allocation->kind == AllocKind::NcclMemAlloc ||
      allocation->kind == AllocKind::Heap) {
    return refuse_other_kind(*allocation, "cudaFree");
  }
  // cudaFree waits for the device, as all known drivers do.
  const int device = allocation->device < 0 ? current_host().device : allocation->device;
  synchronize_device(device, "cudaFree");
  check_exported(*allocation);
  release(allocation, capture_frames());
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* pointer) {
  if (!pointer) return cudaSuccess;
  if (unsafe_during_capture()) return cudaErrorStreamCaptureUnsupported;
  Allocation* allocation = nullptr;
  if (const cudaError_t error = find_to_free(pointer, "cudaFreeHost", &allocation)) return error;
  if (!host_kind(allocation->kind)) return refuse_other_kind(*allocation, "cudaFreeHost");
  // Whoever still uses it must not: the call need not wait for the device.
  access_write(current_actor(program_place()), pointer, allocation->bytes);
  release(allocation, capture_frames());
  return cudaSuccess;
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  if (!pointer) return cudaSuccess;
  Allocation* allocation = in_arena(pointer) ? find_allocation(pointer) : nullptr;
  // The launch that allocates it may be queued before us: whether it is there, the stream will
  // know.
  const bool of_graph = allocation && allocation->of_graph &&
                        allocation->start == reinterpret_cast<uintptr_t>(pointer);
  if (!of_graph) {
    const cudaError_t error = find_to_free(pointer, "cudaFreeAsync", &allocation);
    if (error) return error;
  }
  Stream* target = resolve_stream(stream);
  if (!target->capture && unsafe_during_capture()) return cudaErrorStreamCaptureUnsupported;
  if (target->capture || of_graph) {
    push_op(target, OpKind::Copy, "cudaFreeAsync", free_start(pointer));
    return cudaSuccess;
  }
  push_op(target, OpKind::Copy, "cudaFreeAsync", [allocation](StreamOp& op) {
    if (g_unreached.erase(reinterpret_cast<void*>(allocation->start))) {
      report_free_ahead(*allocation, op);
    }
    access_write(actor_of(op), reinterpret_cast<void*>(allocation->start), allocation->bytes);
    release(allocation, op.where);
    complete(op);
  });
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  *free = free_bytes(current_host().device);
  *total = total_bytes();
  return cudaSuccess;
}

cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned) {
  if (unsafe_during_capture()) return cudaErrorStreamCaptureUnsupported;
  if (!pointer || in_arena(pointer)) return cuda_fail(cudaErrorInvalidValue);
  if (!check_host_memory(pointer, bytes, true, "cudaHostRegister")) {
    return cuda_fail(cudaErrorInvalidValue);
  }
  register_host(pointer, bytes);
  return cudaSuccess;
}

cudaError_t cudaHostUnregister(void* pointer) {
  if (unsafe_during_capture()) return cudaErrorStreamCaptureUnsupported;
  if (!unregister_host(pointer)) return cuda_fail(cudaErrorHostMemoryNotRegistered);
  return cudaSuccess;
}

cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  *device = host;
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  *attributes = {cudaMemoryTypeUnregistered, -2, nullptr, const_cast<void*>(pointer), {}};
  const Allocation* allocation = in_arena(pointer) ? find_allocation(pointer) : nullptr;
  if (!allocation || !allocation->live) return cudaSuccess;
  void* p = const_cast<void*>(pointer);
  switch (allocation->kind) {
    case AllocKind::Pinned:
      *attributes = {cudaMemoryTypeHost, number_of_device(current_host().device), p, p, {}};
      break;
    case AllocKind::Managed:
      *attributes = {cudaMemoryTypeManaged, number_of_device(current_host().device), p, p, {}};
      break;
    default:
      *attributes = {cudaMemoryTypeDevice, number_of_device(allocation->device), p, nullptr, {}};
  }
  return cudaSuccess;
}
