// Checks that GIN operations share.
#pragma once

#include <cstdint>

#include "network/devcomm.h"
#include "network/network.h"

namespace warploom::nccl {

// World rank of a team's member; ends the run if there is none, or GIN does not reach it.
int reach_peer(const DevComm& dc, const Team& team, int peer, const char* what);
Signal& signal_of(DevComm& dc, uint32_t context, const SignalName& name, const char* what);
// The signal of `action` on `peer`, with the rules of its use checked for this arrival.
Signal& target_signal(DevComm& dc, Channel& channel, const RemoteAction& action, const char* what);
void note_issue(Signal& signal, const RemoteAction& action, const Clock& clock,
                const Channel& channel, LanePlace place, const Frames& where);
std::string signal_text(const RemoteAction& action);
std::string signal_name(const SignalName& name, uint32_t context);
bool at_least(uint64_t value, uint64_t least, int bits);
// Takes over an order that was observed: at once, or at the thread's next fence.
void observe(const Clock& clock, Order order);
bool acquires(Order order);
bool releases(Order order);
// What the running host or GPU thread has seen, with or without a fence behind it.
Clock known_clock(const Frames& where);
// A store to a peer's memory that was not released to the system before `what` announces it.
void check_remote_stores(const DevComm& dc, int peer, Scope released, const char* what);

}  // namespace warploom::nccl
