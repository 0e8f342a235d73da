#include "flags.h"

#include <sys/mman.h>

namespace warploom {

Flags g_flags;

void change_flag(const bool& flag, bool value) {
  if (flag == value) return;
  if (g_flags.closed) mprotect(&g_flags, sizeof g_flags, PROT_READ | PROT_WRITE);
  const_cast<bool&>(flag) = value;
  if (g_flags.closed) mprotect(&g_flags, sizeof g_flags, PROT_READ);
}

void close_flags() {
  g_flags.closed = true;
  mprotect(&g_flags, sizeof g_flags, PROT_READ);
}

}  // namespace warploom
