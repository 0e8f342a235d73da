// A plane of the access history against a model that keeps a record for each cell. Random patterns
// of operations, blocks and threads, in the ways that programs touch memory: one after another, by
// strides, here and there. Prints how many records were compared; ends with 1 at the first that
// differs. argv[1]: bytes of whole records that the history may hold; beyond these it is short.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "machine/world.h"
#include "order/history.h"

namespace warploom {

// What a plane needs of the runtime.
std::vector<std::unique_ptr<Op[]>> g_ops;
Config g_config;
Places g_places;
void prefer_huge_pages(const void*, std::size_t) {}

}  // namespace warploom

using namespace warploom;

namespace {

// What a cell may answer. Of a thread that touched it from several places, each of these will do;
// a record that was dropped may have stayed.
struct Cell {
  Record newest;
  std::set<uint32_t> places;
  bool may_be_none = true;

  void set(Record record) {
    if (record.who != newest.who || ((record.bits ^ newest.bits) & ~kPlaceBits)) places.clear();
    newest = record;
    places.insert(record.pc());
    may_be_none = record == Record{};
  }
  bool allows(Record record) const {
    if (record == Record{} && may_be_none) return true;
    return record.who == newest.who && !((record.bits ^ newest.bits) & ~kPlaceBits) &&
           places.contains(record.pc());
  }
};

class Game {
 public:
  Game(unsigned seed, Plane& plane) : random_(seed), plane_(plane), cells_(kGranuleCells) {}

  long play(int rounds) {
    for (int round = 0; round < rounds; round++) {
      move();
      compare();
    }
    return compared_;
  }

 private:
  uint32_t below(uint32_t bound) { return static_cast<uint32_t>(random_() % bound); }
  Record record(uint32_t op, uint32_t block, uint32_t thread, uint32_t pc, unsigned mask = 0xF) {
    const Atomicity atomic = below(8) ? Atomicity{} : Atomicity(Scope::Device, Extent::Word);
    const auto time = atomic ? 1 + below(3) : 1;
    return {Record::who_is(op, block),
            record_bits(pc, static_cast<uint16_t>(thread), mask, atomic, time)};
  }
  void set(uint32_t cell, Record record) {
    // As quick_access.h does: what is there is replaced.
    const Record known = plane_.at(cell);
    if (!plane_.replace<AccessPath::Fast>(cell, known, record)) {
      plane_.replace<AccessPath::Slow>(cell, known, record);
    }
    cells_[cell].set(record);
  }

  void move() {
    const uint32_t op = 1 + below(4), pc = 1 + below(3);
    switch (below(9)) {
      case 0:  // a[i], by blocks of some threads, each with some cells
      case 1: {
        const uint32_t each = 1u << below(3), threads = 32u << below(3), start = below(4) * 64;
        for (uint32_t cell = start; cell < kGranuleCells; cell++) {
          const uint32_t thread = (cell - start) / each;
          set(cell, {Record::who_is(op, thread / threads),
                     record_bits(pc, static_cast<uint16_t>(thread % threads), 0xF, {}, 1)});
        }
        break;
      }
      case 2: {  // a stride
        const uint32_t step = 2 + below(30);
        for (uint32_t cell = below(step); cell < kGranuleCells; cell += step) {
          set(cell, record(op, below(2), cell % 256, pc));
        }
        break;
      }
      case 3: {  // here and there
        for (uint32_t n = below(20); n > 0; n--) {
          set(below(kGranuleCells), record(op, below(50), below(1024), pc, 1 + below(15)));
        }
        break;
      }
      case 4: {  // a copy of it all
        const Record one = record(op, 0, 0, pc);
        plane_.set_all(one);
        for (Cell& cell : cells_) cell = {}, cell.set(one);
        break;
      }
      case 5: {
        for (uint32_t n = below(20); n > 0; n--) {
          const uint32_t cell = below(kGranuleCells);
          const unsigned mask = below(16);
          plane_.drop(cell, mask);
          if (!(cells_[cell].newest.mask() & ~mask)) cells_[cell].may_be_none = true;
        }
        break;
      }
      case 6: {
        const uint32_t first = below(kGranuleCells), count = below(40);
        for (uint32_t cell = first; cell < kGranuleCells && cell < first + count; cell++) {
          plane_.clear(cell);
          cells_[cell] = {};
        }
        break;
      }
      case 7:
        plane_.set_all({});
        for (Cell& cell : cells_) cell = {};
        break;
      default: {  // one thread goes through some of it, from two places
        const uint32_t first = below(kGranuleCells);
        const Record one = record(op, 3, 7, pc), other = {one.who, (one.bits & ~kPlaceBits) | 9};
        for (uint32_t cell = first; cell < kGranuleCells; cell++) set(cell, one);
        for (uint32_t cell = first; cell < kGranuleCells; cell += 3) set(cell, other);
      }
    }
  }

  void compare() {
    for (uint32_t cell = 0; cell < kGranuleCells; cell++, compared_++) {
      const Record got = plane_.at(cell), wanted = cells_[cell].newest;
      if (cells_[cell].allows(got)) continue;
      std::printf("cell %u: %llx %llx, the model %llx %llx\n", cell,
                  static_cast<unsigned long long>(got.who),
                  static_cast<unsigned long long>(got.bits),
                  static_cast<unsigned long long>(wanted.who),
                  static_cast<unsigned long long>(wanted.bits));
      std::exit(1);
    }
  }

  std::mt19937 random_;
  Plane& plane_;
  std::vector<Cell> cells_;
  long compared_ = 0;
};

// Each field comes back as it went in, at its ends and between.
void check_fields() {
  for (const uint32_t pc : {0u, 1u, 0x1FFFFFFu}) {
    for (const uint16_t thread : {0, 5, 1023}) {
      for (const unsigned mask : {0u, 9u, 15u}) {
        for (const Scope scope : {Scope::Block, Scope::Device, Scope::System}) {
          const Atomicity atomic(scope, Extent::Any);
          for (const uint32_t time : {0u, 77u, kMaxTime}) {
            const Record one{Record::who_is(~0u, 12), record_bits(pc, thread, mask, atomic, time)};
            if (one.op() == ~0u && one.block() == 12 && one.pc() == pc && one.thread() == thread &&
                one.mask() == mask && one.atomicity().scope() == scope &&
                one.atomicity().extent() == Extent::Any && one.time() == time) {
              continue;
            }
            std::printf("fields of %x %x %x %x\n", pc, thread, mask, time);
            std::exit(1);
          }
        }
      }
    }
  }
}

}  // namespace

int main(int, char** argv) {
  g_config.whole_history = std::strtoull(argv[1], nullptr, 10);
  check_fields();
  long compared = 0;
  std::vector<Plane> planes(40);
  for (unsigned seed = 1; seed <= planes.size(); seed++) {
    compared += Game(seed, planes[seed - 1]).play(120);
  }
  std::printf("%ld\n", compared);
}
