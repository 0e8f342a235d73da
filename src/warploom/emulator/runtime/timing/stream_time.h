// When operations of streams begin and end, and what copies and collectives take.
#pragma once

#include <cstddef>

#include "cuda/stream.h"

namespace warploom {

// The earliest start of the stream's next operation.
double next_start(const Stream& stream);
// What the host call that queues an operation costs.
double host_cost(OpKind kind, const char* name);
void begin_operation(StreamOp& op);
// When it ends: what was priced, and no earlier than now.
double end_of(const StreamOp& op);
// Copies and memsets: sets the operation's end.
void price_copy(StreamOp& op, const void* dst, const void* src, std::size_t bytes);
// What goes from one device to another shares the links with copies: when those that it uses are
// free, and that they are in use until then.
double links_free(int device, bool out, bool in);
void use_links(int device, bool out, bool in, double until);
void price_memset(StreamOp& op, const void* target, std::size_t bytes);
// The calling host thread waits for what the stream has been given.
void await_stream(const Stream& stream);
// Is the stream done at the caller's time? If not, the caller has waited a little.
bool done_by_now(double time);

}  // namespace warploom
