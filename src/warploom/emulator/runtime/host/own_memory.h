// Whose memory an address of the host is. A program may touch its process's own: heap, image, the
// stacks of its threads, what it mapped, and what libraries offer. Another process's memory lies
// elsewhere on a real machine, and the runtime's does not exist there.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>

#include "host/process_heap.h"
#include "schedule/fiber.h"

namespace warploom {

struct Process;
struct HostThread;

// What the running host thread touches most: its own heap, stack and image.
struct HostView {
  uintptr_t heap = 0, heap_bytes = 0;
  uintptr_t stack = 0;
  uintptr_t image = 0, image_bytes = 0;
  bool on_stack(uintptr_t address) const { return address - stack < kHostStackBytes; }
  bool owns(uintptr_t address) const {
    return address - heap < heap_bytes || on_stack(address) || address - image < image_bytes;
  }
  // All of it in one of them: between them lies the memory of others.
  bool owns(uintptr_t address, std::size_t bytes) const {
    const auto within = [&](uintptr_t start, std::size_t size) {
      return address - start < size && bytes <= size - (address - start);
    };
    return within(heap, heap_bytes) || within(stack, kHostStackBytes) || within(image, image_bytes);
  }
};
extern HostView g_host_view;
void view_as(const HostThread& thread);

enum class Whose : uint8_t {
  Own,
  Nobody,        // nothing is mapped there: the access itself will fail
  OtherProcess,  // host memory of another emulated process
  OtherThread,   // the local memory of a GPU thread
  Library,       // a library's, which a program may not touch like that
  Runtime,
};
// Of memory outside of the emulated devices, for the running fiber or, without one, any program.
Whose owner_of_host(const void* p, std::size_t bytes, bool write);
// False: it was reported. `what`: the call, or nothing where code itself reads or writes.
bool check_host_memory(const void* p, std::size_t bytes, bool write, const char* what = nullptr);
// The same of a block of the process's heap, which must live and be as long; one that was freed is
// left to the caller where `lives` is false.
void check_block(const void* p, std::size_t bytes, const char* what, bool lives = true);
// Reports an access that is known to be of another process's memory.
void report_foreign(const void* p, std::size_t bytes, bool write, const char* what);

// Code of the runtime's executable, or of the loader?
bool in_runtime(const void* code);
bool in_loader(const void* code);
// To be called once, before a program is loaded.
void find_own_memory();
// A program has been loaded: what it and its libraries offer.
void note_program(const link_map& map);
// What the running process has mapped by itself, or was given to look at.
void note_mapping(const void* start, std::size_t bytes);
void forget_mapping(const void* start, std::size_t bytes);
bool owns_mapping(const void* start, std::size_t bytes);

}  // namespace warploom
