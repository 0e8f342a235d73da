// The last steps of splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
// generators", 2014): each bit of the result depends on all bits of the value.
#pragma once

#include <cstdint>

namespace warploom {

inline uint64_t mix_bits(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
  return value ^ (value >> 31);
}

}  // namespace warploom
