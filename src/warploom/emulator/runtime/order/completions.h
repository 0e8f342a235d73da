// Completions of puts: who has observed when that they have landed, or have read their source.
//
// A clock that is passed on says nothing of puts: there would be as many entries as pairs of ranks.
// Instead it is noted here when somebody sees that a put has landed, and whoever's clock covers
// that moment knows it too.
#pragma once

#include <cstdint>

#include "order/race.h"

namespace warploom {

// When somebody observed something: a thread of a running kernel at a time of its block, or the end
// of an operation.
struct Moment {
  OpId op = 0;
  uint32_t block = 0;
  uint16_t thread = 0;
  uint32_t time = ~uint32_t{0};
};
inline Moment moment_of(const Actor& actor) {
  return {actor.op, actor.block, actor.thread, actor.time};
}
bool covers(const Clock& clock, const Moment& moment);

// At `moment` somebody who knew `before` takes over what `seen` has of puts.
void acquire_puts(const Clock& seen, const Clock& before, const Moment& moment);

bool knows_landing(const Clock& clock, ChannelId channel, uint32_t put);
bool knows_reading(const Clock& clock, ChannelId channel, uint32_t put);

// For each agent a time that every clock has reached which is still in use. Who observed something
// before that need not be remembered: everybody knows it.
using KnownToAll = std::vector<uint32_t>;
bool covers(const KnownToAll& times, const Moment& moment);
void forget_completions(const KnownToAll& times);
std::size_t completions();       // that are remembered now
std::size_t most_completions();  // that ever were

}  // namespace warploom
