// What rewritten user code calls: launches, shared variables, thread indices, barriers, warps.
#pragma once

#include <cstring>
#include <new>
#include <source_location>
#include <type_traits>
#include <utility>

#include "types.h"

// Shim code must not be checked as if the user had written it.
#define WARPLOOM_UNCHECKED __attribute__((no_sanitize("thread")))
// What lies between a thread's start and its kernel is one function. Not a kernel itself: the
// compiler puts nothing that is checked into what is not.
#define WARPLOOM_INLINED __attribute__((always_inline)) WARPLOOM_UNCHECKED

namespace warploom {

// Are the bytes of two values the same? Without a call: nothing may come between the read and the
// write of an atomic, and calls of the C library can hand over to another thread.
template <class _WT>
WARPLOOM_INLINED inline bool same_bits(const _WT& one, const _WT& other) {
  const auto same = [&]<class _WU>(_WU) WARPLOOM_INLINED {
    return __builtin_bit_cast(_WU, one) == __builtin_bit_cast(_WU, other);
  };
  if constexpr (sizeof(_WT) == 1) {
    return same(static_cast<unsigned char>(0));
  } else if constexpr (sizeof(_WT) == 2) {
    return same(static_cast<unsigned short>(0));
  } else if constexpr (sizeof(_WT) == 4) {
    return same(0u);
  } else if constexpr (sizeof(_WT) == 8) {
    return same(0ull);
  } else if constexpr (sizeof(_WT) == 16) {
    return same(static_cast<unsigned __int128>(0));
  } else {
    return std::memcmp(&one, &other, sizeof(_WT)) == 0;
  }
}

// What `__launch_bounds__` allows: the first statement of the kernel.
void launch_bounds(unsigned most, unsigned blocks = 0, unsigned cluster = 0);
// What `__cluster_dims__` asks for where the rewriter does not see it.
template <unsigned _WX = 1, unsigned _WY = 1, unsigned _WZ = 1>
consteval std::size_t without_clusters() {
  static_assert(_WX * _WY * _WZ == 1,
                "warploom-unsupported: __cluster_dims__ in a macro, or not at the kernel's body");
  return 16;
}

struct LaunchConfig {
  dim3 grid, block;
  std::size_t shared_bytes;
  cudaStream_t stream;
  bool cooperative = false;
  bool programmatic = false;  // it may begin before the kernel ahead of it on the stream has ended
  dim3 cluster{1, 1, 1};      // blocks that run together
  LaunchConfig(dim3 _Wg, dim3 _Wb, std::size_t shared = 0, cudaStream_t _Ws = nullptr)
      : grid(_Wg), block(_Wb), shared_bytes(shared), stream(_Ws) {}
};

// A kernel with its arguments, copied at the launch. It lives in memory of the runtime that
// device code may read, because the arguments are read from there.
struct KernelBody {
  void* closure;
  void (*invoke)(const void* closure);
  void (*destroy)(void* closure);
};
void* closure_memory(std::size_t bytes);

// Whether a kernel's arguments fit into its parameter space (32,764 bytes, of CUDA 12.1 and later).
template <class... _WT>
consteval bool arguments_fit() {
  std::size_t end = 0;
  ((end = (end + alignof(_WT) - 1) / alignof(_WT) * alignof(_WT) + sizeof(_WT)), ...);
  return end <= 32764;
}
#define WARPLOOM_ARGUMENTS_FIT(...)                     \
  static_assert(warploom::arguments_fit<__VA_ARGS__>(), \
                "a kernel's arguments take more than 32764 bytes, and nvcc refuses the kernel")
// Each thread of a kernel tells of parameters that are references.
void refers_to_host();
template <class... _WT>
WARPLOOM_UNCHECKED inline void check_parameters() {
  if constexpr ((std::is_reference_v<_WT> || ...)) refers_to_host();
}
// The copy of a parameter that all threads of the running kernel have in common, in memory that
// device code may only read.
const void* constant_copy(const void* parameter, std::size_t bytes, unsigned number);
template <class _WT>
WARPLOOM_INLINED inline const _WT& constant_parameter(const _WT& parameter, unsigned number) {
  if constexpr (std::is_trivially_copyable_v<_WT> && alignof(_WT) <= 64) {
    return *static_cast<const _WT*>(constant_copy(&parameter, sizeof(_WT), number));
  } else {
    return parameter;
  }
}
// Tells of what a kernel gets from the host, before it is launched.
void note_argument(const void* argument, std::size_t bytes);
// Queues a kernel; the body runs once per thread. Returns a cudaError_t value.
int launch_kernel(const char* name, const LaunchConfig& config, KernelBody body);

template <class Closure>
WARPLOOM_UNCHECKED void invoke_closure(const void* closure) {
  (*static_cast<const Closure*>(closure))();
}
template <class Function>
KernelBody make_body(Function&& function) {
  using Closure = std::decay_t<Function>;
  void* memory = closure_memory(sizeof(Closure));
  return {new (memory) Closure(std::forward<Function>(function)), &invoke_closure<Closure>,
          [](void* _Wc) { static_cast<Closure*>(_Wc)->~Closure(); }};
}

// Holds the launch until its argument list has been evaluated, as `<<<>>>(...)` does.
template <class Kernel>
struct Launch {
  const char* name;
  LaunchConfig config;
  Kernel kernel;
  template <class... Args>
  int operator()(Args... args) const {
    WARPLOOM_ARGUMENTS_FIT(Args...);
    static_assert((!std::is_polymorphic_v<Args> && ...),
                  "an object with virtual functions is no argument of a kernel: its table is the "
                  "host's (CUDA C++ Programming Guide, \"Virtual Functions\")");
    (note_argument(__builtin_addressof(args), sizeof args), ...);
    return launch_kernel(name, config,
                         make_body([_Wk = kernel, args...]() WARPLOOM_INLINED { _Wk(args...); }));
  }
};
template <class Kernel>
Launch<Kernel> launch_plain(const char* name, const LaunchConfig& config, Kernel kernel) {
  return {name, config, kernel};
}
// For arguments in braces, which take the types of the kernel's parameters.
template <class... Parameters>
struct TypedLaunch {
  Launch<void (*)(Parameters...)> untyped;
  int operator()(Parameters... args) const { return untyped(args...); }
};
template <class... Parameters>
TypedLaunch<Parameters...> launch_typed(const char* name, const LaunchConfig& config,
                                        void (*kernel)(Parameters...)) {
  return {{name, config, kernel}};
}

// A bare 0 among a launch's arguments: a number, or where the parameter is a pointer, none.
struct Zero {
  operator int() const { return 0; }
  template <class _WT>
  operator _WT*() const {
    return nullptr;
  }
};
WARPLOOM_INLINED inline int number_of(Zero) { return 0; }
template <class _WT>
WARPLOOM_INLINED inline _WT number_of(_WT value) {
  return value;
}
// Numbers first: parameters may take their types from the arguments.
template <class Call, class... Args>
WARPLOOM_INLINED inline void call_with_zeros(Call call, Args... args) {
  if constexpr (std::is_invocable_v<Call, decltype(number_of(args))...>) {
    call(number_of(args)...);
  } else {
    call(args...);
  }
}

// Static shared memory: one variable per block and declaration. `Tag` is a type local to the
// declaration, so that each template instantiation has its own; it carries the alignment asked for.
void* shared_slot(const void* key, const char* name, std::size_t bytes, std::size_t align);
template <class _WT>
inline char shared_key = 0;
template <class _WT, class Tag>
inline _WT& shared_variable(const char* name) {
  constexpr std::size_t align = alignof(_WT) > alignof(Tag) ? alignof(_WT) : alignof(Tag);
  return *static_cast<_WT*>(shared_slot(&shared_key<Tag>, name, sizeof(_WT), align));
}
void* dynamic_shared();

// Which thread runs, in which block: what the built-in variables show. Host code is in no thread.
// A constant for the program: it changes only while no thread of the block, and no host code, is
// under way, so that the compiler may read it once. It has no constructor, or it would be none.
#ifdef WARPLOOM_EMULATOR
#define WARPLOOM_SHOWN const
#else
#define WARPLOOM_SHOWN
#endif
// Programs spell these through macros, among whose names there may be a `thread` or `block_size`.
struct ThreadPlace {
  WARPLOOM_SHOWN uint3 _Windex;
  WARPLOOM_SHOWN unsigned linear;
};
struct alignas(64) Here {
  ThreadPlace _Wthread;
  WARPLOOM_SHOWN uint3 _Wblock, _Wblock_size, _Wgrid_size;
};
// Each use is a value of its own to the compiler: in `if (threadIdx.x == 0) ...; if (shared &&
// threadIdx.x == 0)` it would else drop the second read of the other threads, and the race with it.
// So a use names an element that only we know to be the first one. There is no other.
#ifdef WARPLOOM_EMULATOR
extern const Here g_here[2];
#else
extern Here g_here;
#endif
WARPLOOM_INLINED inline std::size_t some_zero() {
  unsigned zero = 0;
  __asm__("" : "+r"(zero));
  return zero;
}
#ifdef WARPLOOM_EMULATOR
#define WARPLOOM_HERE ::warploom::g_here[::warploom::some_zero()]
#define WARPLOOM_SIZES ::warploom::g_here[0]
#else
#define WARPLOOM_HERE ::warploom::g_here
#define WARPLOOM_SIZES ::warploom::g_here
#endif
// What dim3 variables show, the same for all threads of a kernel. dim3 has constructors, so that no
// constant can hold one (see above), and the compiler knows the address only if it is the first.
WARPLOOM_INLINED inline const dim3& as_dim3(const uint3& _Wv) {
  return reinterpret_cast<const dim3&>(_Wv);
}
WARPLOOM_INLINED inline uint3 thread_index() { return WARPLOOM_HERE._Wthread._Windex; }
WARPLOOM_INLINED inline dim3 block_dimension() { return WARPLOOM_SIZES._Wblock_size; }
WARPLOOM_INLINED inline unsigned lane_index() { return WARPLOOM_HERE._Wthread.linear % 32; }

// What a variable holds whose declaration sets nothing (unset.py): another word in each run of a
// plan, as of memory that nobody has written. Where it is set before it is read, the compiler drops
// the call. No code of the program's may run for it: neither an operator of a type, nor what
// `unset` would find in another namespace.
[[gnu::const]] std::uint64_t unset_word(const char* name);
template <class _WT>
WARPLOOM_INLINED inline _WT unset_value(const char* name) {
  const std::uint64_t word = unset_word(name);
  if constexpr (std::is_same_v<_WT, bool>) {
    return word & 1;
  } else {
    struct {
      std::uint64_t words[(sizeof(_WT) + 7) / 8];
    } whole;
    for (auto& each : whole.words) each = word;
    struct {
      unsigned char bytes[sizeof(_WT)];
    } part;
    __builtin_memcpy(&part, &whole, sizeof part);
    return __builtin_bit_cast(_WT, part);
  }
}
template <class _WT>
WARPLOOM_INLINED constexpr _WT unset_start(const char* name) {
  return __builtin_is_constant_evaluated() ? _WT() : ::warploom::unset_value<_WT>(name);
}
template <class _WT>
WARPLOOM_INLINED constexpr void unset(_WT& variable, const char* name) {
  constexpr std::size_t most = 1024;
  if constexpr (std::is_array_v<_WT>) {
    if constexpr (sizeof(_WT) <= most) {
      for (auto& each : variable) ::warploom::unset(each, name);
    }
  } else if constexpr (std::is_trivially_default_constructible_v<_WT> &&
                       std::is_trivially_copyable_v<_WT> && !std::is_volatile_v<_WT> &&
                       sizeof(_WT) <= most) {
    if (!__builtin_is_constant_evaluated()) {
      const auto value = unset_value<_WT>(name);
      __builtin_memcpy(__builtin_addressof(variable), __builtin_addressof(value), sizeof(_WT));
    }
  }
}

// Where a thread may wait for others of its block: assembly of the runtime (fiber.cpp) hands over
// to the next thread without a C++ frame in between, and on x86-64 without a call. There the thread
// leaves nothing in registers, and goes on at the label, maybe much later.
#if defined(__x86_64__)
#define WARPLOOM_WAIT(name, first, second, third)                                                \
  asm volatile("leaq 1f(%%rip), %%rax\n\tjmp *" name "@GOTPCREL(%%rip)\n1:"                      \
               : "+D"(first), "+S"(second), "+d"(third)                                          \
               :                                                                                 \
               : "rax", "rbx", "rcx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",      \
                 "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", \
                 "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "st", "st(1)", "st(2)",   \
                 "st(3)", "st(4)", "st(5)", "st(6)", "st(7)", "cc", "memory")
#endif

// Where a function with this as a default argument is called: two calls on one line differ.
#if __has_builtin(__builtin_COLUMN)
#define WARPLOOM_SITE (__builtin_LINE() << 12 | __builtin_COLUMN())
#else
#define WARPLOOM_SITE (static_cast<int>(reinterpret_cast<long>(__builtin_source_location())))
#endif

// `site` tells calls apart: threads that meet at different ones have diverged.
#if defined(__x86_64__)
WARPLOOM_INLINED inline void block_barrier(int site) {
  std::uint64_t none = 0;
  unsigned nothing = 0;
  WARPLOOM_WAIT("warploom_barrier", site, none, nothing);
}
#else
void block_barrier(int site) __asm__("warploom_barrier");
#endif
enum class BarrierVote { Count, And, Or };
int voting_barrier(BarrierVote vote, int predicate, int site);
void named_barrier(unsigned id, unsigned threads, int site = WARPLOOM_SITE);
// The same with a number of the hardware's, as barrier.sync takes it.
void numbered_barrier(unsigned id, unsigned threads, int site = WARPLOOM_SITE);
// The same for whole warps, as bar.sync asks for.
void aligned_barrier(unsigned id, unsigned threads, int site = WARPLOOM_SITE);
// Memory that the threads of one part of the block share: what they exchange between barriers.
void* part_memory(unsigned part, std::size_t bytes);
// The lanes of `mask` come together, each with a value. Above the lowest byte stands what tells
// operations of one name apart (their types).
enum class WarpOperation : unsigned {
  Barrier,
  Shuffle,
  ShuffleUp,
  ShuffleDown,
  ShuffleXor,
  Ballot,
  Any,
  All,
  MatchAny,
  MatchAll,
  ReduceAdd,
  ReduceMin,
  ReduceMax,
  ReduceAnd,
  ReduceOr,
  ReduceXor,
  Gather
};
constexpr WarpOperation of_kind(WarpOperation operation, unsigned kind) {
  return static_cast<WarpOperation>(static_cast<unsigned>(operation) | kind << 8);
}
#if defined(__x86_64__)
WARPLOOM_INLINED inline void warp_meet(unsigned mask, std::uint64_t value,
                                       WarpOperation operation) {
  WARPLOOM_WAIT("warploom_meet", mask, value, operation);
}
#else
void warp_meet(unsigned mask, std::uint64_t value,
               WarpOperation operation) __asm__("warploom_meet");
#endif
// What has come of it, for the lane that asks right after.
void warp_order();  // what the lanes did before is ordered
std::uint64_t warp_value(std::uint64_t value, unsigned source);
void warp_values(unsigned mask, std::uint64_t out[32]);
unsigned warp_present();             // lanes that gave a value: those that have ended did not
unsigned warp_votes(unsigned mask);  // lanes whose value is not 0

WARPLOOM_INLINED inline void warp_barrier(unsigned mask) {
  warp_meet(mask, 0, WarpOperation::Barrier);
  warp_order();
}
// Every lane of `mask` gives a value and gets the one of `source` (undefined if it gave none).
WARPLOOM_INLINED inline std::uint64_t warp_exchange(
    unsigned mask, std::uint64_t value, unsigned source,
    WarpOperation operation = WarpOperation::Shuffle) {
  warp_meet(mask, value, operation);
  return warp_value(value, source);
}
// Every lane of `mask` gives a value and gets all 32 (lanes out of the mask read 0).
WARPLOOM_INLINED inline void warp_gather(unsigned mask, std::uint64_t value, std::uint64_t out[32],
                                         WarpOperation operation = WarpOperation::Gather) {
  warp_meet(mask, value, operation);
  warp_values(mask, out);
}
WARPLOOM_INLINED inline unsigned warp_ballot(unsigned mask, bool predicate,
                                             WarpOperation operation = WarpOperation::Ballot) {
  warp_meet(mask, predicate, operation);
  return warp_votes(mask);
}
// A shuffle within groups of `width` lanes that is no power of two, or more than a warp.
void refuse_width(int width);
// The lanes of the warp that come to this place together, as far as they can.
unsigned active_mask(int site);
// Barrier of all blocks of a cooperative launch.
void grid_barrier(int site);
bool grid_is_cooperative();
// Programmatic dependent launch: waits for the kernel ahead on the stream; lets the next one begin.
void await_primary();
void trigger_dependents();

// Memory order and scope, in the numbering that the atomics below use.
enum class Order { Relaxed, Acquire, Release, AcqRel, SeqCst };
enum class Scope { Block, Device, System };
void fence(Order order, Scope scope);
// What a read-modify-write makes of what it finds; `Bits`: some of them.
enum class Update : unsigned char {
  Other,
  Exchange,
  Bits,
  AddInteger,
  AddFloat,
  LeastInteger,
  LeastUnsigned,
  MostInteger,
  MostUnsigned,
  Or,
  And
};
// Called around each emulated atomic: it checks and synchronizes, and counts as one access.
void atomic_access(const void* address, unsigned bytes, bool reads, bool writes, Order order,
                   Scope scope, Update update = Update::Other);
// Called after an emulated atomic that changed memory: threads that poll may go on. The second one
// is for updates that can take away what others have put there: who imports it may read by these.
void atomic_changed();
void atomic_taken();
template <class _WT>
inline constexpr Update adds = std::is_integral_v<_WT>         ? Update::AddInteger
                               : std::is_floating_point_v<_WT> ? Update::AddFloat
                                                               : Update::Other;
template <class _WT>
inline constexpr Update leasts = !std::is_integral_v<_WT>  ? Update::Other
                                 : std::is_unsigned_v<_WT> ? Update::LeastUnsigned
                                                           : Update::LeastInteger;
template <class _WT>
inline constexpr Update mosts = !std::is_integral_v<_WT>  ? Update::Other
                                : std::is_unsigned_v<_WT> ? Update::MostUnsigned
                                                          : Update::MostInteger;
template <Update kUpdate>
WARPLOOM_INLINED inline void changed_by() {
  if constexpr (kUpdate == Update::Exchange || kUpdate == Update::Bits || kUpdate == Update::Or ||
                kUpdate == Update::And) {
    atomic_taken();
  } else {
    atomic_changed();
  }
}
// Behind a read-modify-write whose result nobody looks at.
void result_unused();
// Called before the check of a compare-and-swap: what it compares with, in its first bytes.
void atomic_compares(std::uint64_t low, std::uint64_t high);
template <class _WT>
WARPLOOM_INLINED inline void compares_with(const _WT& value) {
  if constexpr (sizeof(_WT) == 16) {
    struct Halves {
      std::uint64_t low, high;
    };
    const auto halves = __builtin_bit_cast(Halves, value);
    atomic_compares(halves.low, halves.high);
  } else if constexpr (sizeof(_WT) == 8) {
    atomic_compares(__builtin_bit_cast(std::uint64_t, value), 0);
  } else if constexpr (sizeof(_WT) == 4) {
    atomic_compares(__builtin_bit_cast(std::uint32_t, value), 0);
  } else if constexpr (sizeof(_WT) == 2) {
    atomic_compares(__builtin_bit_cast(std::uint16_t, value), 0);
  } else if constexpr (sizeof(_WT) == 1) {
    atomic_compares(__builtin_bit_cast(std::uint8_t, value), 0);
  }
}
// The same for a mere load. Programs without one cannot read an older value (STRONG_LOADS in
// run_records.py).
void atomic_load_access(const void* address, unsigned bytes, Order order, Scope scope);
// The atomic accesses of these bytes that follow are of one instruction, which sees them together.
void vector_access(const void* address, unsigned bytes);
// Called before a load by the read-only path, which may give what lay there when the kernel began.
void read_only_access(const void* address, unsigned bytes);

void device_assert(const char* expression, const char* file, int line);
[[noreturn]] void device_trap();
// A call that is declared but not emulated: ends the run as unsupported.
[[noreturn]] void unsupported(const char* name, const char* why);
// A GPU shifts by 32 or 64 at most: `x << n` in device code is written `x << by << n` (shifts.py).
struct By {};
inline constexpr By shift_by;
template <class _WT>
struct Shifted {
  _WT value;
};
template <class _WT>
concept Shiftable =
    std::is_integral_v<_WT> || std::is_same_v<_WT, __int128> ||
    std::is_same_v<_WT, unsigned __int128> || (std::is_enum_v<_WT> && requires(_WT _Wv) { +_Wv; });
template <Shiftable _WT>
WARPLOOM_INLINED constexpr auto operator<<(_WT value, By) {
  return Shifted<decltype(+value)>{value};
}
template <Shiftable _WT>
WARPLOOM_INLINED constexpr auto operator>>(_WT value, By) {
  return Shifted<decltype(+value)>{value};
}
template <class _WT, Shiftable _WN>
WARPLOOM_INLINED constexpr _WT operator<<(Shifted<_WT> left, _WN count) {
  const auto most = static_cast<unsigned>(sizeof(_WT) * 8);
  const auto places = static_cast<unsigned>(+count);
  return places < most ? static_cast<_WT>(left.value << places) : static_cast<_WT>(0);
}
template <class _WT, Shiftable _WN>
WARPLOOM_INLINED constexpr _WT operator>>(Shifted<_WT> left, _WN count) {
  const auto most = static_cast<unsigned>(sizeof(_WT) * 8);
  const auto places = static_cast<unsigned>(+count);
  return static_cast<_WT>(left.value >> (places < most ? places : most - 1)) &
         static_cast<_WT>(places < most || left.value < 0 ? ~_WT{0} : _WT{0});
}
long long device_clock();
bool on_device();
// The arithmetic of a piece of device code; the rewriter puts this there in timed builds.
void count_operations(unsigned operations);
// The same inside of a statement: loads before and behind it may be on their way together.
void count_within(unsigned operations);
// A loop that compilers unroll: the loads of several iterations are on their way together. However
// the loop is left, that ends.
void count_iteration(unsigned operations);
void end_iterations();
class Unrolled {
 public:
  WARPLOOM_INLINED Unrolled() {}
  WARPLOOM_INLINED ~Unrolled() { end_iterations(); }
  WARPLOOM_INLINED bool goes_on(unsigned operations, bool on) const {
    if (on) count_iteration(operations);
    return on;
  }
};
// The same where a constant expression may stand, which does not run.
WARPLOOM_INLINED constexpr void count_at_run_time(unsigned operations) {
  if (!__builtin_is_constant_evaluated()) count_operations(operations);
}
WARPLOOM_INLINED constexpr void count_on_device(unsigned operations) {
  if (!__builtin_is_constant_evaluated() && on_device()) count_operations(operations);
}
WARPLOOM_INLINED constexpr void count_in_argument(unsigned operations) {
  if (!__builtin_is_constant_evaluated()) count_within(operations);
}
unsigned long long global_timer();

}  // namespace warploom

#include "ways.h"
