// Copies, as operations of a stream.
#include <cstring>
#include <vector>

#include "../../include/cuda_runtime.h"
#include "base/stats.h"
#include "behavior/carried.h"
#include "behavior/inputs.h"
#include "behavior/iterations.h"
#include "behavior/looks.h"
#include "behavior/results.h"
#include "behavior/spoil.h"
#include "cuda/cuda_copy.h"
#include "cuda/cuda_error.h"
#include "cuda/graph.h"
#include "cuda/ipc.h"
#include "cuda/stream.h"
#include "host/host_addresses.h"
#include "host/own_memory.h"
#include "host/process_heap.h"
#include "memory/fresh.h"
#include "memory/fresh_pages.h"
#include "memory/memory.h"
#include "memory/sides.h"
#include "order/frame_links.h"
#include "order/host_copies.h"
#include "report/report.h"
#include "timing/stream_time.h"
#include "timing/timing.h"

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
  std::size_t depth = 1, dst_slice = 0,
              src_slice = 0;       // slices of rows, and bytes from one to next
  bool input = inputs_are_open();  // when it was called: what is queued may run much later
  bool early = no_results_yet();   // as well
  std::size_t rows() const { return height * depth; }
  char* dst_row(std::size_t row) const {
    return dst + row / height * dst_slice + row % height * dst_pitch;
  }
  const char* src_row(std::size_t row) const {
    return src + row / height * src_slice + row % height * src_pitch;
  }
};

// Memory that device code allocates is not for calls of the host ("Interoperability with Host
// Memory API" in the CUDA C++ Programming Guide).
bool of_device_heap(const void* p) {
  const Allocation* allocation = in_arena(p) ? find_allocation(p) : nullptr;
  return allocation && allocation->kind == AllocKind::Heap;
}

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
      return !on_device_side(src) && (dst_device || emulated(dst));
    case cudaMemcpyDeviceToHost:
      return !on_device_side(dst) && (src_device || emulated(src));
    case cudaMemcpyDeviceToDevice:
      return emulated(dst) && emulated(src);
    case cudaMemcpyDefault:
      return true;
    default:
      return false;
  }
}

// All rows of the host's side lie in one block of its heap.
void check_blocks(const Copy& copy) {
  if (copy.rows() == 0 || copy.width == 0) return;
  const std::size_t last = copy.rows() - 1;
  const auto check = [&](const char* first, const char* end) {
    if (!emulated(first)) {
      check_block(first, static_cast<std::size_t>(end - first) + copy.width, copy.name, false);
    }
  };
  check(copy.dst_row(0), copy.dst_row(last));
  check(copy.src_row(0), copy.src_row(last));
}

bool in_bounds(const Copy& copy) {
  const Frames where = capture_frames();
  bool ok = true;
  for (std::size_t row = 0; row < copy.rows() && ok; row++) {
    const char* dst = copy.dst_row(row);
    const char* src = copy.src_row(row);
    ok = emulated(dst) ? check_range(dst, copy.width, copy.name, where)
                       : check_host_memory(dst, copy.width, true, copy.name);
    if (!ok) break;
    ok = emulated(src) ? check_range(src, copy.width, copy.name, where)
                       : check_host_memory(src, copy.width, false, copy.name);
  }
  if (ok) check_blocks(copy);
  return ok;
}

// The copy starts: what it was given may have been freed since.
void check_there(const void* p, const StreamOp& op) {
  const Allocation* allocation = in_arena(p) ? find_allocation(p) : nullptr;
  Frames closed;
  if (allocation && opened_by(*allocation, op.rank, -1, &closed) == Opened::Before) {
    report_closed(*allocation, format("%s starts with", op.name).c_str(), op.where, closed,
                  op.rank);
  }
  if (allocation ? allocation->live : !in_heaps(p) || heap_holds(p)) return;
  report_finding(
      {.kind = kinds::use_after_free,
       .message = format("%s starts when memory that it was given has been freed", op.name),
       .hint = "free memory only after the last operation on it has been synchronized",
       .where = op.where,
       .other = allocation ? allocation->freed : Frames{},
       .rank = op.rank,
       .host = true});
}

