// Clocks against a model without any sharing: maps that are joined entry by entry. Random releases
// and acquires of host threads, streams and threads of kernels, and puts that some of them see
// land; now and then all meet, and what all know is forgotten. Prints how many answers were
// compared; ends with 1 at the first that differs, or where more is remembered than must be.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include "order/completions.h"

namespace warploom {

// The table of operations, which is all that the clocks need of the runtime.
std::vector<std::unique_ptr<Op[]>> g_ops;
static uint32_t g_made = 1;
OpId new_op(const Op& op) {
  if (g_made / kOpsInChunk >= g_ops.size()) g_ops.push_back(std::make_unique<Op[]>(kOpsInChunk));
  g_ops[g_made / kOpsInChunk][g_made % kOpsInChunk] = op;
  return g_made++;
}

}  // namespace warploom

using namespace warploom;

namespace {

constexpr uint32_t kBlocks = 3, kThreads = 4, kPutsAtOnce = 3;

struct Model {
  std::map<AgentId, uint32_t> agents;
  std::map<std::tuple<OpId, uint32_t, uint16_t>, uint32_t> threads;  // accesses up to this time
  std::set<std::pair<ChannelId, uint32_t>> landed, read;

  void join(const Model& other) {
    for (const auto& [agent, time] : other.agents) raise(agents[agent], time);
    for (const auto& [thread, time] : other.threads) raise(threads[thread], time);
    landed.insert(other.landed.begin(), other.landed.end());
    read.insert(other.read.begin(), other.read.end());
  }
  static void raise(uint32_t& value, uint32_t to) { value = std::max(value, to); }
};

struct Known {
  Clock clock;
  Model model;
  void join(const Known& other) {
    clock.join(other.clock);
    model.join(other.model);
  }
};

// A stream, whose kernels have threads; or a host thread, which has none.
struct Agent {
  AgentId id = 0;
  bool host = false;
  uint32_t time = 0;
  OpId op = 0;  // the one that runs, or 0
  Known known;
  struct Block {
    uint32_t time = 1, base = 1;
    Known known;
    Known threads[kThreads];
  } blocks[kBlocks];
};

class Game {
 public:
  // Each game has channels of its own, behind the `first`.
  Game(unsigned seed, uint32_t agents, ChannelId first, uint32_t channels)
      : random_(seed), agents_(agents), first_(first), issued_(channels) {
    for (uint32_t a = 0; a < agents; a++) add(agents_[a], 5 * a, a % 3 == 0);
  }
  // As ranks that do the same have them: first all hosts, then all streams.
  Game(unsigned seed, uint32_t ranks, ChannelId first)
      : random_(seed), agents_(2 * ranks), first_(first), issued_(6) {
    for (uint32_t a = 0; a < 2 * ranks; a++) add(agents_[a], a, a < ranks);
  }

  // Each stream runs one kernel in each round, with messages between them.
  long march(int rounds) {
    for (int round = 0; round < rounds; round++) {
      for (Agent& agent : agents_) agent.host ? move_host(agent) : start(agent);
      exchange();
      for (std::size_t step = below(30) * agents_.size() / 10; step > 0; step--) {
        Agent& agent = any_agent();
        if (!agent.host) move_thread(agent, below(kBlocks), static_cast<uint16_t>(below(kThreads)));
      }
      for (int n = 0; n < 3; n++) compare(pick());
      for (Agent& agent : agents_) agent.host ? release_host(agent) : end(agent);
      // Nobody asks for what their threads did any more.
      for (Known* known : everybody()) known->model.threads.clear();
      compare(pick());
    }
    for (Known* known : everybody()) compare(*known);
    return compared_;
  }

  long play(int steps) {
    for (int step = 0; step < steps; step++) {
      move();
      if (step % 8 == 0) compare(pick());
      if (step % 100 == 0) forget_completions(known_to_all());
      if (below(400) == 0) meet_all();
    }
    for (Known* known : everybody()) compare(*known);
    meet_all();
    for (Known* known : everybody()) compare(*known);
    return compared_;
  }

 private:
  void add(Agent& agent, AgentId id, bool host) {
    agent.id = id;
    agent.host = host;
    host_ops_[id] = new_op({.agent = id, .time = 1, .frames = {}});
  }
  uint32_t below(uint32_t bound) { return static_cast<uint32_t>(random_() % bound); }
  Agent& any_agent() { return agents_[below(static_cast<uint32_t>(agents_.size()))]; }

