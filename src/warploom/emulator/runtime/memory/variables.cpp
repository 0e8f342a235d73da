#include "memory/variables.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "host/own_memory.h"
#include "machine/world.h"
#include "memory/memory.h"
#include "order/host_copies.h"
#include "report/report.h"

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

// The values of devices that are not in place, and those before any kernel ran; by variable.
using Image = std::map<uintptr_t, std::vector<char>>;
std::map<int, Image> g_images;
Image g_initial;

void keep_values(Image& image, const Variable& variable) {
  const auto* start = reinterpret_cast<const char*>(variable.start);
  if (!variable.managed) image[variable.start].assign(start, start + variable.bytes);
}

// In the running process's image, and no part of another one: whoever calls, nothing else becomes
// memory of the device by being named.
bool may_be_variable(uintptr_t start, std::size_t bytes) {
  if (!current_process().holds(start, bytes)) {
    check_host_memory(reinterpret_cast<const void*>(start), bytes, false, "register_variable");
    return false;
  }
  if (g_variables.contains(start)) return true;
  const auto next = g_variables.upper_bound(start);
  if (next != g_variables.end() && next->first - start < bytes) return false;
  return !find_variable_slow(reinterpret_cast<const void*>(start));
}

// Bytes of `__constant__` variables, by rank and file.
std::map<std::pair<int, unsigned>, std::size_t> g_constants_of_files;

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
  const uintptr_t start = variable->start, end = start + variable->bytes;
  known_variable(address) = {start, end, address - shadow, variable->cached ? start : end};
}

void activate_device_slow(int device) {
  if (!g_config.single_process) return;
  forget_known_variables();
  Image& before = g_images[g_active_device];
  const Image& own = g_images[device];
  for (const auto& [start, variable] : g_variables) {
    if (variable.managed) continue;
    keep_values(before, variable);
    const auto known = own.find(start);
    const std::vector<char>& values = known != own.end() ? known->second : g_initial[start];
    std::memcpy(reinterpret_cast<char*>(start), values.data(), values.size());
  }
  g_active_device = device;
}

void register_variable(const void* address, std::size_t bytes, const char* name, bool managed,
                       bool constant) {
  const auto start = reinterpret_cast<uintptr_t>(address);
  if (bytes == 0 || !may_be_variable(start, bytes)) return;
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
  if (g_config.single_process && g_config.ranks > 1) keep_values(g_initial, variable);
  if (!g_variables_start || start < g_variables_start) g_variables_start = start;
  g_variables_end = std::max(g_variables_end, start + bytes);
  update_host_watched();
}

void count_constant(unsigned unit, std::size_t bytes) {
  g_constants_of_files[{current_process().rank, unit}] += bytes;
}

void check_constants(int rank) {
  for (const auto& [place, bytes] : g_constants_of_files) {
    if (place.first != rank || bytes <= kConstantBytes) continue;
    report_finding({.kind = kinds::launch_error,
                    .message = format("the __constant__ variables of a file take %zu bytes; nvcc "
                                      "takes at most %zu",
                                      bytes, kConstantBytes),
                    .hint = "keep large tables in memory that cudaMalloc gives"});
    stop_run();
  }
}

}  // namespace warploom
