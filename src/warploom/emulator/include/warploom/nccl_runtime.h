// What the NCCL device-API shims call in the runtime. Nothing here depends on the NCCL version: the
// shims translate their version's structures to these.
#pragma once

#include "../nccl.h"
#include "device.h"

namespace warploom::nccl {

// --- host: device communicators ----------------------------------------------------------------

// A barrier or buffer asked for through the list of resource requirements.
struct ResourceRequest {
  std::size_t bytes = 0, align = 0;
  uint32_t* buffer = nullptr;  // where the handle goes
  int signals = 0, counters = 0;
  uint32_t* signal_start = nullptr;
  uint32_t* counter_start = nullptr;
  ResourceRequest* next = nullptr;
};

struct Team {
  int ranks, rank, stride;
};
// A team whose memory is to be reached by multimem.
struct TeamRequest {
  Team team{1, 0, 1};
  void** base = nullptr;  // of the handle to fill; may be missing
  TeamRequest* next = nullptr;
};

enum class Connection { Unspecified, None, Full, Rail, Stride };

struct DevCommRequest {
  bool initialized = true;  // by the initializer macro, where the version has one
  bool lsa_multimem = false, gin_force = false;
  int barriers = 0, lsa_barriers = 0, rail_barriers = 0, world_barriers = 0;
  int contexts = 0, signals = 0, counters = 0;
  int lla2a_blocks = 0, lla2a_slots = 0;
  bool strong_signals = true, va_signals = true;
  Connection connection = Connection::Unspecified;
  int stride = 1;
  ResourceRequest* resources = nullptr;
  TeamRequest* teams = nullptr;
};

struct BarrierInfo {
  uint32_t id = 0;  // 0: none was asked for
  int count = 0;
};

struct DevCommInfo {
  void* state = nullptr;
  int rank = 0, ranks = 0, lsa_rank = 0, lsa_size = 0;
  int contexts = 0, signals = 0, counters = 0;
  bool strong_legacy = true, railed = false;
  int context_stride = 1;
  ncclWindow_t resources = nullptr;
  uint64_t* shadows = nullptr;
  void* lsa_multimem = nullptr;
  BarrierInfo lsa, rail, world, hybrid_lsa, hybrid_rail, hybrid_world;
};

ncclResult_t create_devcomm(ncclComm_t comm, const DevCommRequest& request, DevCommInfo* info);
ncclResult_t destroy_devcomm(ncclComm_t comm, void* state);

struct Properties {
  bool initialized = true;
  bool multimem = false, one_sided = false;
  int rank = 0, ranks = 0, device = 0, lsa_teams = 0;
  uint64_t hash = 0;
};
ncclResult_t query_properties(ncclComm_t comm, Properties* properties);
// Ranks, own rank and LSA size of a communicator (all 0 if it is not valid).
void describe_comm(ncclComm_t comm, int* ranks, int* rank, int* lsa_size);

// Remembers that the barrier whose handle starts at `slot` is for `team`.
void declare_barrier(uint32_t* slot, Team team, int count, bool gin);
ncclResult_t host_pointer(ncclWindow_t window, std::size_t offset, bool lsa, int peer, void** out);

// --- device: windows ---------------------------------------------------------------------------

enum class Reach { Local, Lsa, World };
void* window_pointer(ncclWindow_t window, std::size_t offset, Reach reach, int peer);
void* window_pointer(ncclWindow_t window, std::size_t offset, Team team, int peer);
// `base` is what a multimem handle holds.
void* multimem_pointer(ncclWindow_t window, std::size_t offset, const void* base, const char* what);
ncclResult_t host_multimem_pointer(ncclWindow_t window, std::size_t offset, bool lsa, void* base,
                                   void** out);
ncclWindow_t find_window(void* state, const void* pointer);

// --- device: groups of threads -----------------------------------------------------------------

// Group barriers inside of an operation `op`; they check that the whole group takes part.
void sync_block(const char* op);
void sync_lanes(unsigned mask, const char* op);
void sync_warps(unsigned first, unsigned count, unsigned barrier, const char* op);

// --- device: GIN -------------------------------------------------------------------------------

struct Gin {
  void* state;
  uint32_t context;
};
void check_context(const Gin& gin);

// A wait without an end.
constexpr uint64_t kForever = ~uint64_t{0};

enum class Strength : uint8_t { Legacy, Strong, Weak };
struct RemoteAction {
  enum Kind : uint8_t { None, Indexed, Address } kind = None;
  Strength strength = Strength::Legacy;
  bool increment = false;  // an Inc, not an Add
  uint32_t signal = 0;
  uint64_t value = 0;
  ncclWindow_t window = nullptr;
  std::size_t offset = 0;
};
struct LocalAction {
  bool present = false;
  uint32_t counter = 0;
};

struct PutArgs {
  const char* name;  // of the call, for reports
  Team team;
  int peer;
  ncclWindow_t destination = nullptr, source = nullptr;
  std::size_t destination_offset = 0, source_offset = 0;
  std::size_t bytes = 0;
  const void* value = nullptr;  // instead of a source window
  RemoteAction remote{};
  LocalAction local{};
  Scope released = Scope::Device;  // how far the issuing thread's writes are released by it
};
void put(const Gin& gin, const PutArgs& args);  // also signal: no destination
void get(const Gin& gin, const PutArgs& args);  // destination is the local side
void flush(const Gin& gin, Order order);
void flush_async(const Gin& gin, Team team, int peer, uint64_t request[2]);
void wait_request(const Gin& gin, uint64_t request[2], Order order);

struct SignalName {
  uint32_t index = 0;
  ncclWindow_t window = nullptr;  // of a signal in a window
  std::size_t offset = 0;
};
uint64_t read_signal(const Gin& gin, const SignalName& name, int bits, Order order);
// Returns the value that ended the wait.
uint64_t wait_signal(const Gin& gin, const SignalName& name, uint64_t least, int bits, Order order,
                     const char* op);
// False: the time was over.
bool wait_signal_for(const Gin& gin, const SignalName& name, uint64_t least, int bits, Order order,
                     uint64_t cycles);
void reset_signal(const Gin& gin, const SignalName& name);
uint64_t* shadow_pointer(const Gin& gin, uint32_t signal);
uint64_t read_shadow(const Gin& gin, uint32_t signal);
void write_shadow(const Gin& gin, uint32_t signal, uint64_t value);
void increase_shadow(const Gin& gin, uint32_t signal, uint64_t delta);
uint64_t read_counter(const Gin& gin, uint32_t counter, int bits, Order order);
// False: the time was over.
bool wait_counter(const Gin& gin, uint32_t counter, uint64_t least, int bits, Order order,
                  uint64_t cycles = kForever);
void reset_counter(const Gin& gin, uint32_t counter);

// --- device: barriers --------------------------------------------------------------------------

enum class BarrierKind : uint8_t { Lsa, Rail, World, HybridLsa, HybridRail, HybridWorld, Custom };
constexpr uint32_t kFencePut = 1, kFenceGet = 2;
struct BarrierRef {
  void* state;
  BarrierKind kind;
  Team team;
  uint32_t handle;  // id of the barrier's handle
  uint32_t index;
  bool gin;  // over the network: belongs to a context
  uint32_t context;
  bool all_contexts;  // of the fence
  bool multimem = false;
  const void* multimem_base = nullptr;
};
void open_barrier(const BarrierRef& barrier);   // checks; by one thread of the group
void close_barrier(const BarrierRef& barrier);  // the session ends
void barrier_arrive(const BarrierRef& barrier, Order order, uint32_t fence);
// False: the time was over.
bool barrier_wait(const BarrierRef& barrier, Order order, uint32_t fence, const char* op,
                  uint64_t cycles = kForever);
// The line of a low-latency buffer that a session uses must be one of `lines`.
void check_slot(int line, int lines, const char* call);

}  // namespace warploom::nccl
