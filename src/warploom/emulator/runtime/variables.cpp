#include "variables.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "../include/cuda_runtime.h"
#include "carried.h"
#include "cuda_error.h"
#include "fresh.h"
#include "graph.h"
#include "host_copies.h"
#include "inputs.h"
#include "memory.h"
#include "own_memory.h"
#include "report.h"
#include "spoil.h"
#include "stream.h"
#include "timing.h"

namespace warploom {

uintptr_t g_variables_start = 0, g_variables_end = 0;
int g_active_device = 0;
KnownVariable g_known_variables[kKnownVariables];

namespace {

// History of one device's variables; the last part of the pinned space, which is never handed out.
constexpr std::size_t kSlot = kPinnedBytes / 2 / kMaxDevices;
uintptr_t shadow_start(int device) {
  return g_places.pinned + kPinnedBytes - kSlot * static_cast<std::size_t>(kMaxDevices - device);
}

std::map<uintptr_t, Variable> g_variables;
std::map<int, std::size_t> g_used;                // bytes of history, by rank
std::map<int, std::size_t> g_constant_bytes;      // bytes of constant memory, by rank
constexpr std::size_t kConstantBytes = 64 << 10;  // of a device (CUDA guide)

// The values of devices that are not in place.
using Image = std::vector<char>;
std::map<int, Image> g_images;
Image g_initial;

template <class Function>
void for_each_byte_range(Image& image, Function&& function) {
  std::size_t at = 0;
  for (auto& [start, variable] : g_variables) {
    if (variable.managed) continue;
    function(reinterpret_cast<char*>(start), image.data() + at, variable.bytes);
    at += variable.bytes;
  }
}

Image snapshot() {
  std::size_t bytes = 0;
  for (const auto& [start, variable] : g_variables) bytes += variable.managed ? 0 : variable.bytes;
  Image image(bytes);
  for_each_byte_range(image, [](char* p, char* kept, std::size_t n) { std::memcpy(kept, p, n); });
  return image;
}

void forget_known_variables() { std::ranges::fill(g_known_variables, KnownVariable{}); }

}  // namespace

const Variable* find_variable_slow(const void* p) {
  const auto address = reinterpret_cast<uintptr_t>(p);
  auto it = g_variables.upper_bound(address);
  if (it == g_variables.begin()) return nullptr;
  const Variable& found = std::prev(it)->second;
  return address < found.start + found.bytes ? &found : nullptr;
}

std::vector<Variable> all_variables() {
  std::vector<Variable> found;
  for (const auto& [start, variable] : g_variables) found.push_back(variable);
  return found;
}

uintptr_t shadow_of(const void* p) {
  const Variable* variable = find_variable(p);
  if (!variable || !variable->shadowed) return 0;
  const int slot = g_config.single_process && !variable->managed ? g_active_device : variable->rank;
  return shadow_start(slot) + variable->offset + (reinterpret_cast<uintptr_t>(p) - variable->start);
}

void know_variable(uintptr_t address) {
  const auto* p = reinterpret_cast<const void*>(address);
  const Variable* variable = find_variable(p);
  const uintptr_t shadow = variable ? shadow_of(p) : 0;
  if (!shadow) return;
  const uintptr_t end = variable->start + variable->bytes;
  known_variable(address) = {variable->start, end, address - shadow};
}

void activate_device_slow(int device) {
  if (!g_config.single_process) return;
  forget_known_variables();
  if (g_initial.empty()) g_initial = snapshot();
  g_images[g_active_device] = snapshot();
  auto it = g_images.find(device);
  Image& image = it != g_images.end() ? it->second : g_initial;
  for_each_byte_range(image, [](char* p, char* kept, std::size_t n) { std::memcpy(p, kept, n); });
  g_active_device = device;
}

void register_variable(const void* address, std::size_t bytes, const char* name, bool managed,
                       bool constant) {
  const auto start = reinterpret_cast<uintptr_t>(address);
  if (bytes == 0) return;
  const int rank = current_process().rank;
  const auto fits = [&] { return (g_constant_bytes[rank] += bytes) <= kConstantBytes; };
  if (const auto known = g_variables.find(start); known != g_variables.end()) {
    known->second.managed |= managed;
    if (constant && !known->second.cached) known->second.cached = fits();
    return;
  }
  forget_known_variables();
  std::size_t& used = g_used[rank];
  // Granules of the history are not shared between variables.
  const std::size_t span = (bytes + 1023) / 1024 * 1024 + 1024;
  const bool cached = constant && fits();
  Variable variable{start, bytes, name, managed, cached, used + (start & 15), used + span <= kSlot,
                    rank};
  if (variable.shadowed) used += span;
  g_variables[start] = variable;
  if (!g_variables_start || start < g_variables_start) g_variables_start = start;
  g_variables_end = std::max(g_variables_end, start + bytes);
  update_host_watched();
}

// What calls take for a variable of the device is one, though no kernel names it.
static void note_symbol(const void* symbol, std::size_t bytes) {
  if (find_variable(symbol)) return;
  if (current_process().holds_variable(reinterpret_cast<uintptr_t>(symbol))) {
    register_variable(symbol, bytes, "a symbol", false, false);
  }
}

// Symbols are globals of the program: each rank has its own copy.
cudaError_t copy_to_symbol(void* symbol, std::size_t size, const void* src, std::size_t bytes,
                           std::size_t offset, cudaStream_t handle, bool wait) {
  if (!src || offset + bytes > size) return cuda_fail(cudaErrorInvalidValue);
  note_symbol(symbol, size);
  if (!in_arena(src) && !find_variable(src)) {
    check_host_memory(src, bytes, false, "cudaMemcpyToSymbol");
    if (host_copies_pending()) check_mpi_buffers(src, bytes, false, "cudaMemcpyToSymbol");
  }
  Stream* stream = resolve_stream(handle);
  if (wait && implicit_in_capture(stream)) return cudaErrorStreamCaptureImplicit;
  char* target = static_cast<char*>(symbol) + offset;
  std::vector<char> staged;
  const bool stage = !wait && !in_arena(src) && !find_variable(src) && !stream->capture;
  if (stage) staged.assign(static_cast<const char*>(src), static_cast<const char*>(src) + bytes);
  push_op(stream, OpKind::Copy, wait ? "cudaMemcpyToSymbol" : "cudaMemcpyToSymbolAsync",
          [=, staged = std::move(staged)](StreamOp& op) {
            activate_device(op.stream->device);
            access_read(actor_of(op), src, bytes);
            access_write(actor_of(op), target, bytes);
            std::memcpy(target, stage ? staged.data() : src, bytes);
            if ((g_spoiling || g_varying) && !in_arena(src) && !find_variable(src)) {
              note_upload(target, bytes, op.stream->device);
            }
            complete(op);
          });
  if (wait) synchronize(stream, "cudaMemcpyToSymbol");
  return cudaSuccess;
}

cudaError_t copy_from_symbol(void* dst, const void* symbol, std::size_t size, std::size_t bytes,
                             std::size_t offset, cudaStream_t handle, bool wait) {
  if (!dst || offset + bytes > size) return cuda_fail(cudaErrorInvalidValue);
  note_symbol(symbol, size);
  if (!in_arena(dst) && !find_variable(dst)) {
    check_host_memory(dst, bytes, true, "cudaMemcpyFromSymbol");
    if (host_copies_pending()) check_mpi_buffers(dst, bytes, true, "cudaMemcpyFromSymbol");
  }
  Stream* stream = resolve_stream(handle);
  if (wait && implicit_in_capture(stream)) return cudaErrorStreamCaptureImplicit;
  const char* source = static_cast<const char*>(symbol) + offset;
  if (space_of(dst) != Space::Device) price_host_work(true);
  push_op(stream, OpKind::Copy, wait ? "cudaMemcpyFromSymbol" : "cudaMemcpyFromSymbolAsync",
          [=](StreamOp& op) {
            activate_device(op.stream->device);
            const Uncarried taken(!in_arena(dst));
            access_read(actor_of(op), source, bytes);
            access_write(actor_of(op), dst, bytes);
            if (!in_arena(dst)) note_results(bytes, op.rank);
            if (!in_arena(dst)) g_host_looked = true;
            std::memcpy(dst, source, bytes);
            if (!in_arena(dst)) report_readback(op, dst, bytes, source);
            complete(op);
          });
  if (wait) synchronize(stream, "cudaMemcpyFromSymbol");
  return cudaSuccess;
}

cudaError_t symbol_address(void** address, const void* symbol, std::size_t size) {
  if (!address) return cuda_fail(cudaErrorInvalidValue);
  note_symbol(symbol, size);
  *address = const_cast<void*>(symbol);
  return cudaSuccess;
}

}  // namespace warploom
