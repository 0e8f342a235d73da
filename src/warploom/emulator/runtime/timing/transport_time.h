// What messages between ranks take: puts, collectives, Send and Recv, MPI.
#pragma once

#include <cstddef>
#include <vector>

#include "nccl/nccl_collectives.h"
#include "network/network.h"

namespace warploom::nccl {

struct Journey {
  double departs, arrives;
};
// The running thread issues a put, get or signal: what it costs the thread, and when it lands.
Journey price_transfer(Transfer& transfer);
// The running thread waits until the network has read its sources, or its gets have arrived.
void await_settled(const Channel& channel);
// The last arrival of a barrier among `ranks` becomes known to the running thread.
void pass_barrier(bool gin, int ranks);

// All ranks have started the collective: sets when each ends.
void price_collective(const std::vector<Task*>& members);
void price_pair(Task& send, Task& receive);

}  // namespace warploom::nccl

namespace warploom {

// When a message of MPI arrives that leaves now, and what a collective among `ranks` takes.
double mpi_arrival(int from, int to, std::size_t bytes);
double mpi_meeting_ns(int ranks, std::size_t bytes);

}  // namespace warploom
