// Calls of the APIs that write through a pointer, as the program makes them: none of them may be
// led to memory that is not the program's. Its objects are linked with --wrap for each name here.
#include <algorithm>
#include <concepts>
#include <type_traits>

#include "../include/cuda.h"
#include "../include/cuda_runtime.h"
#include "../include/mpi.h"
#include "../include/nccl.h"
#include "host_functions.h"
#include "jumps.h"
#include "memory.h"
#include "own_memory.h"
#include "program_range.h"
#include "variables.h"
#include "world.h"

namespace warploom {

namespace {

// What a parameter's type says of the memory behind it. Handles are of types that no header shows.
template <class T>
concept Shown = requires { sizeof(T); };

// What a call gives the host: written now, by the host.
void check_written(const void* p, std::size_t bytes, const char* call, const void* caller) {
  if (!p || bytes == 0) return;
  if (in_arena(p) || find_variable(p)) {
    program_writes(p, bytes, caller);
  } else {
    check_host_memory(p, bytes, true, call);
  }
}

// The calls that give more than one element say here how many.
struct Elements {
  const char* call;
  const void* caller;
  template <class T>
  void check(const T* p, long count) const {
    if (count > 0) check_written(p, static_cast<std::size_t>(count) * sizeof(T), call, caller);
  }
};
template <auto function>
struct Arrays {
  static void check(Elements, auto...) {}
};
template <>
struct Arrays<&MPI_Waitall> {
  static void check(Elements all, int count, MPI_Request* requests, MPI_Status* statuses) {
    all.check(requests, count);
    all.check(statuses, count);
  }
};
template <>
struct Arrays<&MPI_Testall> {
  static void check(Elements all, int count, MPI_Request* requests, int*, MPI_Status* statuses) {
    all.check(requests, count);
    all.check(statuses, count);
  }
};
template <>
struct Arrays<&MPI_Waitany> {
  static void check(Elements all, int count, MPI_Request* requests, int*, MPI_Status*) {
    all.check(requests, count);
  }
};
template <>
struct Arrays<&MPI_Get_processor_name> {
  static void check(Elements all, char* name, int*) {
    all.check(name,
              std::min(static_cast<long>(machine_name().size()) + 1, long{MPI_MAX_PROCESSOR_NAME}));
  }
};
template <>
struct Arrays<&MPI_Error_string> {
  static void check(Elements all, int code, char* text, int*) {
    constexpr long kLeast = sizeof "no error (0)";  // other texts have as many characters or more
    all.check(text, code == MPI_SUCCESS ? kLeast : kLeast + 1);
  }
};
template <>
struct Arrays<&MPI_Cart_coords> {
  static void check(Elements all, MPI_Comm, int, int most, int* result) { all.check(result, most); }
};
template <>
struct Arrays<&MPI_Cart_get> {
  static void check(Elements all, MPI_Comm, int most, int* sizes, int* periods, int* place) {
    for (const int* one : {sizes, periods, place}) all.check(one, most);
  }
};
template <>
struct Arrays<&MPI_Dims_create> {
  static void check(Elements all, int, int dimensions, int* sizes) { all.check(sizes, dimensions); }
};
template <>
struct Arrays<&ncclCommInitAll> {
  static void check(Elements all, ncclComm_t* comms, int count, const int*) {
    all.check(comms, count);
  }
};
template <>
struct Arrays<&cudaDeviceGetPCIBusId> {
  static void check(Elements all, char* id, int length, int) { all.check(id, length); }
};
template <>
struct Arrays<&cuDeviceGetName> {
  static void check(Elements all, char* name, int length, CUdevice) { all.check(name, length); }
};
void check_nodes(Elements all, const cudaGraphNode_t* nodes, const size_t* count) {
  if (nodes && count && *count <= std::size_t{1} << 30) all.check(nodes, static_cast<long>(*count));
}
template <>
struct Arrays<&cudaGraphGetNodes> {
  static void check(Elements all, cudaGraph_t, cudaGraphNode_t* nodes, size_t* count) {
    check_nodes(all, nodes, count);
  }
};
template <>
struct Arrays<&cudaGraphGetRootNodes> {
  static void check(Elements all, cudaGraph_t, cudaGraphNode_t* nodes, size_t* count) {
    check_nodes(all, nodes, count);
  }
};

template <class T>
void check_argument(T value, const char* call, const void* caller) {
  if constexpr (std::is_pointer_v<T>) {
    using Target = std::remove_pointer_t<T>;
    if constexpr (!std::is_const_v<Target> && !std::is_function_v<Target>) {
      if (!value) return;
      if constexpr (std::is_void_v<Target>) {
        // A buffer, which may be anywhere: the call itself says how much of it, and when.
        if (!in_arena(value) && !find_variable(value)) check_host_memory(value, 1, true, call);
      } else if constexpr (Shown<Target>) {
        check_written(value, sizeof(Target), call, caller);
      }
    }
  }
}

// What a call gives that a host function of a stream may not make.
template <class Result>
constexpr Result kNotPermitted = {};
template <>
constexpr cudaError_t kNotPermitted<cudaError_t> = cudaErrorNotPermitted;
template <>
constexpr CUresult kNotPermitted<CUresult> = static_cast<CUresult>(cudaErrorNotPermitted);
template <>
constexpr ncclResult_t kNotPermitted<ncclResult_t> = ncclUnhandledCudaError;

template <auto function, class Result, class... Arguments>
struct Checked {
  static inline const char* name = "";
  static Result call(Arguments... arguments) {
    if (g_current && g_current->host) {
      if (g_current->host->runs_for && refused_in_host_function(name)) {
        if constexpr (!std::is_void_v<Result>) return kNotPermitted<Result>;
      }
      const void* caller = __builtin_return_address(0);
      (check_argument(arguments, name, caller), ...);
      Arrays<function>::check({name, caller}, arguments...);
    }
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

// A symbol of its own stands for each function: its type is known to the template alone.
#define CHECKED_AS(symbol, function, type)                                                        \
  extern "C" {                                                                                    \
  [[gnu::visibility("hidden"), gnu::used]] std::type_identity_t<type> warploom_checked_##symbol = \
      warploom::checked<static_cast<type>(&function)>(static_cast<type>(&function), #function);   \
  }                                                                                               \
  WARPLOOM_WRAPPER(symbol)
#define CHECKED(name) CHECKED_AS(name, name, decltype(&name))

#include "checked_calls.inc"
