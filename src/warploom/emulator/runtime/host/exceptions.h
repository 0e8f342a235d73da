// The exceptions of the program. The C++ library keeps what it does with one in front of it: that
// lies here, where no program may write, and only objects that are made here are ever thrown.
#pragma once

#include <link.h>
#include <cstddef>
#include <cstdint>

namespace warploom {

struct Process;

// A program has been loaded: its C++ library takes memory for exceptions from here.
void watch_exceptions(link_map& map);

enum class ExceptionPart : uint8_t { None, Header, Object, Foreign };
// What of an exception `bytes` bytes at `address` are, for the process `own`.
ExceptionPart exception_part(uintptr_t address, std::size_t bytes, bool write, const Process* own);

// What std::call_once of the running thread leaves for pthread_once: the library keeps it per
// thread of the system, so that another host thread may take its place while this one waits.
struct OnceCall {
  void (*function)() = nullptr;
  void* callable = nullptr;
};
OnceCall once_call();
void set_once_call(const OnceCall& call);

}  // namespace warploom
