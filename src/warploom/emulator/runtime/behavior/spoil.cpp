#include "behavior/spoil.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "base/mix_bits.h"
#include "kernels/kernel.h"
#include "memory/memory.h"
#include "network/multimem.h"
#include "order/equal_stores.h"
#include "order/race.h"

namespace warploom {

namespace {

// How a kind of element is looked at: where its exponent lies, and which bits of the mantissa get
// another value. The lowest `ignored` bits take no part in the choice, so that results which differ
// by rounding are altered alike.
struct SpoilLayout {
  const char* name;
  unsigned bytes;
  unsigned exponent_at, exponent_bits;
  uint64_t least, most;  // exponents of plausible numbers; others may be counts or indices
  unsigned changed_at;
  unsigned ignored;
};
constexpr SpoilLayout kLayouts[] = {
    {"f2", 2, 10, 5, 5, 25, 8, 4},     {"b2", 2, 7, 8, 87, 167, 5, 2},
    {"f4", 4, 23, 8, 87, 167, 21, 14}, {"f8", 8, 52, 11, 983, 1063, 50, 40},
    {"words", 4, 0, 0, 0, 0, 0, 0},    {"bytes", 1, 0, 0, 0, 0, 0, 0},
};
constexpr uint64_t kChanged = 3;  // two bits
constexpr std::size_t kLeastBytes =
    256;  // of untyped messages: shorter ones are handles and counts

uint64_t g_key = 0;
// None where there is no such kind.
const SpoilLayout* find_layout(std::string_view name) {
  const auto found = std::ranges::find(kLayouts, name, &SpoilLayout::name);
  return found == std::end(kLayouts) ? nullptr : found;
}

const SpoilLayout* g_layout = &kLayouts[2];
std::vector<int> g_sources;  // empty: all
unsigned long long g_spoiled = 0;
bool g_by_hand = false;
bool g_spoil_open = true;  // from some moment on
unsigned g_from = 0;       // records of events before that
bool g_always = false;     // every element changes, each time that it is sent

struct Pending {
  char* at;
  std::size_t bytes;
  int source;
  std::vector<char> original;  // of what is loaded; empty for a store
};
std::vector<Pending> g_pending;

uint64_t keyed(uint64_t value) { return mix_bits(value + g_key); }

// Of device memory, windows and other handles: the upper half is no number then.
bool is_address(uint64_t value) {
  const uint64_t upper = value >> 32;
  if (upper >= 0x2000) return upper < 0x8000;
  // Low addresses look like pairs of small integers: only those in use are taken for addresses.
  const auto* p = reinterpret_cast<const void*>(value);
  return (in_arena(p) && find_allocation(p)) || in_gpu_stack(p) || nccl::in_multimem(p);
}

bool plausible(uint64_t value, const SpoilLayout& layout) {
  if (layout.exponent_bits == 0) return true;
  const uint64_t exponent =
      value >> layout.exponent_at & ((uint64_t{1} << layout.exponent_bits) - 1);
  return exponent >= layout.least && exponent <= layout.most;
}

uint64_t altered(uint64_t value, const SpoilLayout& layout) {
  if (!plausible(value, layout)) return value;
  const uint64_t kept = value & ~(kChanged << layout.changed_at);
  uint64_t chosen = keyed((kept >> layout.ignored) * 0x9E3779B97F4A7C15) & kChanged;
  if (g_always) chosen = ((value >> layout.changed_at) + (chosen | 1)) & kChanged;
  return kept | chosen << layout.changed_at;
}

bool is_source(int device) {
  return g_sources.empty() || std::ranges::find(g_sources, device) != g_sources.end();
}

void spoil_element(char* at, const SpoilLayout& layout) {
  uint64_t value = 0;
  std::memcpy(&value, at, layout.bytes);
  const uint64_t other = altered(value, layout);
  if (other == value) return;
  g_spoiled++;
  std::memcpy(at, &other, layout.bytes);
}

// Is the pair of words that the element lies in an address? `offset` is that of the element. What
// is moved by single bytes or halves has no such pairs: where they begin depends on who moves them.
bool is_control(const char* data, std::size_t offset, std::size_t bytes,
                const SpoilLayout& layout) {
  const std::size_t pair = offset / 8 * 8;
  if (layout.bytes <= 2 || pair + 8 > bytes) return false;
  uint64_t value;
  std::memcpy(&value, data + pair, sizeof value);
  return is_address(value);
}

void spoil_as(char* data, std::size_t bytes, const SpoilLayout& layout) {
  for (std::size_t i = 0; i + layout.bytes <= bytes; i += layout.bytes) {
    if (!is_control(data, i, bytes, layout)) spoil_element(data + i, layout);
  }
}

// The elements that an access touches, as whole ones.
std::pair<char*, std::size_t> whole(const void* p, std::size_t bytes) {
  const uintptr_t size = g_layout->bytes;
  const auto start = reinterpret_cast<uintptr_t>(p);
  const uintptr_t first = start / size * size;
  const uintptr_t end = (start + bytes + size - 1) / size * size;
  return {reinterpret_cast<char*>(first), end - first};
}

// Of numbers, where the layout is not one of them.
const SpoilLayout& number_layout() { return g_layout->exponent_bits ? *g_layout : kLayouts[2]; }

}  // namespace

bool configure_spoil(const std::string& value) {
  const std::size_t first = value.find(':'), second = value.find(':', first + 1);
  if (first == std::string::npos || second == std::string::npos) return false;
  std::string name = value.substr(first + 1, second - first - 1);
  g_always = name.ends_with('+');
  if (g_always) name.pop_back();
  const SpoilLayout* layout = find_layout(name);
  if (!layout) return false;
  g_key = std::strtoull(value.c_str(), nullptr, 10);
  g_layout = layout;
  const std::string sources = value.substr(second + 1);
  if (sources == "none") {
    g_sources.push_back(-1);
  } else if (sources != "all") {
    for (std::size_t at = 0; at != std::string::npos;) {
      g_sources.push_back(std::atoi(sources.c_str() + at));
      at = sources.find(',', at);
      if (at != std::string::npos) at++;
    }
  }
  change_flag(g_spoiling, true);
  return true;
}

void configure_spoil_from(unsigned records) {
  g_from = records;
  g_spoil_open = records == 0;
}

void open_spoil(unsigned records) {
  if (records >= g_from) g_spoil_open = true;
}

void spoil(void* data, std::size_t bytes, int source) {
  if (!g_spoiling || !g_spoil_open || !is_source(source)) return;
  // Where every word is altered, what is as short as an index or a place steers the program.
  if (g_layout->exponent_bits == 0 && bytes <= 8) return;
  spoil_as(static_cast<char*>(data), bytes, *g_layout);
}

void spoil_message(void* data, std::size_t bytes, int source, unsigned float_bytes) {
  if (!g_spoiling || !g_spoil_open || !is_source(source)) return;
  if (float_bytes == 0 && bytes < kLeastBytes) return;
  const bool own = float_bytes == 0 || g_layout->exponent_bits == 0;
  const SpoilLayout& layout = own ? *g_layout : kLayouts[float_bytes == 8 ? 3 : 2];
  spoil_as(static_cast<char*>(data), bytes, layout);
}

void spoil_memory(void* data, std::size_t bytes) {
  spoil_as(static_cast<char*>(data), bytes, number_layout());
}

void spoil_access(const void* p, std::size_t bytes, bool write, bool strong) {
  if (strong && g_layout->exponent_bits == 0) return;  // a flag or a counter
  if (g_by_hand || !g_spoil_open || space_of(p) != Space::Device) return;
  const GpuThread* thread = current_thread();
  if (!thread) return;
  const int here = thread->block->kernel->device, there = device_of(p);
  const int source = write ? here : there;
  if (here == there || !is_source(source)) return;
  const auto [at, size] = whole(p, bytes);
  Pending entry{at, size, source, {}};
  if (!write) {
    entry.original.assign(at, at + size);
    spoil_as(at, size, *g_layout);
  }
  g_pending.push_back(std::move(entry));
  g_stores_pending = true;  // so that settle_stores() is called before anybody else runs
}

void settle_spoiled() {
  // Newest first: one place may have been looked at twice.
  while (!g_pending.empty()) {
    const Pending entry = std::move(g_pending.back());
    g_pending.pop_back();
    if (entry.original.empty()) {
      spoil_as(entry.at, entry.bytes, *g_layout);
    } else {
      std::memcpy(entry.at, entry.original.data(), entry.bytes);
    }
  }
}

namespace {

// Elements of two bytes are looked at in pairs: one alone is too common to be recognized.
unsigned elements_in_word(const SpoilLayout& layout) { return layout.bytes == 2 ? 2 : 1; }

uint64_t element_of(uint64_t word, unsigned at, const SpoilLayout& layout) {
  const unsigned bits = layout.bytes * 8;
  return bits == 64 ? word : word >> at * bits & ((uint64_t{1} << bits) - 1);
}

}  // namespace

unsigned word_bytes() {
  const SpoilLayout& layout = number_layout();
  return layout.bytes * elements_in_word(layout);
}

bool word_in_address(const char* data, std::size_t offset, std::size_t bytes) {
  return is_control(data, offset, bytes, number_layout());
}

bool is_telling(uint64_t word, unsigned every) {
  const SpoilLayout& layout = number_layout();
  uint64_t low = 0;
  for (unsigned i = 0; i < elements_in_word(layout); i++) {
    const uint64_t element = element_of(word, i, layout);
    if (!plausible(element, layout)) return false;
    low |= element & ((uint64_t{1} << layout.ignored) - 1);
  }
  return low != 0 && keyed(word * 0xC2B2AE3D27D4EB4F) % every == 0;
}

bool chosen_by_key(uint64_t value, unsigned every) {
  return keyed(value * 0xA24BAED4963EE407) % every == 0;
}

uint64_t drawn_by_key(uint64_t value) { return keyed(value * 0xFF51AFD7ED558CCD); }

uint64_t other_word(uint64_t word) {
  const SpoilLayout& layout = number_layout();
  uint64_t other = 0;
  for (unsigned i = 0; i < elements_in_word(layout); i++) {
    const uint64_t element = element_of(word, i, layout);
    const uint64_t step = keyed(element * 0xD6E8FEB86659FD93) % kChanged + 1;
    const uint64_t chosen = ((element >> layout.changed_at) + step) & kChanged;
    const uint64_t changed =
        (element & ~(kChanged << layout.changed_at)) | chosen << layout.changed_at;
    other |= changed << i * layout.bytes * 8;
  }
  return other;
}

uint64_t turned_word(uint64_t word, unsigned round) {
  const SpoilLayout& layout = number_layout();
  const unsigned width = layout.bytes == 2 ? 3 : 6;
  const uint64_t values = uint64_t{1} << width;
  uint64_t other = 0;
  for (unsigned i = 0; i < elements_in_word(layout); i++) {
    const uint64_t element = element_of(word, i, layout);
    // Never its own value, nor that of the round before.
    const uint64_t start = keyed(element * 0xD6E8FEB86659FD93) % (values / 2);
    const uint64_t step = 1 + (start + round) % (values - 1);
    const uint64_t changed = element ^ step << (layout.exponent_at - width);
    other |= changed << i * layout.bytes * 8;
  }
  return other;
}

namespace {

constexpr SpoilLayout kIntegers[] = {
    {"i1", 1, 0, 0, 0, 0, 0, 0},
    {"i2", 2, 0, 0, 0, 0, 0, 0},
    {"i4", 4, 0, 0, 0, 0, 0, 0},
    {"i8", 8, 0, 0, 0, 0, 0, 0},
};
constexpr std::size_t kLeastAlike = 8;  // equal elements that are an array of one number

uint64_t g_vary_key = 0;
const SpoilLayout* g_vary_layout = nullptr;

// Chosen by the value, and by the place and the device where the array holds nothing else.
uint64_t vary_draw(uint64_t value, std::size_t place, int device) {
  const uint64_t where = mix_bits(place * 0xC2B2AE3D27D4EB4F + static_cast<uint64_t>(device));
  return mix_bits((value ^ where) * 0x9E3779B97F4A7C15 + g_vary_key);
}

// Another integer of like size and sign: up to the value, or up to 8.
uint64_t integer_like(uint64_t value, uint64_t draw, const SpoilLayout& layout) {
  const unsigned unused = 64 - layout.bytes * 8;
  const auto number = static_cast<int64_t>(value << unused) >> unused;
  const uint64_t size =
      number < 0 ? uint64_t{0} - static_cast<uint64_t>(number) : static_cast<uint64_t>(number);
  const uint64_t other = 1 + draw % std::max(size, uint64_t{8});
  return number < 0 ? uint64_t{0} - other : other;
}

// By the upper bits of the value's own: the lowest ones of it, which rounding may change, stay.
uint64_t vary_draw_of(uint64_t value, const SpoilLayout& layout) {
  return mix_bits((value >> layout.ignored) * 0x9E3779B97F4A7C15 + g_vary_key);
}

// Another mantissa. What is no plausible number, such as 0 and small integers, stays as it is.
uint64_t varied(uint64_t value, uint64_t draw, const SpoilLayout& layout) {
  if (!plausible(value, layout)) return value;
  const unsigned width = layout.bytes == 2 ? 3 : 6;
  const unsigned at = layout.exponent_at - width;
  const uint64_t mask = ((uint64_t{1} << width) - 1) << at;
  return (value & ~mask) | (draw << at & mask);
}

// Makes many of an array of one number; `drawn` decides which.
void vary_alike(char* data, std::size_t count, uint64_t one, uint64_t drawn, int device) {
  const SpoilLayout& layout = *g_vary_layout;
  for (std::size_t i = 0; i < count; i++) {
    const uint64_t draw = vary_draw(drawn, i, device);
    const uint64_t value =
        layout.exponent_bits == 0 ? integer_like(one, draw, layout) : varied(one, draw, layout);
    std::memcpy(data + i * layout.bytes, &value, layout.bytes);
  }
}

}  // namespace

bool configure_varying(const std::string& value) {
  const std::size_t split = value.find(':');
  if (split == std::string::npos) return false;
  const std::string_view name = std::string_view(value).substr(split + 1);
  const auto integer = std::ranges::find(kIntegers, name, &SpoilLayout::name);
  const SpoilLayout* layout = integer == std::end(kIntegers) ? find_layout(name) : integer;
  if (!layout || (layout->exponent_bits == 0 && integer == std::end(kIntegers))) return false;
  g_vary_key = std::strtoull(value.c_str(), nullptr, 10);
  g_vary_layout = layout;
  return true;
}

void vary_numbers(char* data, std::size_t bytes, int device) {
  const SpoilLayout& layout = *g_vary_layout;
  const std::size_t width = layout.bytes;
  const std::size_t count = bytes / width;
  uint64_t one = 0;
  if (count > 0) std::memcpy(&one, data, width);
  const bool same =
      count >= kLeastAlike && one != 0 && std::memcmp(data, data + width, (count - 1) * width) == 0;
  if (same) {
    if (!is_control(data, 0, bytes, layout)) vary_alike(data, count, one, one, device);
    return;
  }
  if (layout.exponent_bits == 0) return;  // integers may be indices, and differ already
  for (std::size_t at = 0; at < count * width; at += width) {
    if (is_control(data, at, bytes, layout)) continue;
    uint64_t value = 0;
    std::memcpy(&value, data + at, width);
    value = varied(value, vary_draw_of(value, layout), layout);
    std::memcpy(data + at, &value, width);
  }
}

void vary_set(char* data, std::size_t bytes, unsigned char byte, int device) {
  const SpoilLayout& layout = *g_vary_layout;
  // What programs mean by zero, by no number or place at all, and by the largest one.
  if (byte == 0 || byte == 0xFF || byte == 0x7F || byte == 0x80) return;
  const std::size_t width = layout.bytes;
  if (bytes / width < kLeastAlike) return;
  uint64_t one = 0;
  std::memcpy(&one, data, width);
  // Bytes make odd floats: numbers between 1 and 2 take their place.
  if (layout.exponent_bits) {
    one = ((uint64_t{1} << (layout.exponent_bits - 1)) - 1) << layout.exponent_at;
  }
  vary_alike(data, bytes / width, one, one ^ byte, device);
}

SpoilByHand::SpoilByHand() { g_by_hand = true; }
SpoilByHand::~SpoilByHand() { g_by_hand = false; }

unsigned long long spoiled_elements() { return g_spoiled; }

}  // namespace warploom
