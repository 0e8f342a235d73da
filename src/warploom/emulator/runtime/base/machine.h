// The machine whose time is modelled: the numbers of a topology profile, as the driver sends them.
// Nanoseconds and gigabytes per second, which are bytes per nanosecond. docs/time-model.md says
// what each one means.
#pragma once

#include <string>

namespace warploom {

// clang-format off
#define WARPLOOM_MACHINE(X) \
  X(sm_count) X(clock_ghz) X(lanes_per_sm) X(threads_per_sm) X(blocks_per_sm) \
  X(shared_per_sm_kb) X(registers_per_sm) X(registers_per_thread) \
  X(op_latency_cycles) X(barrier_cycles) X(barrier_warp_cycles) X(warp_op_ns) \
  X(block_dispatch_ns) X(kernel_start_ns) X(grid_sync_ns) X(fence_ns) X(system_fence_ns) \
  X(shared_bytes_per_cycle) X(shared_latency_ns) X(l1_latency_ns) \
  X(near_loads_in_flight) X(l2_mb) X(l2_gbs) X(l2_latency_ns) X(sm_gbs) X(sm_store_gbs) \
  X(dram_gbs) X(dram_latency_ns) X(loads_in_flight) X(atomic_ns) \
  X(launch_ns) X(kernel_gap_ns) X(graph_gap_ns) X(host_launch_ns) X(host_copy_ns) \
  X(host_call_ns) X(host_sync_ns) X(host_nccl_ns) X(event_ns) X(event_wait_ns) \
  X(copy_start_ns) X(pcie_gbs) X(pcie_latency_ns) X(pageable_gbs) X(pageable_ns) \
  X(gpus_per_node) X(nvlink_gbs) X(nvlink_copy_gbs) X(nvlink_latency_ns) X(lsa_cta_gbs) \
  X(device_handle_ns) X(lsa_barrier_ns) X(lsa_barrier_blocks_ns) X(lsa_barrier_peer_ns) \
  X(nic_gbs) X(gin_put_ns) X(gin_latency_ns) X(gin_message_ns) X(gin_flush_ns) \
  X(gin_barrier_ns) X(poll_ns) \
  X(nccl_ring_gbs) X(nccl_nvls_gbs) X(nccl_nvls_ns) X(nccl_ll_ns) X(nccl_ll128_ns) \
  X(nccl_simple_ns) X(nccl_ll_hop_ns) X(nccl_ll128_hop_ns) X(nccl_simple_hop_ns) \
  X(nccl_ll_net_hop_ns) X(nccl_ll128_net_hop_ns) X(nccl_simple_net_hop_ns) \
  X(nccl_ll_gbs) X(nccl_p2p_base_ns) X(nccl_p2p_peer_ns) \
  X(nccl_p2p_simple_ns) X(nccl_p2p_gbs) \
  X(mpi_latency_ns) X(mpi_net_latency_ns) X(mpi_gbs)
// clang-format on

// In pages of its own, which are read-only once the program runs.
struct alignas(4096) Machine {
#define X(name) double name = 0;
  WARPLOOM_MACHINE(X)
#undef X
};
extern Machine g_machine;

// A line `machine.NAME=VALUE` of the configuration; false: there is no such number.
bool set_machine(const std::string& name, double value);

}  // namespace warploom
