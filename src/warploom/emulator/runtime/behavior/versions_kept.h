// What is kept of memory at moments (versions.h), as those need it who keep it and who use it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "memory/variables.h"

namespace warploom {

constexpr uintptr_t kVersionPage = 4096;
constexpr unsigned kBits = 64;

// Which bytes of a page were stored since the moment before; nullptr: none.
using StoredBits = std::array<uint64_t, kVersionPage / kBits>;

// A page at one moment, and until the next one that is kept. One that is the same word throughout
// needs no room.
struct PageVersion {
  unsigned moment = 0;  // by its place among all
  uint32_t word = 0;
  std::shared_ptr<const char[]> all;  // of several, where they differ in what was stored
  std::unique_ptr<StoredBits> stored;
  bool unwatched = false;  // all of it counts as stored
};

// Of an allocation: its line (lineage.h). Of a variable: where, and of which device's it holds the
// values.
using HeldKey = std::tuple<uint64_t, uintptr_t, int>;
struct Held {
  unsigned since = 0;  // the first moment at which it was there
  // What was never anything but fresh is not among them.
  std::unordered_map<std::size_t, std::vector<PageVersion>> pages;
};

extern std::vector<unsigned> g_moments;  // by their numbers
extern std::map<HeldKey, Held> g_held;

HeldKey key_of_line(uint64_t number);  // of the allocation with this number
// The version of a page that held at a moment; nullptr: it was fresh.
const PageVersion* version_at(const Held& held, std::size_t page, unsigned moment);
char byte_of(const PageVersion* version, std::size_t at);
bool was_stored(const PageVersion* version, std::size_t at);
// Of a single process, the variables of each device take turns in one place.
using ForPlace = std::function<void(const HeldKey&, uintptr_t, std::size_t)>;
void for_each_variable(const ForPlace& act);

}  // namespace warploom
