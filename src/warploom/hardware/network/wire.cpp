#include "wire.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace warploom {

namespace {

// NCCL's proxy takes a put of more than 1 GiB apart (DataChunkSize of gin_proxy.h).
constexpr uint64_t kPartBytes = uint64_t{1} << 30;

void send_all(int socket, const void* data, std::size_t bytes) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t sent = ::send(socket, next, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return;  // the peer has closed: nobody can tell whether it arrived
    next += sent;
    bytes -= static_cast<std::size_t>(sent);
  }
}

// False: the peer has closed.
bool receive_all(int socket, void* data, std::size_t bytes) {
  char* next = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t got = ::recv(socket, next, bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    next += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace

Pace Pace::from_environment() {
  Pace pace;
  const char* text = std::getenv("WARPLOOM_NETWORK");
  if (!text || std::strcmp(text, "eager") == 0) return pace;
  pace.timing = std::strcmp(text, "lazy") == 0 ? Timing::Lazy : Timing::Random;
  if (const char* colon = std::strchr(text, ':')) pace.seed = std::strtoull(colon + 1, nullptr, 10);
  return pace;
}

Wire::Wire(int rank, std::vector<int> sockets, const Pace& pace)
    : rank_(rank),
      sockets_(std::move(sockets)),
      pace_(pace),
      random_(pace.seed * 1024 + static_cast<uint64_t>(rank)) {
  for (std::size_t i = 0; i < sockets_.size(); i++) {
    writing_.push_back(std::make_unique<std::mutex>());
  }
  sender_ = std::thread([this] { guarded([this] { send_loop(); }); });
  for (int peer = 0; peer < static_cast<int>(sockets_.size()); peer++) {
    if (peer == rank_) continue;
    receivers_.emplace_back([this, peer] { guarded([this, peer] { receive_loop(peer); }); });
  }
}

Wire::~Wire() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
    changed_.notify_all();
  }
  sender_.join();
  for (int socket : sockets_) {
    if (socket >= 0) shutdown(socket, SHUT_RDWR);
  }
  for (std::thread& receiver : receivers_) receiver.join();
  for (int socket : sockets_) {
    if (socket >= 0) close(socket);
  }
}

// An exception on one of our threads would end the program with no word.
template <class Body>
void Wire::guarded(Body&& body) {
  try {
    driver_.enter_thread();
    body();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "warploom: the network of rank %d failed: %s\n", rank_, error.what());
    failed_ = true;
    std::lock_guard lock(mutex_);
    closing_ = true;
    changed_.notify_all();
  }
}

Memory* Wire::add_memory(char* data, std::size_t bytes, bool on_device, bool indexed_signals) {
  std::lock_guard lock(mutex_);
  const uint64_t number = next_memory_++;
  auto& memory = memories_[number];
  memory = std::make_unique<Memory>(Memory{number, data, bytes, on_device, indexed_signals});
  changed_.notify_all();
  return memory.get();
}

void Wire::remove_memory(Memory* memory) {
  std::unique_lock lock(mutex_);
  draining_ = true;
  changed_.notify_all();
  changed_.wait(lock, [this] { return closing_ || (pending_.empty() && !sending_); });
  draining_ = false;
  memories_.erase(memory->number);
}

Request* Wire::send(int peer, int context, const Message& message, const Memory* source,
                    uint64_t source_offset, bool strong) {
  auto* request = new Request;
  std::lock_guard lock(mutex_);
  pending_.push_back({peer, context, strong, message,
                      source ? source->data + source_offset : nullptr, source && source->on_device,
                      request, leaving_time()});
  pending_.back().message.request = reinterpret_cast<uint64_t>(request);
  changed_.notify_all();
  return request;
}

Wire::Clock::time_point Wire::leaving_time() {
  const auto now = Clock::now();
  if (pace_.timing == Timing::Eager) return now;
  if (pace_.timing == Timing::Lazy) return now + pace_.longest;
  return now +
         std::chrono::microseconds(random_() % static_cast<uint64_t>(pace_.longest.count() + 1));
}

// The first whose time has come and that nothing before it holds back.
std::deque<Wire::Pending>::iterator Wire::next_to_leave(Clock::time_point now) {
  for (auto next = pending_.begin(); next != pending_.end(); ++next) {
    if (!draining_ && !closing_ && next->leaves > now) continue;
    const bool held = std::any_of(pending_.begin(), next, [&](const Pending& p) {
      return p.peer == next->peer && p.context == next->context &&
             (next->strong || p.message.bytes >= kPartBytes);
    });
    if (!held) return next;
  }
  return pending_.end();
}

