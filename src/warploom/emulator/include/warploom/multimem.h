// What `multimem.*` instructions become: one address that stands for the same place in the memory
// of every member of a team.
#pragma once

#include "device.h"

namespace warploom::multimem {

// The element of a vector; packed pairs of 16-bit floats are two of them.
enum class Element : std::uint8_t { U32, S32, U64, S64, F32, F64, F16, Bf16 };
enum class Change : std::uint8_t { Add, Min, Max, And, Or, Xor };

// How the instruction was written. Weak: a plain access of each member's memory.
struct Access {
  Element element = Element::U32;
  Change change = Change::Add;
  bool weak = true;
  Order order = Order::Relaxed;
  Scope scope = Scope::Device;
  bool wide = false;  // 16-bit floats are added up as 32-bit ones
};

// `bytes` are those of the whole vector.
void load_reduce(const Access& access, const void* address, unsigned bytes, void* out);
void store(const Access& access, void* address, unsigned bytes, const void* in);
void reduce(const Access& access, void* address, unsigned bytes, const void* in);

}  // namespace warploom::multimem