void move(const Copy& copy, StreamOp& op) {
  const Actor actor = actor_of(op);
  check_there(copy.dst, op);
  check_there(copy.src, op);
  if (g_timed) price_copy(op, copy.dst, copy.src, copy.width * copy.rows());
  if (on_device_side(copy.dst) || on_device_side(copy.src)) activate_device(op.stream->device);
  trace_of(op.rank, nullptr, op.where,
           [&] { return format("%s moves %zu bytes", op.name, copy.width * copy.rows()); });
  for (std::size_t row = 0; row < copy.rows(); row++) {
    char* dst = copy.dst_row(row);
    const char* src = copy.src_row(row);
    if (!emulated(dst)) check_any_stack_store(dst, copy.width);
    const bool to_host = on_device_side(src) && !on_device_side(dst);
    const Uncarried taken(to_host);
    access_read(actor, src, copy.width);
    access_write(actor, dst, copy.width);
    if (!emulated(dst)) g_host_looked = true;
    if (to_host) note_fresh_source(src, copy.width, op.name, op.rank, op.where);
    if (dst + copy.width <= src || src + copy.width <= dst) will_overwrite(dst, copy.width);
    std::memmove(dst, src, copy.width);
    if (to_host) note_given_by_device(dst, copy.width);
    if (!on_device_side(src) && (on_device_side(dst) || managed(dst))) {
      note_taken_by_host(dst, copy.width);
    }
    if (on_device_side(src) && host_can_load(dst)) note_results(copy.width, op.rank);
    if (!to_host && host_can_load(dst)) copy_results(dst, src, copy.width);
    if (space_of(src) == Space::Device && space_of(dst) == Space::Device) {
      if (device_of(src) != device_of(dst)) {
        if (g_poisoning) note_communication();
        g_stats.copied_bytes += copy.width;
        spoil(dst, copy.width, device_of(src));
      }
    } else {
      g_stats.staged_bytes += copy.width;
      const bool upload =
          (on_device_side(dst) || (managed(dst) && !managed(src))) && !on_device_side(src);
      if ((g_spoiling || g_varying) && upload) {
        note_upload(dst, copy.width, device_filled(dst, op), copy.input, copy.early);
      }
    }
    if (!to_host) continue;
    const std::size_t number = report_readback(op, dst, copy.width, src);
    if (g_looks_kept) {
      if (!emulated(dst) || host_can_load(dst)) begin_look(number, dst, copy.width);
      note_device_stores(dst, copy.width);  // so that the host's reads of pinned memory are told
    }
  }
}

// "The memory areas may not overlap" (cudaMemcpy in the reference of the runtime).
void check_areas(const Copy& copy) {
  const std::size_t rows = copy.rows();
  const char* const last = copy.dst_row(rows - 1) + copy.width;
  if (copy.src >= last || copy.dst >= copy.src_row(rows - 1) + copy.width) return;
  std::vector<const char*> written, read;
  for (std::size_t row = 0; row < rows; row++) {
    written.push_back(copy.dst_row(row));
    read.push_back(copy.src_row(row));
  }
  if (written == read) return;  // nothing moves
  std::ranges::sort(written);
  for (const char* row : read) {
    const auto next = std::ranges::lower_bound(written, row);
    const bool ahead = next != written.end() && *next < row + copy.width;
    const bool behind = next != written.begin() && *std::prev(next) + copy.width > row;
    if (!ahead && !behind) continue;
    report_finding({.kind = kinds::overlapping_buffers,
                    .message = format("%s: the memory that it reads and the memory that it writes "
                                      "overlap",
                                      copy.name),
                    .hint = "copy by way of another buffer, or in a kernel that keeps the order"});
    return;
  }
}

cudaError_t validate(const Copy& copy, cudaMemcpyKind kind) {
  if (!copy.dst || !copy.src) return cudaErrorInvalidValue;
  if (of_device_heap(copy.dst) || of_device_heap(copy.src)) return cudaErrorInvalidValue;
  if (copy.width > copy.dst_pitch || copy.width > copy.src_pitch) {
    return cudaErrorInvalidPitchValue;
  }
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) {
    return cudaErrorInvalidMemcpyDirection;
  }
  if (!direction_fits(copy.dst, copy.src, kind)) return cudaErrorInvalidValue;
  if (!in_bounds(copy)) return cudaErrorInvalidValue;
  check_areas(copy);
  return cudaSuccess;
}

// Managed memory may be there as well.
bool within_device(const Copy& copy) {
  const auto there = [](const void* p) { return on_device_side(p) || managed(p); };
  if (!there(copy.dst) || !there(copy.src)) return false;
  const auto on_one = [](const void* p) { return space_of(p) == Space::Device; };
  return !on_one(copy.dst) || !on_one(copy.src) || device_of(copy.dst) == device_of(copy.src);
}

StartFunction start_of(const Copy& copy) {
  return [copy](StreamOp& op) {
    move(copy, op);
    complete(op);
  };
}