  std::vector<Known*> everybody() {
    std::vector<Known*> all;
    for (Agent& agent : agents_) {
      if (!agent.op) {
        all.push_back(&agent.known);
        continue;
      }
      for (auto& block : agent.blocks) {
        all.push_back(&block.known);
        for (Known& thread : block.threads) all.push_back(&thread);
      }
    }
    for (Known& message : messages_) all.push_back(&message);
    return all;
  }
  Known& pick() {
    const auto all = everybody();
    return *all[below(static_cast<uint32_t>(all.size()))];
  }

  void move() {
    Agent& agent = any_agent();
    if (agent.host) {
      move_host(agent);
    } else if (!agent.op) {
      start(agent);
    } else if (below(40) == 0) {
      end(agent);
    } else {
      move_thread(agent, below(kBlocks), static_cast<uint16_t>(below(kThreads)));
    }
  }

  void give(Known released) {
    if (messages_.size() < 40) {
      messages_.push_back(std::move(released));
    } else {
      Known& old = messages_[below(40)];
      below(2) ? old.join(released) : void(old = std::move(released));
    }
  }

  void move_host(Agent& agent) {
    if (below(2) || messages_.empty()) {
      release_host(agent);
      give(agent.known);
    } else {
      acquire(agent.known, {host_ops_[agent.id]});
      if (below(2)) agent.known.clock.settle();
    }
  }
  void release_host(Agent& agent) {
    agent.known.clock.advance(agent.id, ++agent.time);
    agent.known.model.agents[agent.id] = agent.time;
    host_ops_[agent.id] = new_op({.agent = agent.id, .time = agent.time + 1, .frames = {}});
  }

  void start(Agent& agent) {
    if (!messages_.empty()) agent.known.join(seen_by_nobody(message()));
    agent.op =
        new_op({.kind = OpKind::Kernel, .agent = agent.id, .time = ++agent.time, .frames = {}});
    agent.known.clock.settle({.op = agent.op});
    for (auto& block : agent.blocks) {
      block = {};
      block.known = agent.known;
      for (Known& thread : block.threads) thread = agent.known;
    }
  }

  void end(Agent& agent) {
    for (uint32_t b = 0; b < kBlocks; b++) {
      meet(agent, b);
      agent.known.join(agent.blocks[b].known);
    }
    agent.known.clock.advance(agent.id, agent.time);
    agent.known.model.agents[agent.id] = agent.time;
    if (below(2)) agent.known.clock.settle();
    agent.op = 0;
    give(agent.known);
  }

  // __syncthreads
  void meet(Agent& agent, uint32_t b) {
    auto& block = agent.blocks[b];
    block.base = ++block.time;
    block.known.clock.advance_block(agent.op, b, block.base, 0, 0);
    std::vector<const Clock*> all;
    for (uint16_t t = 0; t < kThreads; t++) {
      all.push_back(&block.threads[t].clock);
      block.known.model.join(block.threads[t].model);
    }
    if (below(4)) {
      block.known.clock.join_all(all, {agent.op, b, block.base});
    } else {
      for (const Clock* clock : all) block.known.clock.join(*clock);
    }
    block.known.clock.forget_puts();
    for (uint16_t t = 0; t < kThreads; t++) {
      block.known.model.threads[{agent.op, b, t}] = block.base - 1;
    }
    block.known.model.agents[agent.id] = agent.time - 1;
    for (Known& thread : block.threads) thread = block.known;
  }

  void move_thread(Agent& agent, uint32_t b, uint16_t t) {
    auto& block = agent.blocks[b];
    Known& thread = block.threads[t];
    switch (below(4)) {
      case 0:
        if (below(4) == 0) meet(agent, b);
        break;
      case 1:
        if (!messages_.empty()) acquire(thread, {agent.op, b, t, block.time});
        break;
      default:
        release(agent, b, t);
        give(thread);
    }
  }
  const Known& release(Agent& agent, uint32_t b, uint16_t t) {
    auto& block = agent.blocks[b];
    Known& thread = block.threads[t];
    thread.clock.advance_block(agent.op, b, block.base, t, block.time);
    for (uint16_t other = 0; other < kThreads; other++) {
      Model::raise(thread.model.threads[{agent.op, b, other}], block.base - 1);
    }
    thread.model.threads[{agent.op, b, t}] = block.time++;
    thread.model.agents[agent.id] = agent.time - 1;
    thread.clock.forget_puts();
    return thread;
  }
  // The first block of a few streams gets a message of every one.
  void exchange() {
    std::vector<Known> sent;
    for (Agent& agent : agents_) {
      if (!agent.host) sent.push_back(release(agent, 0, static_cast<uint16_t>(below(kThreads))));
    }
    uint32_t receivers = 4;
    for (Agent& agent : agents_) {
      if (agent.host || !receivers) continue;
      receivers--;
      for (const Known& message : sent) agent.blocks[0].threads[below(kThreads)].join(message);
      meet(agent, 0);
      compare(agent.blocks[0].known);
    }
  }

