// grid.sync(): a barrier of all blocks of a cooperative launch.
#include "kernels/kernel.h"
#include "report/report.h"
#include "timing/timing.h"

namespace warploom {

namespace {

// Every block has come: what each did before is ordered before what any does next.
void open_grid(Kernel& kernel) {
  kernel.at_grid_barrier = 0;
  kernel.grid_generation++;
  if (g_timed) meet_grid(kernel);
  note_progress();
  for (auto& block : kernel.resident) {
    block->clock.join(kernel.grid_clock);
    order_block(*block);
    block->clock.settle();
    block->note_clock();
    wake_all(block->grid_barrier.waiting);
  }
}

// The last live thread of the block has come.
void block_arrived(Block& block) {
  Kernel& kernel = *block.kernel;
  block.grid_barrier.arrived = 0;
  order_block(block);
  block.clock.advance_block(kernel.op->op, block.number, block.base, 0, 0);
  kernel.grid_clock.join(block.clock);
  // Blocks that have ended never come: the others then wait for ever, as on the device.
  if (++kernel.at_grid_barrier == kernel.total_blocks) open_grid(kernel);
}

}  // namespace

bool grid_is_cooperative() {
  const GpuThread* thread = current_thread();
  return thread && thread->block->kernel->config.cooperative;
}

void grid_barrier(int site) {
  GpuThread* self = current_thread();
  if (!self) stop_unsupported("grid.sync()", "it was called outside of a kernel");
  Block& block = *self->block;
  Kernel& kernel = *block.kernel;
  if (!kernel.config.cooperative) {
    report_finding({.kind = kinds::not_cooperative,
                    .message = format("kernel %s calls grid.sync(), but was not launched with "
                                      "cudaLaunchCooperativeKernel",
                                      kernel.name),
                    .hint = "launch it with cudaLaunchCooperativeKernel, or with the attribute "
                            "cudaLaunchAttributeCooperative",
                    .other = kernel.op->where});
    stop_run();
  }
  BarrierState& barrier = block.grid_barrier;
  barrier.site = site;
  barrier.arrived++;
  const uint64_t generation = kernel.grid_generation;
  if (barrier.arrived >= block.live) block_arrived(block);
  if (kernel.grid_generation != generation) return;
  barrier.waiting.push_back(g_current);
  const WaitReason reason{"grid.sync()", [&kernel, &block] {
                            const auto& at = block.grid_barrier;
                            if (at.arrived > 0 && at.arrived < block.live) {
                              return format("%u of %u threads of the block have arrived",
                                            at.arrived, block.live);
                            }
                            return format("%llu of %llu blocks have arrived",
                                          static_cast<unsigned long long>(kernel.at_grid_barrier),
                                          static_cast<unsigned long long>(kernel.total_blocks));
                          }};
  while (kernel.grid_generation == generation) block_current(reason);
}

void grid_barrier_after_exit(Block& block) {
  if (block.grid_barrier.arrived > 0 && block.grid_barrier.arrived >= block.live) {
    block_arrived(block);
  }
}

}  // namespace warploom
