// Streams of the C++ library: what they read and write of the program's memory, as it calls them.
// The program's own library does the work, so that each call goes on there. What lies in a stream
// is not looked at: see docs/security.md.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/closed_table.h"
#include "host/library_calls.h"
#include "host/program_range.h"
#include "report/report.h"
#include "schedule/fiber.h"

namespace warploom {

namespace {

// What the second argument leads to; the third says how many characters.
enum class Touch : uint8_t { Read, Written, Text, Start, Number };

struct StreamCall {
  const char* name;
  Touch given;
  std::size_t unit = 1;  // bytes of a character, or of the number
  bool is_virtual = false;
  void* real = nullptr;
};

#define BUFFER(name) "_ZNSt15basic_streambufI" name
#define FILE_BUFFER(name) "_ZNSt13basic_filebufI" name
#define C_BUFFER(name) "_ZN9__gnu_cxx18stdio_sync_filebufI" name
#define NARROW(name) "cSt11char_traitsIcEE" name
#define WIDE(name) "wSt11char_traitsIwEE" name
#define PUT NARROW("6xsputnEPKcl")
#define GET NARROW("6xsgetnEPcl")
#define WIDE_PUT WIDE("6xsputnEPKwl")
#define WIDE_GET WIDE("6xsgetnEPwl")
// A number that is read into a variable, by the function that headers name or the one behind it.
#define NUMBER(CALL, type, code)                                                                 \
  CALL("_ZNSirsER" code, Touch::Number, sizeof(type))                                            \
  CALL("_ZNSi10_M_extractI" code "EERSiRT_", Touch::Number, sizeof(type))                        \
  CALL("_ZNSt13basic_istreamIwSt11char_traitsIwEErsER" code, Touch::Number, sizeof(type))        \
  CALL("_ZNSt13basic_istreamIwSt11char_traitsIwEE10_M_extractI" code "EERS2_RT_", Touch::Number, \
       sizeof(type))
#define NUMBERS(CALL)                   \
  NUMBER(CALL, bool, "b")               \
  NUMBER(CALL, short, "s")              \
  NUMBER(CALL, unsigned short, "t")     \
  NUMBER(CALL, int, "i")                \
  NUMBER(CALL, unsigned, "j")           \
  NUMBER(CALL, long, "l")               \
  NUMBER(CALL, unsigned long, "m")      \
  NUMBER(CALL, long long, "x")          \
  NUMBER(CALL, unsigned long long, "y") \
  NUMBER(CALL, float, "f")              \
  NUMBER(CALL, double, "d")             \
  NUMBER(CALL, long double, "e")        \
  NUMBER(CALL, void*, "Pv")
#define WARPLOOM_STREAM_CALLS(CALL)                                                        \
  CALL("_ZNSo5writeEPKcl", Touch::Read)                                                    \
  CALL("_ZNSi4readEPcl", Touch::Written)                                                   \
  CALL("_ZNSi8readsomeEPcl", Touch::Written)                                               \
  CALL("_ZNSi3getEPcl", Touch::Written)                                                    \
  CALL("_ZNSi3getEPclc", Touch::Written)                                                   \
  CALL("_ZNSi7getlineEPcl", Touch::Written)                                                \
  CALL("_ZNSi7getlineEPclc", Touch::Written)                                               \
  CALL("_ZSt17__istream_extractRSiPcl", Touch::Written)                                    \
  CALL("_ZStrsIcSt11char_traitsIcEERSt13basic_istreamIT_T0_ES6_PS3_", Touch::Start)        \
  CALL("_ZStrsISt11char_traitsIcEERSt13basic_istreamIcT_ES5_Pa", Touch::Start)             \
  CALL("_ZStrsISt11char_traitsIcEERSt13basic_istreamIcT_ES5_Ph", Touch::Start)             \
  CALL("_ZStrsIcSt11char_traitsIcEERSt13basic_istreamIT_T0_ES6_RS3_", Touch::Start)        \
  CALL("_ZNSi3getERc", Touch::Start)                                                       \
  CALL("_ZNSt13basic_istreamIwSt11char_traitsIwEE3getERw", Touch::Number, sizeof(wchar_t)) \
  CALL("_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc", Touch::Text)             \
  CALL("_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKa", Touch::Text)             \
  CALL("_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKh", Touch::Text)             \
  CALL("_ZSt16__ostream_insertIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_PKS3_l",    \
       Touch::Read)                                                                        \
  CALL("_ZSt16__ostream_insertIwSt11char_traitsIwEERSt13basic_ostreamIT_T0_ES6_PKS3_l",    \
       Touch::Read, sizeof(wchar_t))                                                       \
  CALL(BUFFER(NARROW("5sputnEPKcl")), Touch::Read)                                         \
  CALL(BUFFER(NARROW("5sgetnEPcl")), Touch::Written)                                       \
  CALL(BUFFER(PUT), Touch::Read, 1, true)                                                  \
  CALL(BUFFER(GET), Touch::Written, 1, true)                                               \
  CALL(FILE_BUFFER(PUT), Touch::Read, 1, true)                                             \
  CALL(FILE_BUFFER(GET), Touch::Written, 1, true)                                          \
  CALL(C_BUFFER(PUT), Touch::Read, 1, true)                                                \
  CALL(C_BUFFER(GET), Touch::Written, 1, true)                                             \
  CALL(BUFFER(WIDE_PUT), Touch::Read, sizeof(wchar_t), true)                               \
  CALL(BUFFER(WIDE_GET), Touch::Written, sizeof(wchar_t), true)                            \
  CALL(FILE_BUFFER(WIDE_PUT), Touch::Read, sizeof(wchar_t), true)                          \
  CALL(FILE_BUFFER(WIDE_GET), Touch::Written, sizeof(wchar_t), true)                       \
  CALL(C_BUFFER(WIDE_PUT), Touch::Read, sizeof(wchar_t), true)                             \
  CALL(C_BUFFER(WIDE_GET), Touch::Written, sizeof(wchar_t), true)                          \
  NUMBERS(CALL)

#define CALL(name, ...) {name, __VA_ARGS__},
ClosedTable g_stream_calls{std::to_array<StreamCall>({WARPLOOM_STREAM_CALLS(CALL)})};
#undef CALL

void look(const StreamCall& call, uintptr_t place, uintptr_t count, const void* caller) {
  const auto* p = reinterpret_cast<const char*>(place);
  const auto characters = static_cast<std::ptrdiff_t>(count);
  switch (call.given) {
    case Touch::Text:
      return program_reads_text(p, static_cast<std::size_t>(-1), caller);
    case Touch::Start:
      return program_writes(p, 1, caller);
    case Touch::Number:
      return program_writes(p, call.unit, caller);
    case Touch::Read:
      if (characters > 0) program_reads(p, bytes_of(count, call.unit), caller);
      return;
    case Touch::Written:
      if (characters > 0) program_writes(p, bytes_of(count, call.unit), caller);
      return;
  }
}

}  // namespace

void watch_streams(link_map& map) {
  for (StreamCall& call : g_stream_calls.all) call.real = dlsym(&map, call.name);
  g_stream_calls.close();
}

bool takes_characters(uintptr_t function) {
  return std::ranges::any_of(g_stream_calls.all, [&](const StreamCall& call) {
    return call.is_virtual && call.real && reinterpret_cast<uintptr_t>(call.real) == function;
  });
}

void look_at_characters(uintptr_t function, uintptr_t place, uintptr_t count, const void* caller) {
  for (const StreamCall& call : g_stream_calls.all) {
    if (!call.is_virtual || reinterpret_cast<uintptr_t>(call.real) != function) continue;
    return look(call, place, count, caller);
  }
}

}  // namespace warploom

