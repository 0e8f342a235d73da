// `__device__`, `__constant__` and `__managed__` variables of the program.
//
// They lie in the program's own image; their access history lies at addresses that nothing else
// uses. One process that drives several devices holds the values of each device in turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace warploom {

struct Variable {
  uintptr_t start = 0;
  std::size_t bytes = 0;
  const char* name = "";
  bool managed = false;
  bool cached = false;     // constant memory that the cache for it can hold
  std::size_t offset = 0;  // of its history
  bool shadowed = false;
  int rank = 0;  // of the process that has it
};

extern uintptr_t g_variables_start, g_variables_end;
const Variable* find_variable_slow(const void* p);
// The variable that holds `p`, or nullptr.
inline const Variable* find_variable(const void* p) {
  const auto address = reinterpret_cast<uintptr_t>(p);
  if (address < g_variables_start || address >= g_variables_end) return nullptr;
  return find_variable_slow(p);
}
std::vector<Variable> all_variables();
// Where the history of `p` lies; 0 if it has none.
uintptr_t shadow_of(const void* p);

// Variables that device code has accessed, by address: [start, end), and how many bytes before it
// the history lies. What stores are looked at one by one (constants) is not known to them.
struct KnownVariable {
  uintptr_t start = 0, end = 0, distance = 0, end_for_stores = 0;
  template <bool write>
  [[gnu::always_inline]] bool holds(uintptr_t first, uintptr_t last) const {
    return first >= start && last <= (write ? end_for_stores : end);
  }
};
constexpr unsigned kKnownVariables = 256;
extern KnownVariable g_known_variables[kKnownVariables];
inline KnownVariable& known_variable(uintptr_t address) {
  return g_known_variables[address / 64 % kKnownVariables];
}
// Notes the variable that holds `address`, if it has a history.
void know_variable(uintptr_t address);
// Ends the run where a file of the process has more constants than nvcc takes.
void check_constants(int rank);
// Puts the values of `device` in place.
void activate_device_slow(int device);
extern int g_active_device;
inline void activate_device(int device) {
  if (g_variables_end && device != g_active_device) activate_device_slow(device);
}

}  // namespace warploom
