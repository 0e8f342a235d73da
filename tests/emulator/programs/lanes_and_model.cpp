// Lanes of puts against a model that knows of each put what ordered it. Host threads issue puts and
// pass messages on; now and then what all know is forgotten. Of every put that is asked for, the
// lanes must say what the model says. Prints how many answers were compared.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "machine/world.h"
#include "network/lanes.h"

namespace warploom {

std::vector<std::unique_ptr<Op[]>> g_ops;
Config g_config;
static uint32_t g_made = 1;
OpId new_op(const Op& op) {
  if (g_made / kOpsInChunk >= g_ops.size()) g_ops.push_back(std::make_unique<Op[]>(kOpsInChunk));
  g_ops[g_made / kOpsInChunk][g_made % kOpsInChunk] = op;
  return g_made++;
}

}  // namespace warploom

using namespace warploom;
using namespace warploom::nccl;

namespace {

struct Known {
  Clock clock;
  std::map<AgentId, uint32_t> model;
  void join(const Known& other) {
    clock.join(other.clock);
    for (const auto& [agent, time] : other.model) {
      model[agent] = std::max(model[agent], time);
    }
  }
};

struct Put {
  LanePlace place;
  AgentId agent = 0;
  uint32_t time = 0, sequence = 0;
};

class Game {
 public:
  Game(unsigned seed, uint32_t agents) : random_(seed), known_(agents), time_(agents, 1) {}

  long play(int steps) {
    for (int step = 0; step < steps; step++) {
      const AgentId agent = below(static_cast<uint32_t>(known_.size()));
      switch (below(4)) {
        case 0:
          release(agent);
          messages_.push_back(known_[agent]);
          break;
        case 1:
          if (!messages_.empty()) {
            known_[agent].join(messages_[below(static_cast<uint32_t>(messages_.size()))]);
          }
          break;
        case 2:
          issue(agent);
          break;
        default:
          compare(known_[agent]);
      }
      if (step % 50 == 49) forget();
    }
    return compared_;
  }

 private:
  uint32_t below(uint32_t bound) { return static_cast<uint32_t>(random_() % bound); }
  void release(AgentId agent) {
    known_[agent].clock.advance(agent, time_[agent]);
    known_[agent].model[agent] = time_[agent]++;
  }
  void issue(AgentId agent) {
    release(agent);  // its own earlier puts are before this one
    Actor actor;
    actor.op = new_op({.agent = agent, .time = time_[agent], .frames = {}});
    const LanePlace place = lanes_.add(actor, known_[agent].clock, ++sequence_);
    puts_.push_back({place, agent, time_[agent], sequence_});
  }
  // The oldest knowledge of anybody is what all know.
  void forget() {
    KnownToAll times(known_.size(), ~uint32_t{0});
    const auto least = [&](const Known& known) {
      for (AgentId id = 0; id < times.size(); id++) {
        times[id] = std::min(times[id], known.clock.agent_time(id));
      }
    };
    if (messages_.size() > 8) messages_.erase(messages_.begin(), messages_.end() - 4);
    std::ranges::for_each(known_, least);
    std::ranges::for_each(messages_, least);
    lanes_.forget_issuers(times);
    for (const Put& put : puts_) {
      if (times[put.agent] >= put.time) known_to_all_ = std::max(known_to_all_, put.sequence);
    }
  }
  static bool among(const std::vector<LanePlace>& places, const Put& put) {
    return std::ranges::any_of(places, [&](const LanePlace& place) {
      return place.lane == put.place.lane && put.place.number <= place.number;
    });
  }
  void expect(bool got, bool wanted, const Put& put, const char* what) {
    compared_++;
    if (got == wanted) return;
    std::printf("put %u, %s: the lanes say %d, the model %d\n", put.sequence, what, got, wanted);
    std::exit(1);
  }
  void compare(const Known& now) {
    const auto before = lanes_.before(now.clock);
    // Nobody asks for turns before those that all know.
    const uint32_t turn = std::max(known_to_all_, sequence_ - std::min(sequence_, below(5)));
    const auto upto = lanes_.upto(turn);
    for (const Put& put : puts_) {
      const auto it = now.model.find(put.agent);
      expect(among(before, put), it != now.model.end() && it->second >= put.time, put, "before");
      expect(among(upto, put), put.sequence <= turn, put, "in turn");
    }
  }

  std::mt19937 random_;
  std::vector<Known> known_, messages_;
  std::vector<uint32_t> time_;
  Lanes lanes_;
  std::vector<Put> puts_;
  uint32_t sequence_ = 0, known_to_all_ = 0;
  long compared_ = 0;
};

}  // namespace

int main() {
  long compared = 0;
  for (unsigned seed = 1; seed <= 30; seed++) compared += Game(seed, 1 + seed % 7).play(1000);
  std::printf("%ld\n", compared);
}