// A node of a graph: it reads and writes ordinary memory of the host when it runs.
PrepareFunction node_copying(const Copy& copy, const Frames& where) {
  return [copy, where](const std::shared_ptr<StreamOp>& queued) -> StartFunction {
    queued->within_device = within_device(copy);
    std::vector<int> watches;
    for (const bool written : {false, true}) {
      if (emulated(written ? copy.dst : copy.src)) continue;
      std::vector<HostPart> parts;
      for (std::size_t row = 0; row < copy.rows(); row++) {
        parts.push_back({written ? copy.dst_row(row) : copy.src_row(row), copy.width});
      }
      watches.push_back(watch_host_copy(std::move(parts), written, where));
    }
    return [copy, watches](StreamOp& op) {
      for (const int watch : watches) host_copy_started(watch, op.op);
      Copy again = copy;
      again.input = again.early = no_inputs_ended();
      move(again, op);
      complete(op);
    };
  };
}

// Ordinary host memory: what MPI still uses is not the copy's. One that is queued touches it when
// it is called (what it reads) or at any time until it is synchronized (what it writes).
void check_host_sides(const Copy& copy) {
  if (!host_copies_pending()) return;
  for (std::size_t row = 0; row < copy.rows(); row++) {
    if (!emulated(copy.dst)) check_mpi_buffers(copy.dst_row(row), copy.width, true, copy.name);
    if (!emulated(copy.src)) check_mpi_buffers(copy.src_row(row), copy.width, false, copy.name);
  }
}

// Who reads from a device computes with what lies there: that is no set-up any more.
void begin_host_work(const Copy& copy) {
  if (on_device_side(copy.src) && !on_device_side(copy.dst)) price_host_work(true);
}

// The default streams of the devices that a copy goes from and to, but for the one that it is
// queued on: it comes after all that they were given before, and before all that they are given
// later, for two devices without the host waiting ("cudaMemcpyPeer" in the reference of the
// runtime). What the reference does not say: a copy from or to the host runs on the device whose
// memory it is, current or not (tried on two H200 with CUDA 13.0; a memset does not).
std::vector<Stream*> streams_beside(const Copy& copy, const Stream* queue) {
  std::vector<Stream*> streams;
  for (const void* p : {static_cast<const void*>(copy.dst), static_cast<const void*>(copy.src)}) {
    if (space_of(p) != Space::Device) continue;
    const Allocation* allocation = find_allocation(p);
    // What another process gives its device is not ordered by a call of this one.
    if (!allocation || !allocation->is_of(*g_current)) continue;
    Stream* stream = g_devices[static_cast<std::size_t>(device_of(p))]->legacy;
    if (stream != queue) streams.push_back(stream);
  }
  return streams;
}

std::vector<Touched> touched_by(const Copy& copy) {
  const std::size_t last = copy.rows() - 1;
  return {{copy.dst, static_cast<std::size_t>(copy.dst_row(last) - copy.dst) + copy.width},
          {copy.src, static_cast<std::size_t>(copy.src_row(last) - copy.src) + copy.width}};
}

cudaError_t copy_now(const Copy& copy, cudaMemcpyKind kind) {
  if (copy.width == 0 || copy.rows() == 0) return cudaSuccess;
  const TouchesOnly touches(touched_by(copy));
  if (const cudaError_t error = validate(copy, kind)) return cuda_fail(error);
  Stream* stream = resolve_stream(nullptr);
  if (implicit_in_capture(stream)) return cudaErrorStreamCaptureImplicit;
  check_host_sides(copy);
  const std::vector<Stream*> streams = streams_beside(copy, stream);
  for (Stream* other : streams) {
    if (implicit_in_capture(other)) return cudaErrorStreamCaptureImplicit;
  }
  begin_host_work(copy);
  for (Stream* other : streams) order_streams(stream, other, copy.name);
  push_op(stream, OpKind::Copy, copy.name, start_of(copy))->within_device = within_device(copy);
  for (Stream* other : streams) order_streams(other, stream, copy.name);
  // Between device buffers the host does not wait (API synchronization behavior, runtime manual).
  if (!on_device_side(copy.dst) || !on_device_side(copy.src)) synchronize(stream, copy.name);
  return cudaSuccess;
}

