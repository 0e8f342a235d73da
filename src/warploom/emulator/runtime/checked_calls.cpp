// Calls of the APIs that write through a pointer, as the program makes them: none of them may be
// led to memory that is not the program's. Its objects are linked with --wrap for each name here.
#include <concepts>
#include <type_traits>

#include "../include/cuda.h"
#include "../include/cuda_runtime.h"
#include "../include/mpi.h"
#include "../include/nccl.h"
#include "memory.h"
#include "own_memory.h"
#include "variables.h"
#include "world.h"

namespace warploom {

namespace {

// What a parameter's type says of the memory behind it. Handles are of types that no header shows.
template <class T>
concept Shown = requires { sizeof(T); };

template <class T>
void check_argument(T value, const char* call) {
  if constexpr (std::is_pointer_v<T>) {
    using Target = std::remove_pointer_t<T>;
    if constexpr (!std::is_const_v<Target> && !std::is_function_v<Target>) {
      if (!value || in_arena(value) || find_variable(value)) return;
      if constexpr (std::is_void_v<Target>) {
        check_host_memory(value, 1, true, call);
      } else if constexpr (Shown<Target>) {
        check_host_memory(value, sizeof(Target), true, call);
      }
    }
  }
}

template <auto function, class Result, class... Arguments>
struct Checked {
  static inline const char* name = "";
  static Result call(Arguments... arguments) {
    if (g_current && g_current->host) (check_argument(arguments, name), ...);
    return function(arguments...);
  }
};

template <auto function, class Result, class... Arguments>
auto* checked(Result (*)(Arguments...), const char* name) {
  using Call = Checked<function, Result, Arguments...>;
  Call::name = name;
  return &Call::call;
}

}  // namespace

}  // namespace warploom

#if defined(__x86_64__)
#define WARPLOOM_JUMP(name) "  jmp *warploom_checked_" #name "(%rip)\n"
#define WARPLOOM_FUNCTION "@function"
#else
#define WARPLOOM_JUMP(name)                         \
  "  adrp x16, warploom_checked_" #name             \
  "\n"                                              \
  "  ldr x16, [x16, #:lo12:warploom_checked_" #name \
  "]\n"                                             \
  "  br x16\n"
#define WARPLOOM_FUNCTION "%function"
#endif

// A symbol of its own stands for each function: its type is known to the template alone.
#define CHECKED_AS(symbol, function, type)                                                        \
  extern "C" {                                                                                    \
  [[gnu::visibility("hidden"), gnu::used]] std::type_identity_t<type> warploom_checked_##symbol = \
      warploom::checked<static_cast<type>(&function)>(static_cast<type>(&function), #function);   \
  }                                                                                               \
  asm(".text\n.globl __wrap_" #symbol "\n.type __wrap_" #symbol ", " WARPLOOM_FUNCTION            \
      "\n__wrap_" #symbol ":\n" WARPLOOM_JUMP(symbol) ".size __wrap_" #symbol                     \
                                                      ", .-__wrap_" #symbol "\n.previous\n");
#define CHECKED(name) CHECKED_AS(name, name, decltype(&name))

#include "checked_calls.inc"
