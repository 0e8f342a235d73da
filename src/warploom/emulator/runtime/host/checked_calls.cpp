// Calls of the APIs that write through a pointer, as the program makes them: none of them may be
// led to memory that is not the program's. Its objects are linked with --wrap for each name here.
#include <algorithm>
#include <concepts>
#include <cstddef>
#include <type_traits>

#include "../../include/cuda.h"
#include "../../include/cuda_runtime.h"
#include "../../include/mpi.h"
#include "../../include/nccl.h"
#include "base/jumps.h"
#include "cuda/host_functions.h"
#include "host/own_memory.h"
#include "host/program_range.h"
#include "machine/world.h"
#include "memory/memory.h"
#include "memory/variables.h"
#include "mpi/mpi_objects.h"

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
  void check(const T* p, std::integral auto count) const {
    if (count > 0) {
      check_written(p, bytes_of(static_cast<std::size_t>(count), sizeof(T)), call, caller);
    }
  }
  // The same for a list that the call reads.
  template <class T>
  void read(const T* p, std::size_t count) const {
    if (p && count > 0) program_reads(p, bytes_of(count, sizeof(T)), caller);
  }
};
template <auto function>
struct Arrays {
  static void check(Elements, auto...) {}
};
#include "host/checked_mpi_arrays.inc"
template <>
struct Arrays<&cudaMemRangeGetAttribute> {
  static void check(Elements all, void* value, std::size_t size, auto...) {
    all.check(static_cast<char*>(value), static_cast<long>(std::min(size, std::size_t{1} << 30)));
  }
};
template <>
struct Arrays<&cudaMemRangeGetAttributes> {
  static void check(Elements all, void** values, std::size_t* sizes,
                    cudaMemRangeAttribute* attributes, std::size_t count, auto...) {
    all.read(values, count);
    all.read(sizes, count);
    all.read(attributes, count);
    for (std::size_t i = 0; values && sizes && i < count; i++) {
      Arrays<&cudaMemRangeGetAttribute>::check(all, values[i], sizes[i]);
    }
  }
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
  if (nodes && count) all.check(nodes, *count);
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

// Lists that a call reads: how many elements they have says the call alone. A call whose lists are
// not told of below does not compile.
template <class T>
constexpr bool kIsList = false;
template <class T>
constexpr bool kIsList<const T*> =
    !std::is_void_v<T> && !std::is_class_v<T> && !std::is_union_v<T> && !std::is_same_v<T, char>;
template <>
constexpr bool kIsList<const cudaGraphEdgeData*> = true;
template <auto function>
struct Lists {
  static constexpr bool kUnknown = true;
  static void check(Elements, auto...) {}
};

// Of a communicator's ranks, or of its dimensions.
struct ListOfRanks {
  static void read(Elements all, MPI_Comm comm, auto*... lists) {
    (all.read(lists, mpi::ranks_in(comm)), ...);
  }
  static void read_at_root(Elements all, MPI_Comm comm, int root, auto*... lists) {
    if (mpi::rank_in(comm) == root) read(all, comm, lists...);
  }
};
template <>
struct Lists<&MPI_Alltoallv> : ListOfRanks {
  static void check(Elements all, const void*, const int* counts, const int* starts, MPI_Datatype,
                    void*, const int* other_counts, const int* other_starts, MPI_Datatype,
                    MPI_Comm comm) {
    read(all, comm, counts, starts, other_counts, other_starts);
  }
};
template <>
struct Lists<&MPI_Allgatherv> : ListOfRanks {
  static void check(Elements all, const void*, int, MPI_Datatype, void*, const int* counts,
                    const int* starts, MPI_Datatype, MPI_Comm comm) {
    read(all, comm, counts, starts);
  }
};
template <>
struct Lists<&MPI_Iallgatherv> : ListOfRanks {
  static void check(Elements all, const void*, int, MPI_Datatype, void*, const int* counts,
                    const int* starts, MPI_Datatype, MPI_Comm comm, MPI_Request*) {
    read(all, comm, counts, starts);
  }
};
template <>
struct Lists<&MPI_Gatherv> : ListOfRanks {
  static void check(Elements all, const void*, int, MPI_Datatype, void*, const int* counts,
                    const int* starts, MPI_Datatype, int root, MPI_Comm comm) {
    read_at_root(all, comm, root, counts, starts);
  }
};
template <>
struct Lists<&MPI_Scatterv> : ListOfRanks {
  static void check(Elements all, const void*, const int* counts, const int* starts, MPI_Datatype,
                    void*, int, MPI_Datatype, int root, MPI_Comm comm) {
    read_at_root(all, comm, root, counts, starts);
  }
};
template <>
struct Lists<&MPI_Cart_rank> {
  static void check(Elements all, MPI_Comm comm, const int* place, int*) {
    all.read(place, mpi::dimensions_of(comm));
  }
};
template <>
struct Lists<&MPI_Cart_sub> {
  static void check(Elements all, MPI_Comm comm, const int* kept, MPI_Comm*) {
    all.read(kept, mpi::dimensions_of(comm));
  }
};
// The call says how many itself: the first number that is a count.
std::size_t positive(int count) { return static_cast<std::size_t>(std::max(count, 0)); }
template <>
struct Lists<&MPI_Cart_create> {
  static void check(Elements all, MPI_Comm, int count, const int* sizes, const int* periods, int,
                    MPI_Comm*) {
    for (const int* one : {sizes, periods}) all.read(one, positive(count));
  }
};
struct GroupLists {
  static void check(Elements all, MPI_Group, int count, const int* ranks, MPI_Group*) {
    all.read(ranks, positive(count));
  }
};
template <>
struct Lists<&MPI_Group_incl> : GroupLists {};
template <>
struct Lists<&MPI_Group_excl> : GroupLists {};
template <>
struct Lists<&MPI_Type_indexed> {
  static void check(Elements all, int count, const int* lengths, const int* starts, MPI_Datatype,
                    MPI_Datatype*) {
    for (const int* one : {lengths, starts}) all.read(one, positive(count));
  }
};
template <>
struct Lists<&MPI_Type_create_hindexed> {
  static void check(Elements all, int count, const int* lengths, const MPI_Aint* starts, auto...) {
    all.read(lengths, positive(count));
    all.read(starts, positive(count));
  }
};
template <>
struct Lists<&MPI_Type_create_indexed_block> {
  static void check(Elements all, int count, int, const int* starts, auto...) {
    all.read(starts, positive(count));
  }
};
template <>
struct Lists<&MPI_Reduce_scatter> : ListOfRanks {
  static void check(Elements all, const void*, void*, const int* counts, MPI_Datatype, MPI_Op,
                    MPI_Comm comm) {
    read(all, comm, counts);
  }
};
template <>
struct Lists<&MPI_Type_create_struct> {
  static void check(Elements all, int count, const int* lengths, const MPI_Aint* starts,
                    const MPI_Datatype* types, MPI_Datatype*) {
    all.read(lengths, positive(count));
    all.read(starts, positive(count));
    all.read(types, positive(count));
  }
};
template <>
struct Lists<&MPI_Type_create_subarray> {
  static void check(Elements all, int count, const int* sizes, const int* parts, const int* starts,
                    int, MPI_Datatype, MPI_Datatype*) {
    for (const int* one : {sizes, parts, starts}) all.read(one, positive(count));
  }
};
template <>
struct Lists<&ncclCommInitAll> {
  static void check(Elements all, ncclComm_t*, int count, const int* devices) {
    all.read(devices, positive(count));
  }
};
template <>
struct Lists<&ncclCommInitRankScalable> {
  static void check(Elements all, ncclComm_t*, int, int, int count, ncclUniqueId* ids,
                    ncclConfig_t*) {
    all.read(ids, positive(count));
  }
};

// Lists of a graph's nodes, and of what lies between them, have as many as the first size says.
template <class T>
constexpr bool kIsOfNodes =
    std::is_same_v<T, const cudaGraphNode_t*> || std::is_same_v<T, const cudaGraphEdgeData*>;
void read_node_lists(Elements all, auto... arguments) {
  std::size_t count = 0;
  bool known = false;
  const auto find = [&]<class T>(T value) {
    if constexpr (std::is_same_v<T, std::size_t>) {
      if (!known) count = value;
      known = true;
    }
  };
  (find(arguments), ...);
  const auto look = [&]<class T>(T value) {
    if constexpr (kIsOfNodes<T>) all.read(value, count);
  };
  (look(arguments), ...);
}

// Where a rank receives nothing, what it gives as the buffer for it has no meaning.
template <auto function>
struct Meaningless {
  static const void* buffer(auto...) { return nullptr; }
};
struct AtRootOnly {
  static const void* unless(bool root, const void* recv) { return root ? nullptr : recv; }
};
template <>
struct Meaningless<&MPI_Reduce> : AtRootOnly {
  static const void* buffer(const void*, void* recv, int, MPI_Datatype, MPI_Op, int root,
                            MPI_Comm comm) {
    return unless(mpi::rank_in(comm) == root, recv);
  }
};
template <>
struct Meaningless<&MPI_Ireduce> : AtRootOnly {
  static const void* buffer(const void*, void* recv, int, MPI_Datatype, MPI_Op, int root,
                            MPI_Comm comm, MPI_Request*) {
    return unless(mpi::rank_in(comm) == root, recv);
  }
};
template <>
struct Meaningless<&MPI_Gather> : AtRootOnly {
  static const void* buffer(const void*, int, MPI_Datatype, void* recv, int, MPI_Datatype, int root,
                            MPI_Comm comm) {
    return unless(mpi::rank_in(comm) == root, recv);
  }
};
template <>
struct Meaningless<&MPI_Gatherv> : AtRootOnly {
  static const void* buffer(const void*, int, MPI_Datatype, void* recv, const int*, const int*,
                            MPI_Datatype, int root, MPI_Comm comm) {
    return unless(mpi::rank_in(comm) == root, recv);
  }
};

template <class T>
void check_argument(T value, const void* meaningless, const char* call, const void* caller) {
  if constexpr (std::is_pointer_v<T>) {
    using Target = std::remove_pointer_t<T>;
    if constexpr (std::is_const_v<Target> && !std::is_void_v<Target> && !kIsList<T>) {
      // A text, or an object that the call follows.
      if constexpr (std::is_same_v<Target, const char>) {
        program_reads_text(value, ~std::size_t{0}, caller);
      } else if constexpr (Shown<Target>) {
        if (value) program_reads(value, sizeof(Target), caller);
      }
    } else if constexpr (!std::is_const_v<Target> && !std::is_function_v<Target>) {
      if (!value) return;
      if constexpr (std::is_void_v<Target>) {
        // A buffer, which may be anywhere: the call itself says how much of it, and when.
        if (value == meaningless) return;
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

// A name that a template can have as its argument.
template <std::size_t size>
struct CallName {
  char text[size];
  consteval CallName(const char (&name)[size]) { std::copy_n(name, size, text); }
};

template <CallName name, auto function, class Result, class... Arguments>
struct Checked {
  static_assert(!((kIsList<Arguments> && !kIsOfNodes<Arguments>) || ...) ||
                !requires { Lists<function>::kUnknown; });
  static Result call(Arguments... arguments) {
    if (g_current && g_current->host) {
      if (g_current->host->runs_for && refused_in_host_function(name.text)) {
        if constexpr (!std::is_void_v<Result>) return kNotPermitted<Result>;
      }
      const void* caller = __builtin_return_address(0);
      [[maybe_unused]] const void* meaningless = Meaningless<function>::buffer(arguments...);
      (check_argument(arguments, meaningless, name.text, caller), ...);
      Arrays<function>::check({name.text, caller}, arguments...);
      Lists<function>::check({name.text, caller}, arguments...);
      if constexpr ((kIsOfNodes<Arguments> || ...)) {
        read_node_lists({name.text, caller}, arguments...);
      }
    }
    return function(arguments...);
  }
};

template <CallName name, auto function, class Result, class... Arguments>
consteval auto* checked(Result (*)(Arguments...)) {
  return &Checked<name, function, Result, Arguments...>::call;
}

}  // namespace

}  // namespace warploom

// A symbol of its own stands for each function: its type is known to the template alone. It is
// constant, so that what programs are sent through cannot be written.
#define CHECKED_AS(symbol, function, type)                                                      \
  extern "C" {                                                                                  \
  [[gnu::visibility("hidden"),                                                                  \
    gnu::used]] extern const std::type_identity_t<type> warploom_checked_##symbol =             \
      warploom::checked<#function, static_cast<type>(&function)>(static_cast<type>(&function)); \
  }                                                                                             \
  WARPLOOM_WRAPPER(symbol)
#define CHECKED(name) CHECKED_AS(name, name, decltype(&name))

#include "host/checked_calls.inc"
