// Processes, host threads and devices of the emulated machine.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/config.h"
#include "base/flags.h"
#include "machine/process_state.h"
#include "memory/memory.h"
#include "order/clock.h"
#include "order/race.h"
#include "schedule/fiber.h"
#include "schedule/scheduler.h"

namespace warploom {

struct Stream;

// One host thread of the program; a fiber of its own.
struct HostThread final : Runnable {
  HostThread() : Runnable(Kind::Host) {}
  void run() override;
  Fiber* fiber = nullptr;
  struct Process* process = nullptr;
  int device = 0;  // current device (global number)
  int number = 0;  // in the order in which the process made them
  AgentId agent = 0;
  uint32_t time = 1;  // ticks at each release
  OpId op = 0;        // operation of the current tick, made when first needed
  Clock clock;
  int last_error = 0;    // of the CUDA runtime, for cudaGetLastError
  int launch_error = 0;  // of the last launch that failed
  Frames error_where{};  // and where it arose
  bool error_seen = true;
  // Calls of CUDA that failed and are no launches, until the program asks for the last error.
  struct FailedCall {
    int error;
    Frames where;
  };
  std::vector<FailedCall> failed;
  Clock pending{};        // what it saw by relaxed atomics: an acquiring fence takes it over
  Clock fence_release{};  // what its last releasing fence gives to the relaxed stores behind it
  bool fenced = false;    // there was one
  bool saw_narrow_scope = false;      // a release whose scope did not reach the host
  unsigned long long work = 0;        // accesses and operations that modelled time has not counted
  bool working = false;               // its work counts: it has begun to use the device
  struct Started* started = nullptr;  // what pthread_t stands for
  std::map<int, Stream*> streams;     // its default stream of each device: cudaStreamPerThread
  const char* runs_for = nullptr;     // the call whose host function it runs on a stream
  ThreadState state;
};

// One emulated process: its own copy of the program's globals.
struct Process {
  int rank = 0;  // MPI rank
  int first_device = 0;
  void* handle = nullptr;
  uintptr_t base = 0, end = 0;  // of the loaded program
  uintptr_t variables = 0;      // where its variables begin, which end with the program
  std::vector<std::unique_ptr<HostThread>> threads;
  int exit_code = 0;
  bool exited = false;
  ProcessState state;
  // Of its contexts, by device: what cudaDeviceSetLimit has set, by cudaLimit.
  using Limits = std::array<std::size_t, 7>;
  std::map<int, Limits> limits;
  Limits& limits_on(int device) {
    const Limits fresh = {1024, 1 << 20, 8 << 20, 2, 2048, 64, 0};
    return limits.try_emplace(device, fresh).first->second;
  }
  bool holds(uintptr_t address, std::size_t bytes) const {
    return address >= base && address < end && bytes <= end - address;
  }
  bool holds_variable(uintptr_t address) const { return address >= variables && address < end; }
};

struct Device {
  int id = 0;
  // The process that has used it first: most accesses are looked up by device alone. Others that
  // share it are its guests.
  int process = -1;
  bool is_for(int rank);
  Stream* legacy = nullptr;  // the default stream
  std::vector<Stream*> streams;
  std::vector<bool> peers;  // access enabled by cudaDeviceEnablePeerAccess
  std::vector<bool> pools;  // whose pools' memory it may use, by cudaMemPoolSetAccess
  int sm_count = 132;
};

extern std::vector<std::unique_ptr<Process>> g_processes;
extern std::vector<std::unique_ptr<Device>> g_devices;

HostThread& current_host();  // the running host thread; a GPU thread here is a finding and a stop
Process& current_process();
// What programs are told of where their file lies.
const char* program_path();
// The rank shown in reports for the running fiber: MPI rank, or device in a single process.
int current_rank();
// While a block has its turn: the device whose memory its threads may touch without a second look,
// or that they are watched; checked: for races alone.
constexpr int kNoThread = -2, kWatchedThreads = -3, kCheckedThreads = -4;
extern int g_plain_device;
inline bool valid_device(int device) { return device >= 0 && device < g_config.ranks; }
int lsa_team_of(int rank);  // ranks of one LSA team are consecutive
inline bool Allocation::is_of(const Fiber& fiber) const {
  return process < 0 || !fiber.process || fiber.process->rank == process;
}
// A process sees the devices of its own machine, numbered from 0.
inline int devices_of_machine() {
  return g_config.node_size > 0 ? g_config.node_size : g_config.ranks;
}
int machine_of(const Process& process);
// The device that each thread begins with: number 0 of the machine ("Device Selection" in the CUDA
// C++ programming guide).
int default_device(const Process& process);
std::string machine_name();  // of the running process's machine
// The number that the running process has for a device, and the other way: false if it sees none of
// that number.
int number_of_device(int device);
bool find_device(int& number);
[[noreturn]] void end_process(int code);  // exit() of the running host thread's process

}  // namespace warploom
