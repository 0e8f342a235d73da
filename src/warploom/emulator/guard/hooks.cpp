#include "hooks.h"

#include "assembly.h"

namespace guard {

namespace {

bool take(std::string_view& name, std::string_view start) {
  if (!name.starts_with(start)) return false;
  name.remove_prefix(start.size());
  return true;
}

// read4, write16, read_write8, read_range
Hook check_of(std::string_view name, HookKind kind) {
  Hook hook{.kind = kind};
  if (take(name, "read_write")) {
    hook.reads = hook.writes = true;
  } else if (take(name, "read")) {
    hook.reads = true;
  } else if (take(name, "write")) {
    hook.writes = true;
  } else {
    return {};
  }
  if (name == "_range") return hook;
  int64_t width = 0;
  if (!parse_integer(name, width) || width < 1 || width > 16) return {};
  hook.width = static_cast<unsigned>(width);
  return hook;
}

Hook thread_hook(std::string_view name) {
  if (name == "vptr_update") return {HookKind::Check, false, true, 8};
  if (name == "vptr_read") return {HookKind::Check, true, false, 8};
  if (name == "init" || name == "func_entry" || name == "func_exit") return {HookKind::Quiet};
  take(name, "unaligned_");
  take(name, "volatile_");
  return check_of(name, HookKind::Check);
}

}  // namespace

Hook hook_of(std::string_view name) {
  if (take(name, "__tsan_")) return thread_hook(name);
  if (take(name, "warploom_guard_")) {
    const bool plain = name == "target" || name == "stack" || name == "recursion";
    return plain ? Hook{HookKind::Ours} : check_of(name, HookKind::Ours);
  }
  // Atomics of the headers compare the values between their check and their store.
  if (name == "memcmp" || name == "bcmp") return {.kind = HookKind::Quiet};
  if (!take(name, "_ZN8warploom")) return {};
  if (name == "13atomic_accessEPKvjbbNS_5OrderENS_5ScopeENS_6UpdateE") return {HookKind::Atomic};
  if (name == "18atomic_load_accessEPKvjNS_5OrderENS_5ScopeE") return {HookKind::Load};
  if (name == "13vector_accessEPKvj" || name == "14atomic_changedEv" ||
      name == "12atomic_takenEv" || name == "13result_unusedEv" || name == "16count_operationsEj" ||
      name == "12count_withinEj" || name == "15count_iterationEj" || name == "14end_iterationsEv" ||
      name == "10unset_wordEPKc") {
    return {HookKind::Quiet};
  }
  return {};
}

bool is_reserved(std::string_view name) {
  return name.starts_with("__tsan_") || name.starts_with("warploom_") || name == kHere ||
         hook_of(name).kind != HookKind::None;
}

}  // namespace guard
