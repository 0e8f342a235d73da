#include "access/alignment.h"

#include <cstdint>

#include "memory/memory.h"
#include "report/report.h"
#include "schedule/fiber.h"

namespace warploom {

[[gnu::noinline, gnu::cold]] void report_misaligned(const void* p, std::size_t alignment,
                                                    bool write) {
  constexpr std::size_t kOfProcessor = 16;  // from here on this machine may trap as well
  if (!g_current || !g_current->gpu || !in_arena(p)) return;
  report_finding({.kind = kinds::misaligned,
                  .message = format("%s at an address that is no multiple of %zu",
                                    write ? "write" : "read", alignment),
                  .hint = "a GPU traps there: round the offset, or use narrower elements"});
  if (alignment >= kOfProcessor) stop_run();
}

// What the compiler tells of a check of -fsanitize=alignment (GCC's ubsan.c, LLVM's
// ubsan_handlers.h: version 1).
struct TypeMismatch {
  const char* file;
  uint32_t line, column;
  const void* type;
  unsigned char log_alignment, kind;
};

}  // namespace warploom

// A copy of a struct is made in pieces, of which each may be aligned: the compiler's own check,
// which comes before, knows what the whole promises.
extern "C" void __ubsan_handle_type_mismatch_v1(const warploom::TypeMismatch* what,
                                                uintptr_t address) {
  using namespace warploom;
  const std::size_t alignment = std::size_t{1} << what->log_alignment;
  if (address % alignment)
    report_misaligned(reinterpret_cast<const void*>(address), alignment, what->kind == 1);
}

// A shift of device code by the width of its value or more, which shifts.py did not see: it would
// give what this processor gives, and not what a GPU does.
extern "C" [[noreturn]] void __ubsan_handle_shift_out_of_bounds_abort(const void*, uintptr_t,
                                                                      uintptr_t) {
  __builtin_trap();
}
