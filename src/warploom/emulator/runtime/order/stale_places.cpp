#include "order/stale_places.h"

namespace warploom::stale {

namespace {

constexpr unsigned kLineBytes = 16, kWordBytes = 4;
constexpr unsigned kLineBits = 16, kReaderBits = 10;

struct Line {
  uintptr_t number = 0;
  Place words[kLineBytes / kWordBytes];
};

std::unique_ptr<Line> g_lines[1u << kLineBits];
std::unique_ptr<Reader> g_readers[1u << kReaderBits];

// A host thread has another operation after each release.
uint64_t identity(const Record& record) {
  const Op& op = op_of(record.op());
  if (op.kind != OpKind::Kernel) return uint64_t{1} << 63 | op.agent;
  return uint64_t{record.op()} << 32 | record.block();
}

}  // namespace

bool same_thread(const Record& one, const Record& other) {
  return one.thread() == other.thread() && identity(one) == identity(other);
}

Stored* Place::newest(unsigned mask) {
  for (unsigned depth = 0; depth < size(); depth++) {
    if (at(depth).mask & mask) return &at(depth);
  }
  return nullptr;
}

Stored& Place::push() {
  if (size() < kKept) {
    stores_.emplace_back();
    first_ = size() - 1;
  } else {
    first_ = (first_ + 1) % kKept;
  }
  Stored& stored = stores_[first_];
  stored.may_be_older = true;
  stored.seen.clear();
  stored.given.reset();
  return stored;
}

void Place::forget(unsigned mask) {
  for (Stored& stored : stores_) {
    if (stored.mask & mask) stored.mask = 0;
  }
}

Pieces pieces_of(uintptr_t address, unsigned bytes) {
  Pieces found{};
  const uintptr_t end = address + bytes;
  for (uintptr_t word = address / kWordBytes * kWordBytes; word < end; word += kWordBytes) {
    const uintptr_t number = word / kLineBytes;
    auto& slot = g_lines[slot_of(number, kLineBits)];
    if (!slot) slot = std::make_unique<Line>();
    if (slot->number != number) {
      *slot = {};
      slot->number = number;
    }
    Place& place = slot->words[word % kLineBytes / kWordBytes];
    place.address = word;
    found.pieces[found.count++] = {&place, bytes_in_word(word, address, end)};
  }
  return found;
}

void forget_line(uintptr_t address) {
  const uintptr_t number = address / kLineBytes;
  auto& slot = g_lines[slot_of(number, kLineBits)];
  if (slot && slot->number == number) *slot = {};
}

Reader& reader_of(const Record& record) {
  auto& slot = g_readers[slot_of(identity(record), kReaderBits)];
  if (!slot) slot = std::make_unique<Reader>();
  const bool host = op_of(record.op()).kind != OpKind::Kernel;
  const OpId op = host ? op_of(record.op()).agent : record.op();
  if (slot->op != op || slot->block != (host ? ~0u : record.block())) {
    *slot = {};
    slot->op = op;
    slot->block = host ? ~0u : record.block();
  }
  return *slot;
}

}  // namespace warploom::stale
