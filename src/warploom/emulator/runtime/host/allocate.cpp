// malloc and its family. The runtime, the loader and what they call get memory of the C library's
// own allocator; the program, and the libraries on its behalf, that of the running process.
#include <dlfcn.h>
#include <malloc.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "cuda/host_functions.h"
#include "host/libc_calls.h"
#include "host/own_memory.h"
#include "host/process_heap.h"
#include "host/program_range.h"
#include "machine/world.h"
#include "memory/memory.h"
#include "order/host_copies.h"
#include "report/report.h"

namespace warploom {

namespace {

// Large buffers are touched as a whole, as a rule.
constexpr std::size_t kLargePages = 4 << 20;

void* allocate(int process, std::size_t bytes, std::size_t alignment) {
  void* block = heap_take(process, bytes, alignment);
  if (!block) errno = ENOMEM;
  if (block && bytes >= kLargePages) prefer_huge_pages(block, bytes);
  return block;
}

void report_bad_free(void* block, Given given) {
  if (given == Given::Before) {
    report_finding({.kind = kinds::double_free,
                    .message = "the host frees memory that was freed before",
                    .hint = "free each allocation once"});
  } else {
    report_finding({.kind = kinds::invalid_free,
                    .message = format("the host frees %p, which is not the start of a block that "
                                      "malloc or new gave",
                                      block),
                    .hint = "pass what malloc or new returned"});
  }
}

// The C library is one for all processes: what it allocated for one it may free for another.
bool is_c_library(const void* caller) {
  Dl_info ours, its;
  return dladdr(caller, &ours) && dladdr(reinterpret_cast<void*>(&__libc_malloc), &its) &&
         ours.dli_fbase == its.dli_fbase;
}

void give_back(void* block, const void* caller) {
  const int owner = heap_owner(block);
  if (g_current && g_current->process && g_current->process->rank != owner &&
      !is_c_library(caller)) {
    report_foreign(block, 1, true, "free");
    return;
  }
  if (g_current && g_current->host && (host_copies_pending() || arguments_pending())) {
    if (const std::size_t bytes = heap_bytes(block)) {
      check_host_free(block, bytes);
      check_arguments_in(block, bytes);
    }
  }
  const Given given = heap_give(block);
  if (given != Given::Back) report_bad_free(block, given);
}

void* grow(int process, void* block, std::size_t bytes, const void* caller) {
  const std::size_t had = heap_bytes(block);
  if (had == 0) {
    report_bad_free(block, Given::NoBlock);
    return nullptr;
  }
  if (bytes <= had && bytes >= had / 2) return block;
  void* made = allocate(process, bytes, kLeastAlignment);
  if (!made) return nullptr;
  std::memcpy(made, block, std::min(had, bytes));
  give_back(block, caller);
  return made;
}

// Blocks outside of all heaps are the C library's own, or the runtime's. Where a call of the
// program's led here with memory that is the program's, its allocator would take that for a block,
// and give it to the runtime later.
bool is_librarys_own(void* block, const void* caller) {
  if (!block || !of_program(caller)) return true;
  const bool is_programs = is_of_running_program(caller) || space_of(block) != Space::None ||
                           owner_of_host(block, 1, true) == Whose::Own;
  if (is_programs) report_bad_free(block, Given::NoBlock);
  return !is_programs;
}

bool is_power_of_two(std::size_t value) { return value && !(value & (value - 1)); }

}  // namespace

int heap_for(const void* caller) {
  if (!g_current || g_loading || library_allocates() || g_current->gpu || in_runtime(caller) ||
      in_loader(caller))
    return -1;
  return g_current->process ? g_current->process->rank : -1;
}

void free_for_program(void* block) {
  if (!block || in_heaps(block) || !g_current || !g_current->process) return free(block);
  report_bad_free(block, Given::NoBlock);
}

void* program_memory(std::size_t bytes, std::size_t alignment) {
  return allocate(g_current->process->rank, bytes, alignment);
}

}  // namespace warploom

using namespace warploom;

extern "C" {

void* malloc(std::size_t bytes) {
  const int process = heap_for(CALLER);
  return process < 0 ? __libc_malloc(bytes) : allocate(process, bytes, kLeastAlignment);
}

void free(void* block) {
  if (in_heaps(block)) return give_back(block, CALLER);
  if (is_librarys_own(block, CALLER)) __libc_free(block);
}

void* calloc(std::size_t count, std::size_t bytes) {
  const int process = heap_for(CALLER);
  if (process < 0) return __libc_calloc(count, bytes);
  std::size_t all = 0;
  void* block =
      __builtin_mul_overflow(count, bytes, &all) ? nullptr : heap_take_zeroed(process, all);
  if (!block) errno = ENOMEM;
  return block;
}

void* realloc(void* block, std::size_t bytes) {
  if (block && !in_heaps(block)) {
    return is_librarys_own(block, CALLER) ? __libc_realloc(block, bytes) : nullptr;
  }
  const int process = block ? heap_owner(block) : heap_for(CALLER);
  if (!block) {
    return process < 0 ? __libc_malloc(bytes) : allocate(process, bytes, kLeastAlignment);
  }
  if (bytes) return grow(process, block, bytes, CALLER);
  give_back(block, CALLER);
  return nullptr;
}

void* reallocarray(void* block, std::size_t count, std::size_t bytes) noexcept {
  std::size_t all = 0;
  if (!__builtin_mul_overflow(count, bytes, &all)) return realloc(block, all);
  errno = ENOMEM;
  return nullptr;
}

void* memalign(std::size_t alignment, std::size_t bytes) {
  const int process = heap_for(CALLER);
  if (process < 0) return __libc_memalign(alignment, bytes);
  if (is_power_of_two(alignment)) return allocate(process, bytes, alignment);
  errno = EINVAL;
  return nullptr;
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  const int process = heap_for(CALLER);
  if (process < 0) return __libc_memalign(alignment, bytes);
  if (is_power_of_two(alignment)) return allocate(process, bytes, alignment);
  errno = EINVAL;
  return nullptr;
}

int posix_memalign(void** out, std::size_t alignment, std::size_t bytes) {
  if (!is_power_of_two(alignment) || alignment % sizeof(void*)) return EINVAL;
  const int process = heap_for(CALLER);
  void* block =
      process < 0 ? __libc_memalign(alignment, bytes) : heap_take(process, bytes, alignment);
  if (!block) return ENOMEM;
  if (of_program(CALLER)) program_writes(out, sizeof *out);
  *out = block;
  return 0;
}

void* valloc(std::size_t bytes) {
  const int process = heap_for(CALLER);
  return process < 0 ? __libc_memalign(4096, bytes) : allocate(process, bytes, 4096);
}

void* pvalloc(std::size_t bytes) {
  const std::size_t pages = whole_pages(bytes);
  if (pages < bytes) {
    errno = ENOMEM;
    return nullptr;
  }
  const int process = heap_for(CALLER);
  return process < 0 ? __libc_memalign(4096, pages) : allocate(process, pages, 4096);
}

std::size_t malloc_usable_size(void* block) noexcept { return block ? heap_bytes(block) : 0; }

}  // extern "C"
