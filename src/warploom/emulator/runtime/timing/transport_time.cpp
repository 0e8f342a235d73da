#include "timing/transport_time.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "kernels/kernel.h"
#include "metering/meter.h"
#include "timing/stream_time.h"
#include "timing/timeline.h"
#include "timing/timing.h"

namespace warploom {

namespace {

// The GPUs of a machine of the topology, or those that the run has in one, if these are fewer.
double node_gpus() {
  return g_config.node_size > 0 ? std::min<double>(g_config.node_size, g_machine.gpus_per_node)
                                : g_machine.gpus_per_node;
}

bool same_node(int a, int b) {
  const auto size = static_cast<int>(node_gpus());
  return a / size == b / size;
}

// When each way of a rank's MPI is free; all its messages share them.
struct MpiWay {
  double out = 0, in = 0;
};
std::map<int, MpiWay> g_mpi_ways;

int nodes_of(int ranks) { return static_cast<int>(std::ceil(ranks / node_gpus())); }

}  // namespace

double mpi_arrival(int from, int to, std::size_t bytes) {
  const Machine& m = g_machine;
  const double latency = same_node(from, to) ? m.mpi_latency_ns : m.mpi_net_latency_ns;
  const double moving = static_cast<double>(bytes) / m.mpi_gbs;
  MpiWay& out = g_mpi_ways[from];
  const double departs = std::max(time_now(), out.out);
  out.out = departs + moving;
  MpiWay& in = g_mpi_ways[to];
  return in.in = std::max(departs + latency, in.in) + moving;
}

// A tree within nodes, and one among them.
double mpi_meeting_ns(int ranks, std::size_t bytes) {
  const Machine& m = g_machine;
  const int nodes = nodes_of(ranks);
  const double inside = std::ceil(std::log2(std::min<double>(ranks, node_gpus())));
  const double among = std::ceil(std::log2(nodes));
  return inside * m.mpi_latency_ns + among * m.mpi_net_latency_ns +
         static_cast<double>(bytes) / m.mpi_gbs;
}

}  // namespace warploom