cudaError_t copy_later(const Copy& copy, cudaMemcpyKind kind, cudaStream_t handle) {
  if (copy.width == 0 || copy.rows() == 0) return cudaSuccess;
  const TouchesOnly touches(touched_by(copy));
  if (const cudaError_t error = validate(copy, kind)) return cuda_fail(error);
  Stream* stream = resolve_stream(handle);
  if (implicit_in_capture(stream)) return cudaErrorStreamCaptureImplicit;
  begin_host_work(copy);
  // Pageable sources are staged before the call returns; pageable targets are watched instead. A
  // node of a graph reads and writes them at each launch.
  if (stream->capture) {
    push_op(stream, OpKind::Copy, copy.name, start_of(copy), node_copying(copy, capture_frames()));
    return cudaSuccess;
  }
  check_host_sides(copy);
  // "For transfers from any host memory to any host memory, the function is fully synchronous with
  // respect to the host" (API synchronization behavior). Managed memory is either side's.
  const auto of_host = [](const void* p) { return !on_device_side(p) && !managed(p); };
  const bool between_hosts = of_host(copy.dst) && of_host(copy.src);
  if (!emulated(copy.src)) {
    auto staged = std::make_shared<std::vector<char>>(copy.width * copy.rows());
    for (std::size_t row = 0; row < copy.rows(); row++) {
      std::memcpy(staged->data() + row * copy.width, copy.src_row(row), copy.width);
    }
    Copy from_stage = copy;
    from_stage.src = staged->data();
    from_stage.src_pitch = copy.width;
    from_stage.src_slice = copy.width * copy.height;
    push_op(stream, OpKind::Copy, copy.name, [from_stage, staged](StreamOp& op) {
      move(from_stage, op);
      complete(op);
    });
    if (between_hosts) synchronize(stream, copy.name);
    return cudaSuccess;
  }
  int watch = 0;
  if (!emulated(copy.dst)) {
    const auto span =
        static_cast<std::size_t>(copy.dst_row(copy.rows() - 1) - copy.dst) + copy.width;
    watch = watch_host_copy(copy.dst, span, capture_frames());
  }
  const auto queued = push_op(stream, OpKind::Copy, copy.name, [copy, watch](StreamOp& op) {
    if (watch) host_copy_started(watch, op.op);
    move(copy, op);
    complete(op);
  });
  queued->within_device = within_device(copy);
  if (between_hosts) synchronize(stream, copy.name);
  return cudaSuccess;
}

// Widths count bytes, but elements where an array takes part.
Copy volume(const cudaMemcpy3DParms& p, const char* name) {
  struct Side {
    char* start;
    std::size_t pitch, rows;
  };
  std::size_t element = 1;
  const auto side = [&](cudaArray_t array, const cudaPitchedPtr& ptr, const cudaPos& at) -> Side {
    if (!array) {
      char* start = static_cast<char*>(ptr.ptr) + (at.z * ptr.ysize + at.y) * ptr.pitch + at.x;
      return {start, ptr.pitch, ptr.ysize};
    }
    Side found{};
    found.start = array_place(array, at, found.pitch, found.rows, element);
    return found;
  };
  const Side dst = side(p.dstArray, p.dstPtr, p.dstPos), src = side(p.srcArray, p.srcPtr, p.srcPos);
  return {dst.start,
          dst.pitch,
          src.start,
          src.pitch,
          p.extent.width * element,
          p.extent.height,
          name,
          p.extent.depth,
          dst.pitch * dst.rows,
          src.pitch * src.rows};
}

cudaError_t use_copy(const Copy& copy, cudaMemcpyKind kind, NodeWork& work) {
  if (const cudaError_t error = validate(copy, kind)) return error;
  work.type = cudaGraphNodeTypeMemcpy;
  work.name = copy.name;
  work.prepare = node_copying(copy, capture_frames());
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

}  // namespace

int warploom::device_filled(const void* p, const StreamOp& op) {
  return space_of(p) == Space::Device ? device_of(p) : op.stream->device;
}

cudaError_t warploom::copy_bytes(void* dst, const void* src, std::size_t bytes, const char* name,
                                 cudaStream_t stream, bool wait) {
  const Copy copy = plain(dst, src, bytes, name);
  return wait ? copy_now(copy, cudaMemcpyDefault) : copy_later(copy, cudaMemcpyDefault, stream);
}

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

cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* params) {
  if (!params) return cuda_fail(cudaErrorInvalidValue);
  return copy_now(volume(*params, "cudaMemcpy3D"), params->kind);
}
cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* params, cudaStream_t stream) {
  if (!params) return cuda_fail(cudaErrorInvalidValue);
  return copy_later(volume(*params, "cudaMemcpy3DAsync"), params->kind, stream);
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

namespace warploom {

cudaError_t copy_work(const cudaMemcpy3DParms& params, NodeWork& work) {
  return use_copy(volume(params, "a copy node"), params.kind, work);
}
cudaError_t copy_work(void* dst, const void* src, std::size_t bytes, cudaMemcpyKind kind,
                      NodeWork& work) {
  return use_copy(plain(dst, src, bytes, "a copy node"), kind, work);
}

}  // namespace warploom
