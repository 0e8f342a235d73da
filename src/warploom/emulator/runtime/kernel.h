// Kernels, blocks, threads and warps in flight.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "../include/warploom/device.h"
#include "clock.h"
#include "race.h"
#include "scheduler.h"
#include "stream.h"

namespace warploom {

struct Kernel;
struct Block;

struct GpuThread {
  uint3 index;
  uint16_t linear = 0;
  Block* block = nullptr;
  Fiber* fiber = nullptr;
  bool finished = false;
  bool has_own_clock = false;  // it acquired something that its block has not
  Clock own;
  // Fences and relaxed atomics, as in the C++ memory model.
  bool fenced = false;
  Clock fence_release;   // published by later relaxed atomic writes
  Scope fence_scope = Scope::Block;
  Clock pending;         // seen by relaxed atomic reads, acquired by the next fence
  uint16_t barrier = 0;  // barrier that it waits at, plus one
};

struct WarpState {
  uint64_t value[32] = {};
  uint64_t out[32] = {};
  unsigned arrived = 0;
  uint64_t generation = 0;
  std::vector<Fiber*> waiting;
  Clock clock;
};

struct BarrierState {
  unsigned arrived = 0, expected = 0;
  int count = 0, all = 1, any = 0, result_count = 0, result_all = 0, result_any = 0;
  uint64_t generation = 0;
  Frames where;
  std::vector<Fiber*> waiting;
};

struct SharedVariable {
  uintptr_t start;
  std::size_t bytes;
  const char* name;
};

struct Block final : Runnable {
  Block() : Runnable(Kind::Block) {}
  ~Block() override;
  void run() override;
  Kernel* kernel = nullptr;
  uint3 index;
  uint32_t number = 0;  // linear index in the grid
  std::vector<GpuThread> threads;
  unsigned next_thread = 0, live = 0;
  std::vector<Fiber*> ready;
  int slot = -1;  // shared memory slot
  std::size_t shared_used = 0;
  std::unordered_map<const void*, SharedVariable> shared;
  uintptr_t dynamic_start = 0;
  std::map<unsigned, BarrierState> barriers;
  std::map<uint64_t, WarpState> warps;  // by warp and mask
  // Happens-before inside of the block.
  Clock clock;
  uint32_t time = 1, base = 1;
  std::vector<uint32_t> warp_base;
  std::vector<GpuThread*> with_own_clock;
};

struct Kernel {
  const char* name;
  LaunchConfig config;
  std::function<void()> body;
  StreamOp* op = nullptr;
  int device = 0, rank = 0;
  std::vector<std::unique_ptr<Block>> resident;
  uint64_t next_block = 0, total_blocks = 0, finished_blocks = 0;
  unsigned residency = 0;  // blocks that fit on the device at once
};

// The running GPU thread; nullptr on the host.
inline GpuThread* current_thread() { return g_current ? g_current->gpu : nullptr; }
void describe_waiting(std::string& out);

}  // namespace warploom
