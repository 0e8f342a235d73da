// The network between the ranks of one machine: a socket to every peer, a thread that sends and one
// for each peer that receives. Delivers what NCCL's plugins must and nothing earlier or in better
// order (plugins/gin/README.md of NCCL's sources): puts arrive in any order; a weak signal comes
// after its own put, a strong one after everything that its context sent to the peer before; a
// request is done when its source has been read, whatever has arrived.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "driver.h"

namespace warploom {

// When operations leave: at once, all late, or each at a time of its own.
enum class Timing { Eager, Lazy, Random };

struct Pace {
  Timing timing = Timing::Eager;
  uint64_t seed = 0;
  std::chrono::microseconds longest{2000};
  static Pace from_environment();  // WARPLOOM_NETWORK=eager|lazy|random:SEED
};

struct Memory {  // registered by every rank in one order: the number is the same on all
  uint64_t number = 0;
  char* data = nullptr;
  std::size_t bytes = 0;
  bool on_device = false;
  bool indexed_signals = false;  // NCCL's own: not a window of the user's
};

struct Request {
  std::atomic<bool> done = false;
};

enum class Kind : uint32_t { Put, Get, GetReply };

// What goes over a socket, followed by `bytes` of payload of a Put or GetReply.
struct Message {
  Kind kind = Kind::Put;
  uint32_t signal_operation = 0;
  uint64_t memory = 0, offset = 0, bytes = 0;  // where the payload goes
  uint64_t signal_memory = 0, signal_offset = 0, signal_value = 0;
  uint64_t source_memory = 0, source_offset = 0;  // of a Get, at the peer
  uint64_t request = 0;                           // of a Get: whose it is, at home
};

class Wire {
 public:
  // `sockets`: one for each rank, -1 for our own.
  Wire(int rank, std::vector<int> sockets, const Pace& pace);
  ~Wire();
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  Memory* add_memory(char* data, std::size_t bytes, bool on_device, bool indexed_signals);
  void remove_memory(Memory* memory);
  // Sends `message` to `peer`; its payload is read from `source` when it leaves, not before.
  Request* send(int peer, int context, const Message& message, const Memory* source,
                uint64_t source_offset, bool strong);
  bool failed() const { return failed_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Pending {
    int peer, context;
    bool strong;
    Message message;
    const char* source;
    bool source_on_device;
    Request* request;
    Clock::time_point leaves;
  };
  void send_loop();
  void receive_loop(int peer);
  void transmit(Pending& pending);
  void apply(const Message& message, const std::vector<char>& payload);
  void apply_signal(const Message& message);
  void answer(int peer, const Message& message);
  void write_to(int peer, const Message& message, const std::vector<char>& payload);
  std::vector<char> read_memory(const char* data, std::size_t bytes, bool on_device);
  // The bytes of registered memory; waits until it is there. nullptr: it is not, or not any more.
  char* address(uint64_t number, uint64_t offset, std::size_t bytes, bool* on_device);
  Clock::time_point leaving_time();
  std::deque<Pending>::iterator next_to_leave(Clock::time_point now);
  template <class Body>
  void guarded(Body&& body);

  const int rank_;
  const std::vector<int> sockets_;
  const Pace pace_;
  Driver driver_;
  std::mt19937_64 random_;
  std::mutex mutex_;     // of pending_ and memories_
  std::mutex applying_;  // signals are read, added to and written by one at a time
  std::vector<std::unique_ptr<std::mutex>> writing_;  // by peer
  std::condition_variable changed_;
  std::deque<Pending> pending_;
  std::map<uint64_t, std::unique_ptr<Memory>> memories_;
  uint64_t next_memory_ = 0;
  bool draining_ = false, closing_ = false, sending_ = false;
  std::atomic<bool> failed_ = false;
  std::thread sender_;
  std::vector<std::thread> receivers_;
};

}  // namespace warploom