void Wire::send_loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto now = Clock::now();
    auto next = next_to_leave(now);
    if (next != pending_.end()) {
      Pending pending = *next;
      pending_.erase(next);
      sending_ = true;
      lock.unlock();
      transmit(pending);
      lock.lock();
      sending_ = false;
      changed_.notify_all();
    } else if (!pending_.empty()) {
      auto soonest = pending_.front().leaves;
      for (const Pending& pending : pending_) {
        if (pending.leaves > now) soonest = std::min(std::max(soonest, now), pending.leaves);
      }
      changed_.wait_until(lock, std::max(soonest, now + std::chrono::microseconds(20)));
    } else if (closing_) {
      return;
    } else {
      changed_.wait(lock);
    }
  }
}

void Wire::transmit(Pending& pending) {
  const bool carries = pending.message.kind == Kind::Put;
  std::vector<char> payload;
  if (carries) {
    payload = read_memory(pending.source, pending.message.bytes, pending.source_on_device);
    pending.request->done = true;  // the source may be used again, and nothing more is promised
  }
  if (pending.peer != rank_) {
    write_to(pending.peer, pending.message, payload);
  } else if (carries) {
    apply(pending.message, payload);
  } else {
    answer(rank_, pending.message);
  }
}

void Wire::write_to(int peer, const Message& message, const std::vector<char>& payload) {
  const auto at = static_cast<std::size_t>(peer);
  std::lock_guard lock(*writing_[at]);
  send_all(sockets_[at], &message, sizeof message);
  send_all(sockets_[at], payload.data(), payload.size());
}

std::vector<char> Wire::read_memory(const char* data, std::size_t bytes, bool on_device) {
  std::vector<char> read(bytes);
  if (on_device) {
    driver_.copy(read.data(), data, bytes);
  } else {
    std::copy_n(data, bytes, read.begin());
  }
  return read;
}

char* Wire::address(uint64_t number, uint64_t offset, std::size_t bytes, bool* on_device) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return closing_ || number < next_memory_; });
  const auto found = memories_.find(number);
  if (found == memories_.end()) {
    if (!closing_)
      std::fprintf(stderr, "warploom: rank %d: an operation came after its memory was released\n",
                   rank_);
    return nullptr;
  }
  const Memory& memory = *found->second;
  if (offset > memory.bytes || bytes > memory.bytes - offset) {
    std::fprintf(stderr,
                 "warploom: rank %d: an operation of %zu bytes at %llu is past the end of its "
                 "window of %zu bytes\n",
                 rank_, bytes, static_cast<unsigned long long>(offset), memory.bytes);
    return nullptr;
  }
  *on_device = memory.on_device;
  return memory.data + offset;
}

void Wire::receive_loop(int peer) {
  const int socket = sockets_[static_cast<std::size_t>(peer)];
  Message message;
  while (receive_all(socket, &message, sizeof message)) {
    if (message.kind == Kind::Get) {
      answer(peer, message);
      continue;
    }
    std::vector<char> payload(message.bytes);
    if (!receive_all(socket, payload.data(), payload.size())) return;
    apply(message, payload);
  }
}

void Wire::apply(const Message& message, const std::vector<char>& payload) {
  if (!payload.empty()) {
    bool on_device = false;
    char* to = address(message.memory, message.offset, payload.size(), &on_device);
    if (to && on_device) driver_.copy(to, payload.data(), payload.size());
    if (to && !on_device) std::copy(payload.begin(), payload.end(), to);
  }
  if (message.signal_operation != 0) apply_signal(message);
  if (message.kind == Kind::GetReply) reinterpret_cast<Request*>(message.request)->done = true;
}

void Wire::apply_signal(const Message& message) {
  std::lock_guard lock(applying_);
  bool on_device = false;
  uint64_t value = 0;
  char* at = address(message.signal_memory, message.signal_offset, sizeof value, &on_device);
  if (!at) return;
  if (on_device) {
    driver_.copy(&value, at, sizeof value);
    value += message.signal_value;
    driver_.copy(at, &value, sizeof value);
  } else {
    __atomic_fetch_add(reinterpret_cast<uint64_t*>(at), message.signal_value, __ATOMIC_RELEASE);
  }
}

// The peer wants bytes of ours: they go back as a reply that says where they belong.
void Wire::answer(int peer, const Message& message) {
  bool on_device = false;
  char* from = address(message.source_memory, message.source_offset, message.bytes, &on_device);
  Message reply = message;
  reply.kind = Kind::GetReply;
  std::vector<char> payload;
  if (from) payload = read_memory(from, message.bytes, on_device);
  reply.bytes = payload.size();
  if (peer == rank_) {
    apply(reply, payload);
  } else {
    write_to(peer, reply, payload);
  }
}

}  // namespace warploom
