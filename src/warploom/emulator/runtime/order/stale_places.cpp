#include "order/stale_places.h"

#include <iterator>
#include <list>

namespace warploom::stale {

namespace {

constexpr unsigned kLineBytes = 16;
constexpr unsigned kLineBits = 16, kReaderBits = 10;

struct Line {
  uintptr_t number = 0;
  std::list<Place> places;  // that do not overlap
};

std::unique_ptr<Line> g_lines[1u << kLineBits];
std::unique_ptr<Reader> g_readers[1u << kReaderBits];

// Fibonacci hashing (Knuth).
unsigned slot_of(uint64_t key, unsigned bits) {
  return static_cast<unsigned>(key * 0x9E3779B97F4A7C15 >> (64 - bits));
}

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

Place& place_at(uintptr_t address, unsigned bytes) {
  const uintptr_t number = address / kLineBytes;
  auto& slot = g_lines[slot_of(number, kLineBits)];
  if (!slot) slot = std::make_unique<Line>();
  if (slot->number != number) {
    *slot = {};
    slot->number = number;
  }
  for (auto place = slot->places.begin(); place != slot->places.end();) {
    if (place->address == address && place->bytes == bytes) return *place;
    const bool overlaps =
        place->address < address + bytes && address < place->address + place->bytes;
    place = overlaps ? slot->places.erase(place) : std::next(place);
  }
  Place& wanted = slot->places.emplace_back();
  wanted.address = address;
  wanted.bytes = bytes;
  return wanted;
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
