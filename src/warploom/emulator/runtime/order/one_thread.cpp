#include "order/one_thread.h"

#include "machine/world.h"
#include "order/race.h"

namespace warploom {

std::optional<Frames> OneThread::use(const Frames& where) {
  if (!g_config.race) return {};
  const HostThread& self = current_host();
  std::optional<Frames> other;
  if (thread_ && thread_ != &self && !covers(self.clock, moment_)) other = where_;
  thread_ = &self;
  moment_ = moment_of(current_actor(where.pc[0]));
  where_ = where;
  return other;
}

}  // namespace warploom
