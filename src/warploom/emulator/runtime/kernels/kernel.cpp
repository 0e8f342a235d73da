// Launches: validation, residency, blocks coming and going.
#include "kernels/kernel.h"

#include "../../include/warploom/blocks_at_once.h"
#include "host/call_targets.h"
#include "host/program_range.h"
#include "kernels/cluster.h"
#include "kernels/kernel_plan.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>

#include "base/stats.h"
#include "behavior/inputs.h"
#include "behavior/spoil.h"
#include "cuda/host_functions.h"
#include "machine/world_setup.h"
#include "memory/memory.h"
#include "memory/variables.h"
#include "order/history_read_only.h"
#include "report/report.h"
#include "timing/timing.h"

namespace warploom {

namespace {

// Limits of compute capability 9.0 (CUDA C++ Programming Guide, table "Technical Specifications").
constexpr uint64_t kThreadsPerBlock = 1024;
constexpr unsigned kThreadsPerSm = 2048, kBlocksPerSm = 32;
constexpr std::size_t kSharedPerSm = 228 << 10;

enum {
  kInvalidConfiguration = 9,
  kCooperativeTooLarge = 720,
  kInvalidValue = 1,
  kInvalidResourceHandle = 400
};

std::vector<Kernel*> g_running;
bool g_only_launching = false;
std::map<std::string, LargestBlock> g_largest_blocks;  // by kernel

uint64_t volume(dim3 d) { return uint64_t{d.x} * d.y * d.z; }

int validate(const LaunchConfig& config) {
  const dim3 g = config.grid, b = config.block;
  if (volume(b) == 0 || volume(b) > kThreadsPerBlock || b.x > 1024 || b.y > 1024 || b.z > 64) {
    return kInvalidConfiguration;
  }
  if (volume(g) == 0 || g.x > 0x7FFFFFFF || g.y > 65535 || g.z > 65535) {
    return kInvalidConfiguration;
  }
  return 0;
}

// `variables`: bytes of `__shared__` variables.
unsigned residency_of(const LaunchConfig& config, const Device& device, dim3 shape,
                      std::size_t variables = 0) {
  const auto threads = static_cast<unsigned>(volume(config.block) + 31) / 32 * 32;
  unsigned per_sm = std::min(kBlocksPerSm, kThreadsPerSm / threads);
  if (const std::size_t shared = config.shared_bytes + variables) {
    per_sm = std::min<unsigned>(per_sm, static_cast<unsigned>(kSharedPerSm / (shared + 1024)));
  }
  const auto cluster = static_cast<unsigned>(volume(shape));
  return std::max(
      1u, blocks_at_once(static_cast<unsigned>(device.sm_count), std::max(1u, per_sm), cluster));
}

uint3 index_of(uint64_t number, dim3 grid) {
  return {static_cast<unsigned>(number % grid.x), static_cast<unsigned>(number / grid.x % grid.y),
          static_cast<unsigned>(number / grid.x / grid.y)};
}

std::unique_ptr<Block> make_block(Kernel& kernel, uint64_t number) {
  auto block = std::make_unique<Block>();
  block->kernel = &kernel;
  block->op = kernel.op->op;
  block->index = index_of(number, kernel.config.grid);
  block->number = static_cast<uint32_t>(number);
  const auto threads = static_cast<unsigned>(volume(kernel.config.block));
  block->live = threads;
  block->warp_base.assign((threads + 31) / 32, 0);
  block->clock = kernel.before;
  block->note_clock();
  block->known_ops = kernel.known_ops;
  return block;
}

int fail_launch(HostThread& host, int error) {
  host.last_error = host.launch_error = error;
  host.error_seen = false;
  host.error_where = capture_frames();
  return error;
}

}  // namespace

// What a thread wrote to the far end of its stack stays there: no need to look at each thread's
// end.
void check_stacks(const Kernel& kernel) {
  if (std::ranges::none_of(kernel.fibers, stack_overflowed)) return;
  report_finding({.kind = kinds::crash,
                  .message = format("a thread of kernel %s uses more than %zu KiB of local memory",
                                    kernel.name, kGpuStackBytes >> 10),
                  .hint = "make local arrays smaller; look for unbounded recursion",
                  .rank = kernel.rank});
  stop_run();
}

const std::vector<Kernel*>& running_kernels() { return g_running; }
const std::map<std::string, LargestBlock>& largest_blocks() { return g_largest_blocks; }

Kernel::~Kernel() {
  std::erase(g_running, this);
  for (const auto& [which, copy] : constants) release_closure(copy);
}

const void* constant_copy(const void* parameter, std::size_t bytes, unsigned number) {
  const GpuThread* thread = current_thread();
  if (!thread) return parameter;
  program_reads(parameter, bytes);
  void*& copy = thread->block->kernel->constants[{number, bytes}];
  if (!copy) {
    copy = closure_memory(bytes);
    std::memcpy(copy, parameter, bytes);
  }
  return copy;
}

void Kernel::start_block() {
  while (next_block < total_blocks) {
    const uint64_t next = next_block++;
    const uint64_t number = start.backwards ? total_blocks - 1 - next : next;
    if (started_ahead.erase(number)) continue;
    // Those of its cluster run at the same time: they take room too.
    enter_cluster(begin(number));
    return;
  }
}

Block& Kernel::start_ahead(uint64_t number) {
  started_ahead.insert(number);
  return begin(number);
}

Block& Kernel::begin(uint64_t number) {
  resident.push_back(make_block(*this, number));
  Block& block = *resident.back();
  if (g_timed) begin_block(block);
  enqueue(&block);
  return block;
}

void Kernel::activate_blocks() {
  if (start.late) return;
  while (next_block < total_blocks && resident.size() < std::min(residency, window)) start_block();
}

std::size_t Kernel::static_bytes() const {
  std::size_t bytes = 0;
  for (const auto& [key, more] : static_shared) bytes += more;
  return bytes;
}

void Kernel::needs_room() {
  const Device& on = *g_devices[static_cast<std::size_t>(device)];
  const std::size_t bytes = static_bytes();
  residency = std::min(residency, residency_of(config, on, cluster, bytes));
  if (!config.cooperative || total_blocks <= residency) return;
  const std::string with =
      bytes ? format("their %zu bytes of __shared__ variables", bytes)
            : format("their __cluster_dims__(%u, %u, %u)", cluster.x, cluster.y, cluster.z);
  report_finding(
      {.kind = kinds::launch_error,
       .message = format("a cooperative launch of %llu blocks, of which %u fit at once "
                         "with %s: it fails",
                         static_cast<unsigned long long>(total_blocks), residency, with.c_str()),
       .hint = "ask cudaOccupancyMaxActiveBlocksPerMultiprocessor how many fit",
       .where = op->where,
       .rank = rank,
       .kernel = name});
  stop_run();
}

void Kernel::block_parked() {
  if (start.late || next_block == total_blocks || window >= residency) return;
  window++;
  activate_blocks();
}

void Kernel::block_finished(Block* block) {
  op->clock.join(block->clock);
  if (block->has_pending) {
    // The end of a kernel acquires what relaxed reads have seen.
    for (const GpuThread& thread : block->threads) {
      for (const Clock& seen : thread.pending) op->clock.join(seen);
    }
  }
  if (!block->has_pending && !block->has_fenced) spare_threads = std::move(block->threads);
  finished_blocks++;
  if (g_timed) end_block(*block);
  auto same = [block](const auto& entry) { return entry.get() == block; };
  std::erase_if(resident, same);
  if (finished_blocks < total_blocks) {
    activate_blocks();
    return;
  }
  check_stacks(*this);
  check_read_only(*this);
  if (g_timed) end_kernel(*this);
  complete(*op);
}

namespace {

// The arguments live until the last launch that reads them has ended.
std::shared_ptr<void> own(const KernelBody& body) {
  return {body.closure, [destroy = body.destroy](void* closure) {
            if (destroy) destroy(closure);
            if (closure) release_closure(closure);
          }};
}

void start_kernel(const std::shared_ptr<Kernel>& kernel, StreamOp& op) {
  kernel->op = &op;
  op.clock.settle({.op = op.op});
  kernel->before = op.clock;
  kernel->rank = op.rank;
  if (g_timed) begin_kernel(*kernel);
  g_running.push_back(kernel.get());
  open_read_only(*kernel);
  op.waiting_for = [k = kernel.get()] {
    return format("%llu of %llu blocks have ended",
                  static_cast<unsigned long long>(k->finished_blocks),
                  static_cast<unsigned long long>(k->total_blocks));
  };
  kernel->start = plan_start(*kernel);
  if (kernel->start.late && !kernel->start.first_late) {
    kernel->start_block();
  } else {
    kernel->activate_blocks();
  }
}

}  // namespace

void only_launch() { g_only_launching = true; }

int plan_kernel(KernelPlan& plan, const char* name, const LaunchConfig& config, KernelBody body,
                int device) {
  check_kernel_body(body.closure, reinterpret_cast<const void*>(body.invoke),
                    reinterpret_cast<const void*>(body.destroy));
  plan = {name, config, body, own(body), device, current_host().process, 0};
  if (refused_in_host_function("cudaLaunchKernel")) return cudaErrorNotPermitted;
  check_constants(current_rank());
  if (const int error = validate(config)) return error;
  if (const int error = check_cluster_shape(name, config.grid, config.cluster)) return error;
  if (!allows_shared(plan, config.shared_bytes)) return kInvalidValue;
  LargestBlock& largest = g_largest_blocks[name];
  largest.threads = std::max(largest.threads, volume(config.block));
  largest.dynamic_shared = std::max(largest.dynamic_shared, config.shared_bytes);
  largest.allowed_shared = std::max(largest.allowed_shared, allowed_shared(plan));
  plan.residency =
      residency_of(config, *g_devices[static_cast<std::size_t>(device)], config.cluster);
  if (config.cooperative && volume(config.grid) > plan.residency) return kCooperativeTooLarge;
  return 0;
}

StartFunction start_of(const KernelPlan& plan) {
  auto kernel = std::make_shared<Kernel>();
  kernel->name = plan.name;
  kernel->config = plan.config;
  kernel->body = plan.body;
  kernel->body_owner = plan.owner;
  kernel->device = plan.device;
  kernel->process = plan.process;
  kernel->stack_limit = plan.process->limits_on(plan.device)[cudaLimitStackSize];
  Device& device = *g_devices[static_cast<std::size_t>(plan.device)];
  kernel->of_guest = !device.is_for(plan.process->rank);
  kernel->total_blocks = volume(plan.config.grid);
  kernel->residency = plan.residency;
  kernel->cluster = plan.config.cluster;
  kernel->number = static_cast<uint32_t>(++g_stats.kernels);
  return [kernel](StreamOp& op) { start_kernel(kernel, op); };
}

NodeWork work_of(const KernelPlan& plan, const Frames& where, int rank) {
  NodeWork work{.type = cudaGraphNodeTypeKernel,
                .kind = OpKind::Kernel,
                .name = plan.name,
                .where = where,
                .rank = rank,
                .device = plan.device,
                .prepare = {}};
  work.prepare = [plan](const std::shared_ptr<StreamOp>&) { return start_of(plan); };
  return work;
}

int launch_kernel(const char* name, const LaunchConfig& config, KernelBody body) {
  HostThread& host = current_host();
  Stream* stream = resolve_stream(config.stream);
  KernelPlan plan;
  const int error = plan_kernel(plan, name, config, body, stream->device);
  if (error) return fail_launch(host, error);
  // "Stream and Event Behavior" in the CUDA C++ Programming Guide.
  if (stream->device != host.device) return fail_launch(host, kInvalidResourceHandle);
  if (implicit_in_capture(stream)) return fail_launch(host, cudaErrorStreamCaptureImplicit);
  if (stream->capture) {
    if (config.programmatic) {
      stop_unsupported("cudaLaunchAttributeProgrammaticStreamSerialization",
                       "programmatic dependent launches in graphs are not emulated");
    }
    const int rank = g_config.single_process ? stream->device : current_rank();
    capture_node(stream, work_of(plan, capture_frames(), rank));
    return 0;
  }
  if (g_only_launching) return 0;
  if (g_spoiling) note_launch(stream->device);
  push_op(stream, OpKind::Kernel, name, start_of(plan))->programmatic = config.programmatic;
  if (g_config.sync_launches) synchronize(stream, "a kernel (diagnostic rerun)");
  return 0;
}

}  // namespace warploom
