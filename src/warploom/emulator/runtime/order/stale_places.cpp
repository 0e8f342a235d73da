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

namespace {

// Whose reads a slot may hold: of a block, or of a host thread.
struct ReaderKey {
  OpId op;
  uint32_t block;
  explicit ReaderKey(const Record& record) {
    const bool host = op_of(record.op()).kind != OpKind::Kernel;
    op = host ? op_of(record.op()).agent : record.op();
    block = host ? ~0u : record.block();
  }
  bool is_of(const Reader& reader) const { return reader.op == op && reader.block == block; }
};

std::unique_ptr<Reader>& slot_for_reader(const Record& record) {
  return g_readers[slot_of(identity(record), kReaderBits)];
}

}  // namespace

Reader& reader_of(const Record& record) {
  auto& slot = slot_for_reader(record);
  if (!slot) slot = std::make_unique<Reader>();
  const ReaderKey key(record);
  if (!key.is_of(*slot)) {
    *slot = {};
    slot->op = key.op;
    slot->block = key.block;
  }
  return *slot;
}

const Reader* known_reader(const Record& record) {
  const auto& slot = slot_for_reader(record);
  return slot && ReaderKey(record).is_of(*slot) ? slot.get() : nullptr;
}

}  // namespace warploom::stale
