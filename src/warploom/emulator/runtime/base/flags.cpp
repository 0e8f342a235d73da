#include "base/flags.h"

#include <sys/mman.h>

#include "base/machine.h"

namespace warploom {

Flags g_flags;

namespace {

template <class Change>
void change_flags(Change&& change) {
  if (g_flags.closed) mprotect(&g_flags, sizeof g_flags, PROT_READ | PROT_WRITE);
  change();
  if (g_flags.closed) mprotect(&g_flags, sizeof g_flags, PROT_READ);
}

}  // namespace

void change_flag(const bool& flag, bool value) {
  if (flag == value) return;
  change_flags([&] { const_cast<bool&>(flag) = value; });
}

void count_finding() {
  change_flags([] { g_flags.findings++; });
}

void close_flags() {
  g_flags.closed = true;
  mprotect(&g_flags, sizeof g_flags, PROT_READ);
  mprotect(&g_machine, sizeof g_machine, PROT_READ);
}

}  // namespace warploom