extern "C" {

// Returns where the call goes on.
void* warploom_stream_call(unsigned number, const uintptr_t* arguments) {
  using namespace warploom;
  const StreamCall& call = g_stream_calls.all[number];
  look(call, arguments[1], arguments[0], reinterpret_cast<const void*>(arguments[5]));
  if (call.real) return call.real;
  report_finding(
      {.kind = kinds::crash, .message = format("no library of the program has %s", call.name)});
  stop_run();
}

}  // extern "C"

#if defined(__x86_64__)
asm(R"(
.macro warploom_stream name
.globl __wrap_\name
.type __wrap_\name, @function
__wrap_\name:
  pushq %rbp
  movq %rsp, %rbp
  pushq %rcx
  pushq %rdi
  pushq %rsi
  pushq %rdx
  movl $warploom_stream_number, %edi
  movq %rsp, %rsi
  call warploom_stream_call
  popq %rdx
  popq %rsi
  popq %rdi
  popq %rcx
  popq %rbp
  jmp *%rax
.size __wrap_\name, .-__wrap_\name
.set warploom_stream_number, warploom_stream_number + 1
.endm
.set warploom_stream_number, 0
)"
#define CALL(name, ...) "warploom_stream " name "\n"
    WARPLOOM_STREAM_CALLS(CALL));
#undef CALL
#endif
