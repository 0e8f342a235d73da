// On which side memory lies: the devices', the host's, or both.
#pragma once

#include "memory/memory.h"
#include "memory/variables.h"

namespace warploom {

inline bool on_device_side(const void* p) {
  return space_of(p) == Space::Device || (!in_arena(p) && find_variable(p));
}

// Memory of devices, pinned memory, or a variable of the device.
inline bool emulated(const void* p) { return in_arena(p) || find_variable(p); }

// Ordinary, pinned and managed memory, and managed variables.
inline bool host_can_load(const void* p) {
  if (!on_device_side(p)) return true;
  const Variable* variable = find_variable(p);
  return variable && variable->managed;
}

}  // namespace warploom
