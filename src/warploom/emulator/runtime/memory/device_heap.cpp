// malloc, free, new and delete of the program: from the device's heap where device code calls them.
// The program is linked with --wrap for each, so that the runtime's own calls do not come here.
#include <cstdlib>
#include <map>
#include <new>

#include "host/process_heap.h"
#include "kernels/kernel.h"
#include "machine/library_state.h"
#include "memory/device_heap.h"
#include "memory/memory.h"
#include "report/report.h"

namespace warploom {

namespace {

std::map<int, std::size_t> g_heap_used;  // by device

// CUDA C++ Programming Guide, "Dynamic Global Memory Allocation": null when the heap is used up.
void* heap_allocate(std::size_t bytes) {
  const int device = current_thread()->block->kernel->device;
  std::size_t& used = g_heap_used[device];
  if (bytes == 0 || bytes > heap_limit() || used > heap_limit() - bytes) return nullptr;
  void* memory = allocate_device(device, bytes, AllocKind::Heap, capture_frames());
  if (memory) used += bytes;
  return memory;
}

void report_invalid_free(const char* what, const char* hint, const Frames& other = {}) {
  report_finding({.kind = kinds::invalid_free, .message = what, .hint = hint, .other = other});
}

void heap_free(void* pointer) {
  if (!pointer) return;
  Allocation* found = in_arena(pointer) ? find_allocation(pointer) : nullptr;
  if (!found || found->start != reinterpret_cast<uintptr_t>(pointer)) {
    report_invalid_free("device code frees what is not the start of an allocation",
                        "pass what malloc or new returned in device code");
  } else if (found->kind != AllocKind::Heap) {
    report_invalid_free("device code frees memory that the host allocated",
                        "free it on the host, with the call that belongs to its allocation",
                        found->allocated);
  } else if (!found->live) {
    report_finding(
        {.kind = kinds::double_free,
         .message = format("device code frees %zu bytes that were freed before", found->bytes),
         .hint = "free each allocation once: by one thread, not by all",
         .other = found->freed});
  } else {
    g_heap_used[found->device] -= found->bytes;
    release(found, capture_frames());
  }
}

// Host code gave `pointer` to free or delete. True: it is none of the C library's.
bool is_foreign(void* pointer) {
  if (!in_arena(pointer)) return false;
  const Allocation* found = find_allocation(pointer);
  report_invalid_free("host code frees memory of the device, or pinned memory, with free or delete",
                      "use cudaFree or cudaFreeHost", found ? found->allocated : Frames{});
  return true;
}

// On the host: the process's own heap, as if the program had called the C library.
void* host_malloc(std::size_t bytes) {
  return g_current && g_current->process ? program_memory(bytes) : __libc_malloc(bytes);
}

void* host_new(std::size_t bytes, std::size_t alignment, bool throws) {
  while (true) {
    void* made =
        alignment <= kLeastAlignment ? host_malloc(bytes) : program_memory(bytes, alignment);
    if (made) return made;
    if (call_new_handler()) continue;
    if (throws) throw_for_program();
    return nullptr;
  }
}

void* make(std::size_t bytes, std::size_t alignment) {
  if (current_thread()) return heap_allocate(bytes);
  return host_new(bytes, alignment, true);
}

void destroy(void* pointer) {
  if (current_thread()) return heap_free(pointer);
  if (!is_foreign(pointer)) free_for_program(pointer);
}

}  // namespace

}  // namespace warploom

using namespace warploom;

// Names as the linker makes them: the mangled ones are operator new and delete in their forms.
extern "C" {
void* __wrap_malloc(std::size_t bytes) {
  return current_thread() ? heap_allocate(bytes) : host_malloc(bytes);
}
void __wrap_free(void* pointer) {
  if (current_thread()) return heap_free(pointer);
  if (!is_foreign(pointer)) free_for_program(pointer);
}
void* __wrap__Znwm(std::size_t bytes) { return make(bytes, 0); }
void* __wrap__Znam(std::size_t bytes) { return make(bytes, 0); }
void* __wrap__ZnwmRKSt9nothrow_t(std::size_t bytes, const std::nothrow_t&) {
  return current_thread() ? heap_allocate(bytes) : host_new(bytes, 0, false);
}
void* __wrap__ZnamRKSt9nothrow_t(std::size_t bytes, const std::nothrow_t&) {
  return current_thread() ? heap_allocate(bytes) : host_new(bytes, 0, false);
}
void* __wrap__ZnwmSt11align_val_t(std::size_t bytes, std::size_t alignment) {
  return make(bytes, alignment);
}
void* __wrap__ZnamSt11align_val_t(std::size_t bytes, std::size_t alignment) {
  return make(bytes, alignment);
}
void __wrap__ZdlPv(void* pointer) { destroy(pointer); }
void __wrap__ZdaPv(void* pointer) { destroy(pointer); }
void __wrap__ZdlPvm(void* pointer, std::size_t) { destroy(pointer); }
void __wrap__ZdaPvm(void* pointer, std::size_t) { destroy(pointer); }
void __wrap__ZdlPvSt11align_val_t(void* pointer, std::size_t) { destroy(pointer); }
void __wrap__ZdaPvSt11align_val_t(void* pointer, std::size_t) { destroy(pointer); }
void __wrap__ZdlPvmSt11align_val_t(void* pointer, std::size_t, std::size_t) { destroy(pointer); }
void __wrap__ZdaPvmSt11align_val_t(void* pointer, std::size_t, std::size_t) { destroy(pointer); }
}
