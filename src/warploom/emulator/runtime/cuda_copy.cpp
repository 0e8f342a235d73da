// Copies and memsets, as operations of a stream.
#include <cstring>
#include <vector>

#include "../include/cuda_runtime.h"
#include "cuda_error.h"
#include "host_copies.h"
#include "memory.h"
#include "report.h"
#include "stream.h"

using namespace warploom;

namespace {

// Rows of `width` bytes; a plain copy is one row.
struct Copy {
  char* dst;
  std::size_t dst_pitch;
  const char* src;
  std::size_t src_pitch;
  std::size_t width, height;
  const char* name;
};

bool on_device_side(const void* p) { return space_of(p) == Space::Device; }

bool managed(const void* p) {
  const Allocation* allocation = in_arena(p) ? find_allocation(p) : nullptr;
  return allocation && allocation->kind == AllocKind::Managed;
}

// The direction must fit the pointers; cudaMemcpyDefault takes it from them.
bool direction_fits(const void* dst, const void* src, cudaMemcpyKind kind) {
  const bool dst_device = on_device_side(dst) || managed(dst);
  const bool src_device = on_device_side(src) || managed(src);
  switch (kind) {
    case cudaMemcpyHostToHost:
      return !on_device_side(dst) && !on_device_side(src);
    case cudaMemcpyHostToDevice:
      return !on_device_side(src) && (dst_device || in_arena(dst));
    case cudaMemcpyDeviceToHost:
      return !on_device_side(dst) && (src_device || in_arena(src));
    case cudaMemcpyDeviceToDevice:
      return in_arena(dst) && in_arena(src);
    case cudaMemcpyDefault:
      return true;
    default:
      return false;
  }
}

bool in_bounds(const Copy& copy) {
  const Frames where = capture_frames();
  bool ok = true;
  for (std::size_t row = 0; row < copy.height && ok; row++) {
    const char* dst = copy.dst + row * copy.dst_pitch;
    const char* src = copy.src + row * copy.src_pitch;
    if (in_arena(dst)) ok = check_range(dst, copy.width, copy.name, where);
    if (ok && in_arena(src)) ok = check_range(src, copy.width, copy.name, where);
  }
  return ok;
}

void move(const Copy& copy, const StreamOp& op) {
  const Actor actor = actor_of(op);
  trace_of(op.rank, nullptr, op.where,
           [&] { return format("%s moves %zu bytes", op.name, copy.width * copy.height); });
  for (std::size_t row = 0; row < copy.height; row++) {
    char* dst = copy.dst + row * copy.dst_pitch;
    const char* src = copy.src + row * copy.src_pitch;
    access_read(actor, src, copy.width);
    access_write(actor, dst, copy.width);
    std::memmove(dst, src, copy.width);
    if (on_device_side(src) && !on_device_side(dst)) {
      report_readback(op.rank, dst, copy.width, src, op.where);
    }
  }
}

cudaError_t validate(const Copy& copy, cudaMemcpyKind kind) {
  if (!copy.dst || !copy.src) return cudaErrorInvalidValue;
  if (copy.width > copy.dst_pitch || copy.width > copy.src_pitch) {
    return cudaErrorInvalidPitchValue;
  }
  if (!direction_fits(copy.dst, copy.src, kind)) return cudaErrorInvalidValue;
  if (!in_bounds(copy)) return cudaErrorInvalidValue;
  return cudaSuccess;
}

cudaError_t copy_now(const Copy& copy, cudaMemcpyKind kind) {
  if (copy.width == 0 || copy.height == 0) return cudaSuccess;
  if (const cudaError_t error = validate(copy, kind)) return cuda_fail(error);
  Stream* stream = resolve_stream(nullptr);
  push_op(stream, OpKind::Copy, copy.name, [copy](StreamOp& op) {
    move(copy, op);
    complete(op);
  });
  // Between device buffers the host does not wait (API synchronization behavior, runtime manual).
  if (!on_device_side(copy.dst) || !on_device_side(copy.src)) synchronize(stream, copy.name);
  return cudaSuccess;
}

cudaError_t copy_later(const Copy& copy, cudaMemcpyKind kind, cudaStream_t handle) {
  if (copy.width == 0 || copy.height == 0) return cudaSuccess;
  if (const cudaError_t error = validate(copy, kind)) return cuda_fail(error);
  Stream* stream = resolve_stream(handle);
  // Pageable sources are staged before the call returns; pageable targets are watched instead.
  if (!in_arena(copy.src)) {
    auto staged = std::make_shared<std::vector<char>>(copy.width * copy.height);
    for (std::size_t row = 0; row < copy.height; row++) {
      std::memcpy(staged->data() + row * copy.width, copy.src + row * copy.src_pitch, copy.width);
    }
    Copy from_stage = copy;
    from_stage.src = staged->data();
    from_stage.src_pitch = copy.width;
    push_op(stream, OpKind::Copy, copy.name, [from_stage, staged](StreamOp& op) {
      move(from_stage, op);
      complete(op);
    });
    return cudaSuccess;
  }
  int watch = 0;
  if (!in_arena(copy.dst)) {
    const std::size_t span = copy.dst_pitch * (copy.height - 1) + copy.width;
    watch = watch_host_copy(copy.dst, span, capture_frames());
  }
  push_op(stream, OpKind::Copy, copy.name, [copy, watch](StreamOp& op) {
    if (watch) host_copy_started(watch, op.op);
    move(copy, op);
    complete(op);
  });
  return cudaSuccess;
}

Copy plain(void* dst, const void* src, std::size_t bytes, const char* name) {
  return {static_cast<char*>(dst), bytes, static_cast<const char*>(src), bytes, bytes, 1, name};
}

Copy rows(void* dst, std::size_t dpitch, const void* src, std::size_t spitch, std::size_t width,
          std::size_t height, const char* name) {
  return {
      static_cast<char*>(dst), dpitch, static_cast<const char*>(src), spitch, width, height, name};
}

cudaError_t set(void* pointer, std::size_t pitch, int value, std::size_t width, std::size_t height,
                cudaStream_t handle, const char* name) {
  if (width == 0 || height == 0) return cudaSuccess;
  if (!in_arena(pointer) || width > pitch) return cuda_fail(cudaErrorInvalidValue);
  char* start = static_cast<char*>(pointer);
  if (!check_range(start, pitch * (height - 1) + width, name, capture_frames())) {
    return cuda_fail(cudaErrorInvalidValue);
  }
  Stream* stream = resolve_stream(handle);
  push_op(stream, OpKind::Copy, name, [=](StreamOp& op) {
    for (std::size_t row = 0; row < height; row++) {
      access_write(actor_of(op), start + row * pitch, width);
      std::memset(start + row * pitch, value, width);
    }
    complete(op);
  });
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaMemcpy(void* dst, const void* src, size_t bytes, cudaMemcpyKind kind) {
  return copy_now(plain(dst, src, bytes, "cudaMemcpy"), kind);
}

cudaError_t cudaMemcpy2D(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                         size_t height, cudaMemcpyKind kind) {
  return copy_now(rows(dst, dpitch, src, spitch, width, height, "cudaMemcpy2D"), kind);
}

cudaError_t cudaMemcpyPeer(void* dst, int, const void* src, int, size_t bytes) {
  return copy_now(plain(dst, src, bytes, "cudaMemcpyPeer"), cudaMemcpyDeviceToDevice);
}

cudaError_t cudaMemcpyAsync(void* dst, const void* src, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return copy_later(plain(dst, src, bytes, "cudaMemcpyAsync"), kind, stream);
}

cudaError_t cudaMemcpy2DAsync(void* dst, size_t dpitch, const void* src, size_t spitch,
                              size_t width, size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream) {
  return copy_later(rows(dst, dpitch, src, spitch, width, height, "cudaMemcpy2DAsync"), kind,
                    stream);
}

cudaError_t cudaMemcpyPeerAsync(void* dst, int, const void* src, int, size_t bytes,
                                cudaStream_t stream) {
  return copy_later(plain(dst, src, bytes, "cudaMemcpyPeerAsync"), cudaMemcpyDeviceToDevice,
                    stream);
}

cudaError_t cudaMemset(void* pointer, int value, size_t bytes) {
  return set(pointer, bytes, value, bytes, 1, nullptr, "cudaMemset");
}
cudaError_t cudaMemset2D(void* pointer, size_t pitch, int value, size_t width, size_t height) {
  return set(pointer, pitch, value, width, height, nullptr, "cudaMemset2D");
}
cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t stream) {
  return set(pointer, bytes, value, bytes, 1, stream, "cudaMemsetAsync");
}
cudaError_t cudaMemset2DAsync(void* pointer, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
  return set(pointer, pitch, value, width, height, stream, "cudaMemset2DAsync");
}

namespace warploom {

// Symbols are globals of the program: each rank has its own copy.
cudaError_t copy_to_symbol(void* symbol, std::size_t size, const void* src, std::size_t bytes,
                           std::size_t offset) {
  if (!src || offset + bytes > size) return cuda_fail(cudaErrorInvalidValue);
  Stream* stream = resolve_stream(nullptr);
  push_op(stream, OpKind::Copy, "cudaMemcpyToSymbol", [=](StreamOp& op) {
    access_read(actor_of(op), src, bytes);
    std::memcpy(static_cast<char*>(symbol) + offset, src, bytes);
    complete(op);
  });
  synchronize(stream, "cudaMemcpyToSymbol");
  return cudaSuccess;
}

cudaError_t copy_from_symbol(void* dst, const void* symbol, std::size_t size, std::size_t bytes,
                             std::size_t offset) {
  if (!dst || offset + bytes > size) return cuda_fail(cudaErrorInvalidValue);
  Stream* stream = resolve_stream(nullptr);
  push_op(stream, OpKind::Copy, "cudaMemcpyFromSymbol", [=](StreamOp& op) {
    access_write(actor_of(op), dst, bytes);
    std::memcpy(dst, static_cast<const char*>(symbol) + offset, bytes);
    report_readback(op.rank, dst, bytes, symbol, op.where);
    complete(op);
  });
  synchronize(stream, "cudaMemcpyFromSymbol");
  return cudaSuccess;
}

}  // namespace warploom
