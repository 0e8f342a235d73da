// Which functions check an access, by name.
#pragma once

#include <cstdint>
#include <string_view>

namespace guard {

enum class HookKind : uint8_t {
  None,    // any other function
  Check,   // checks the bytes at %rdi
  Atomic,  // atomic_access of our headers: what it checks is in its arguments
  Load,    // atomic_load_access
  Quiet,   // checks nothing, and changes nothing of the program's
  Ours,    // called by the guard; preserves all registers
};

struct Hook {
  HookKind kind = HookKind::None;
  bool reads = false, writes = false;
  unsigned width = 0;  // 0: in %rsi
};

Hook hook_of(std::string_view name);

// Where blocks and threads stand: what a program reads of it needs no hook.
inline constexpr std::string_view kHere = "_ZN8warploom6g_hereE";

// Whether `name` is that of an instance of invoke_closure in device.h, which reads its argument
// without hooks.
inline bool is_invoker(std::string_view name) {
  return name.starts_with("_ZN8warploom14invoke_closureI");
}

// Whether only the runtime may define `name`.
bool is_reserved(std::string_view name);

}  // namespace guard