namespace warploom::nccl {

namespace {

struct Nic {
  double out = 0, in = 0;  // when each way is free
};
std::map<int, Nic> g_nics;  // by device

int device_of_member(const Channel& channel, int rank) {
  return channel.set->clique->members[static_cast<std::size_t>(rank)]->device;
}

// An algorithm and protocol of NCCL: start, hops and bandwidth (src/graph/tuning.cc).
struct Way {
  double start, hop, net_hop, gbs;
};

double ring(const Way& way, int ranks, int nodes, int rounds, double bytes) {
  const int net_hops = rounds * (nodes - 1);
  const int hops = rounds * (ranks - 1) - net_hops;
  return way.start + hops * way.hop + net_hops * way.net_hop + bytes / way.gbs;
}

// Up and down a chain inside of each node, and a tree among nodes.
double tree(const Way& way, int ranks, int nodes, double bytes) {
  const double hops = std::max(0, ranks / nodes - 1) * way.hop + std::log2(nodes) * way.net_hop;
  return way.start + 2 * hops + bytes / way.gbs;
}

// `bytes`: what crosses each link. The tuner takes the fastest, and so do we.
double tuned(int ranks, int rounds, double bytes, bool reduces_to_all) {
  const Machine& m = g_machine;
  const int nodes = nodes_of(ranks);
  const double gbs =
      nodes > 1 ? std::min(m.nccl_ring_gbs, m.nic_gbs * node_gpus()) : m.nccl_ring_gbs;
  const Way ways[] = {
      {m.nccl_ll_ns, m.nccl_ll_hop_ns, m.nccl_ll_net_hop_ns, std::min(m.nccl_ll_gbs, gbs * 0.5)},
      {m.nccl_ll128_ns, m.nccl_ll128_hop_ns, m.nccl_ll128_net_hop_ns, gbs * 0.92},
      {m.nccl_simple_ns, m.nccl_simple_hop_ns, m.nccl_simple_net_hop_ns, gbs}};
  double best = ring(ways[0], ranks, nodes, rounds, bytes);
  for (const Way& way : ways) {
    best = std::min(best, ring(way, ranks, nodes, rounds, bytes));
    if (reduces_to_all) best = std::min(best, tree(way, ranks, nodes, bytes));
  }
  if (reduces_to_all && nodes == 1 && m.nccl_nvls_gbs > 0) {
    best = std::min(best, m.nccl_nvls_ns + bytes / m.nccl_nvls_gbs);
  }
  return best;
}

// Every rank sends a block to every other one, or the root does, or gets them.
double pairwise(int ranks, double block) {
  const Machine& m = g_machine;
  const double near = std::min<double>(ranks, node_gpus()) - 1, far = ranks - 1 - near;
  return m.nccl_p2p_base_ns + (ranks - 1) * m.nccl_p2p_peer_ns +
         std::max(near * block / m.nccl_p2p_gbs, far * block / m.nic_gbs);
}

// One or several calls of a kind over `ranks`; `block`: the bytes that each is called with, in all.
double duration(Call call, int ranks, double block) {
  if (ranks == 1) return g_machine.kernel_gap_ns + block / g_machine.dram_gbs;
  const double part = block * (ranks - 1) / ranks;
  switch (call) {
    case Call::AllReduce:
      return tuned(ranks, 2, 2 * part, true);
    case Call::AllGather:
    case Call::ReduceScatter:
      return tuned(ranks, 1, block * (ranks - 1), false);
    case Call::Broadcast:
    case Call::Reduce:
      return tuned(ranks, 1, block, false);
    default:
      return pairwise(ranks, block);
  }
}

// Of all that the batch is known to do by now, once everyone is there; without its bytes: until
// the first of them goes over a link.
double duration(const Batch& batch, int ranks, bool with_bytes) {
  const Machine& m = g_machine;
  double time = 0;
  for (const auto& [call, bytes] : batch.collected) {
    time += duration(call, ranks, with_bytes ? bytes : 0);
  }
  if (!batch.pairs) return time;
  const double most = std::max({batch.near_out / m.nccl_p2p_gbs, batch.near_in / m.nccl_p2p_gbs,
                                batch.far_out / m.nic_gbs, batch.far_in / m.nic_gbs});
  const int peers = std::max(batch.peers_out, batch.peers_in);
  return time + m.nccl_p2p_base_ns + peers * m.nccl_p2p_peer_ns + (with_bytes ? most : 0);
}

// The links are those of all communicators, and of copies between devices.
struct Links {
  bool out, in;
};

Links links_of(const Batch& batch) {
  const bool all = !batch.collected.empty();
  return {all || batch.near_out + batch.far_out > 0, all || batch.near_in + batch.far_in > 0};
}

// When a batch that starts at `together` ends, for what goes over the links of one device.
double end_on_links(Batch& batch, const ncclComm& comm, double together) {
  const int ranks = comm.clique->size;
  const double whole = duration(batch, ranks, true);
  if (ranks == 1) return together + whole;
  const Links links = links_of(batch);
  double free = 0;
  // What it has taken itself is no obstacle: its calls run together.
  if (links.out) {
    if (batch.links_out < 0) batch.links_out = links_free(comm.device, true, false);
    free = batch.links_out;
  }
  if (links.in) {
    if (batch.links_in < 0) batch.links_in = links_free(comm.device, false, true);
    free = std::max(free, batch.links_in);
  }
  const double start = duration(batch, ranks, false);
  return std::max(together + start, free) + whole - start;
}

void take_links(const Batch& batch, const ncclComm& comm, double until) {
  const Links links = links_of(batch);
  if (comm.clique->size > 1) use_links(comm.device, links.out, links.in, until);
}

void settle_at(Batch& batch, double everyone, double ends) {
  batch.together = std::max(batch.together, everyone);
  batch.op->ends = std::max(batch.op->ends, ends);
}

}  // namespace

Journey price_transfer(Transfer& t) {
  const Machine& m = g_machine;
  Channel& channel = *t.channel;
  advance_communicating(m.gin_put_ns);
  Nic& from = g_nics[device_of_member(channel, channel.get ? channel.peer : channel.source)];
  Nic& to = g_nics[device_of_member(channel, channel.get ? channel.source : channel.peer)];
  const double moving = static_cast<double>(t.bytes) / m.nic_gbs;
  const double asked = time_now() + (channel.get ? m.gin_latency_ns : 0);
  const double departs = std::max(asked, from.out);
  from.out = departs + std::max(m.gin_message_ns, moving);
  const double lands = std::max(departs + m.gin_latency_ns, to.in) + moving;
  to.in = lands;
  channel.settled_by =
      std::max(channel.settled_by, channel.get ? lands : from.out + m.gin_flush_ns);
  channel.landed_by = std::max(channel.landed_by, lands);
  return {time_now(), lands};
}

void await_settled(const Channel& channel) {
  if (g_timed) reach(channel.settled_by, 0);
}

void pass_barrier(bool gin, int ranks) {
  const Machine& m = g_machine;
  const GpuThread* thread = current_thread();
  const double blocks = thread ? static_cast<double>(thread->block->kernel->total_blocks) : 1;
  advance_communicating(gin ? m.gin_barrier_ns
                            : m.lsa_barrier_ns + (ranks - 1) * m.lsa_barrier_peer_ns +
                                  (1 - 1.0 / blocks) * m.lsa_barrier_blocks_ns);
}

void price_collective(const std::vector<Task*>& members) {
  double everyone = 0, ends = 0;
  for (const Task* task : members) {
    everyone = std::max({everyone, task->batch->op->begins, task->batch->together});
  }
  for (const Task* task : members) {
    task->batch->collected[task->call] += static_cast<double>(task->bytes());
    ends = std::max(ends, end_on_links(*task->batch, *task->comm, everyone));
  }
  for (Task* task : members) {
    settle_at(*task->batch, everyone, ends);
    take_links(*task->batch, *task->comm, ends);
  }
}

void price_pair(Task& send, Task& receive) {
  const double both = std::max(send.batch->op->begins, receive.batch->op->begins);
  const bool near = same_node(send.comm->device, receive.comm->device);
  const auto bytes = static_cast<double>(send.bytes());
  for (Task* task : {&send, &receive}) {
    Batch& batch = *task->batch;
    const bool out = task == &send;
    if (send.comm != receive.comm) {
      (out ? batch.peers_out : batch.peers_in)++;
      (near ? (out ? batch.near_out : batch.near_in) : (out ? batch.far_out : batch.far_in)) +=
          bytes;
    }
    batch.pairs = true;
    const double together = std::max(batch.together, both);
    const double ends = end_on_links(batch, *task->comm, together);
    settle_at(batch, both, ends);
    take_links(batch, *task->comm, ends);
  }
}

}  // namespace warploom::nccl
