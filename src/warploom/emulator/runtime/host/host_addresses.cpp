#include "host/host_addresses.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "../../include/warploom/device.h"
#include "host/call_targets.h"
#include "host/program_range.h"
#include "machine/world.h"
#include "memory/memory.h"
#include "memory/variables.h"
#include "report/report.h"

namespace warploom {

bool g_host_functions = false;

namespace {

constexpr const char* kKind = kinds::device_dereference_host;
constexpr int kMostVirtual = 256;  // functions of a class that are looked at

std::unordered_set<uintptr_t> g_taken, g_given;  // addresses of functions and tables
std::unordered_set<uintptr_t> g_asked;           // where variables begin

// Calls `function` with each aligned word of [p, p + bytes) that points into the program's image.
template <class Function>
void for_each_address(const void* p, std::size_t bytes, Function&& function) {
  const auto start = reinterpret_cast<uintptr_t>(p);
  uintptr_t first = UINTPTR_MAX, last = 0;
  for (const auto& process : g_processes) {
    first = std::min(first, process->base);
    last = std::max(last, process->end);
  }
  for (uintptr_t at = (start + 7) & ~uintptr_t{7}; at + 8 <= start + bytes; at += 8) {
    uintptr_t word;
    std::memcpy(&word, reinterpret_cast<const void*>(at), sizeof word);
    if (word < first || word >= last) continue;
    if (std::ranges::any_of(g_processes, [&](const auto& one) { return one->holds(word, 1); })) {
      function(word);
    }
  }
}

bool is_taken(uintptr_t word) { return g_taken.contains(word) && !g_given.contains(word); }

void report_variable(const Variable& variable) {
  report_finding(
      {.kind = kKind,
       .message =
           format("the device is given the host's address of its variable '%s'", variable.name),
       .hint =
           "ask for the address with cudaGetSymbolAddress, or let device code name the variable: "
           "on the host the name stands for a variable of the host's"});
}

// Does the table that the object begins with hold the function?
bool is_virtual(uintptr_t object, uintptr_t target) {
  const auto* p = reinterpret_cast<const void*>(object);
  if (object % 8 || (!in_arena(p) && !find_variable(p) && !is_closure(p))) return false;
  const uintptr_t table = *static_cast<const uintptr_t*>(p);
  if (!is_taken(table)) return false;
  const auto* entries = reinterpret_cast<const uintptr_t*>(table);
  for (int i = 0; i < kMostVirtual && is_constant_memory(entries + i, 8); i++) {
    if (entries[i] == target) return true;
    if (!is_call_target(reinterpret_cast<const void*>(entries[i]))) return false;
  }
  return false;
}

}  // namespace

void note_asked(const void* variable) { g_asked.insert(reinterpret_cast<uintptr_t>(variable)); }

void note_given_by_device(const void* p, std::size_t bytes) {
  for_each_address(p, bytes, [](uintptr_t word) {
    const Variable* variable = find_variable(reinterpret_cast<const void*>(word));
    if (variable) {
      g_asked.insert(variable->start);
    } else {
      if (!g_taken.contains(word)) g_given.insert(word);
    }
  });
}

void note_taken_by_host(const void* p, std::size_t bytes) {
  for_each_address(p, bytes, [](uintptr_t word) {
    if (const Variable* variable = find_variable(reinterpret_cast<const void*>(word))) {
      if (!variable->managed && !g_asked.contains(variable->start)) report_variable(*variable);
    } else if (is_constant_memory(reinterpret_cast<const void*>(word), 1)) {
      g_taken.insert(word);
      g_host_functions = true;
    }
  });
}

void check_device_call(uintptr_t target, uintptr_t object) {
  if (is_taken(target)) {
    report_finding({.kind = kKind,
                    .message = "device code calls a function by an address that host code took",
                    .hint =
                        "let device code take the address, for example in a __device__ variable "
                        "that the host reads with cudaMemcpyFromSymbol"});
  } else if (is_virtual(object, target)) {
    report_finding({.kind = kKind,
                    .message =
                        "device code calls a virtual function of an object that the host made: "
                        "its table of functions is the host's",
                    .hint = "make the object in device code, with new or placement new"});
  }
}

}  // namespace warploom

void warploom::refers_to_host() {
  report_finding({.kind = kKind,
                  .message = "a parameter of this kernel is a reference, which refers to an object "
                             "of the host",
                  .hint = "pass it by value, or a pointer to memory of the device"});
}

void warploom::note_argument(const void* argument, std::size_t bytes) {
  program_reads(argument, bytes);
  note_taken_by_host(argument, bytes);
}