  // Everything ends, and everybody learns of everything.
  void meet_all() {
    Known all;
    for (Agent& agent : agents_) {
      if (agent.op) {
        end(agent);
      } else if (agent.host) {
        release_host(agent);
      }
      all.join(agent.known);
    }
    for (Agent& agent : agents_) agent.known.join(all);
    messages_.clear();
    forget_completions(known_to_all());
    if (completions() == 0) return;
    std::printf("%zu completions are remembered when all know all\n", completions());
    std::exit(1);
  }

  KnownToAll known_to_all() {
    KnownToAll times(5 * agents_.size(), ~uint32_t{0});
    for (const Known* known : everybody()) {
      for (AgentId id = 0; id < times.size(); id++) {
        times[id] = std::min(times[id], known->clock.agent_time(id));
      }
    }
    return times;
  }

  // A message, with puts that its arrival shows to have landed or left.
  Known message() {
    Known seen = messages_[below(static_cast<uint32_t>(messages_.size()))];
    for (uint32_t n = below(kPutsAtOnce); n > 0; n--) {
      const uint32_t number = below(static_cast<uint32_t>(issued_.size()));
      const ChannelId channel = first_ + number;
      uint32_t& issued = issued_[number];
      issued += below(3);
      if (!issued) continue;
      const uint32_t put = 1 + below(issued);
      switch (below(3)) {
        case 0:
          seen.clock.channel_landed_single(channel, put);
          seen.model.landed.insert({channel, put});
          break;
        case 1:
          seen.clock.channel_landed(channel, put);
          for (uint32_t p = 1; p <= put; p++) seen.model.landed.insert({channel, p});
          break;
        default:
          seen.clock.channel_read(channel, put);
          for (uint32_t p = 1; p <= put; p++) seen.model.read.insert({channel, p});
      }
    }
    return seen;
  }
  // A stream takes over what its host gives it, which is nothing of puts at first hand.
  static Known seen_by_nobody(Known message) {
    if (message.clock.seen_puts().empty()) return message;
    return {};
  }

  void acquire(Known& into, const Moment& moment) {
    const Known seen = message();
    if (moment.op) acquire_puts(seen.clock, into.clock, moment);
    into.join(seen);
  }

  void expect(bool got, bool wanted, const char* what) {
    compared_++;
    if (got == wanted) return;
    std::printf("%s: the clock says %d, the model %d\n", what, got, wanted);
    std::exit(1);
  }

  void compare(const Known& known) {
    const Model& model = known.model;
    for (const Agent& agent : agents_) {
      const auto it = model.agents.find(agent.id);
      const uint32_t time = it == model.agents.end() ? 0 : it->second;
      expect(known.clock.agent_time(agent.id) == time, true, "time of an agent");
      if (!agent.op || time >= agent.time) continue;
      for (uint32_t b = 0; b < kBlocks; b++) {
        for (uint16_t t = 0; t < kThreads; t++) compare_thread(known, agent, b, t);
      }
    }
    for (uint32_t number = 0; number < issued_.size(); number++) {
      const ChannelId channel = first_ + number;
      for (uint32_t put = 1; put <= issued_[number]; put++) {
        const bool landed = model.landed.contains({channel, put});
        expect(knows_landing(known.clock, channel, put), landed, "a landing");
        expect(knows_reading(known.clock, channel, put),
               landed || model.read.contains({channel, put}), "a reading");
      }
    }
  }

  void compare_thread(const Known& known, const Agent& agent, uint32_t b, uint16_t t) {
    const auto it = known.model.threads.find({agent.op, b, t});
    const uint32_t upto = it == known.model.threads.end() ? 0 : it->second;
    for (uint32_t time = 1; time <= agent.blocks[b].time; time++) {
      expect(known.clock.covers_block(agent.op, b, t, time), time <= upto, "a thread");
    }
  }

  std::mt19937 random_;
  std::vector<Agent> agents_;
  ChannelId first_;
  std::vector<uint32_t> issued_;  // puts of each channel
  std::vector<Known> messages_;
  std::map<AgentId, OpId> host_ops_;
  long compared_ = 0;
};

}  // namespace

int main() {
  long compared = 0;
  for (unsigned seed = 1; seed <= 12; seed++) {
    compared += Game(seed, 3 * seed, seed * 8, 6).play(1500);
  }
  for (unsigned seed = 13; seed <= 24; seed++) {
    compared += Game(seed, seed % 3 ? 16 : 32, seed * 8).march(10);
  }
  compared += Game(25, 256, 200).march(4);  // whole branches are known
  std::printf("%ld\n", compared);
}
