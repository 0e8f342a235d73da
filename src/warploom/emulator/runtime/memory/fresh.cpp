#include "memory/fresh.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>
#include <vector>

#include "kernels/kernel.h"
#include "memory/fresh_pages.h"
#include "memory/memory.h"
#include "order/history.h"
#include "report/report.h"

namespace warploom {

bool g_host_looked = false;

namespace {

constexpr const char* kKind = kinds::uninitialized_read;
constexpr const char* kHint =
    "write the memory before it is read, for example with cudaMemset: what is in fresh memory "
    "differs from run to run";

std::unordered_set<uint32_t> g_told;  // places, each of which reads many

// Is this the run that finds out what the reads at `pc` change?
bool in_question(uint32_t pc) {
  const auto& sites = g_config.fresh_sites;
  return !sites.empty() && std::ranges::find(sites, pc) != sites.end();
}
void set_other(uintptr_t word) { *reinterpret_cast<uint32_t*>(word) = g_config.fresh_other; }

// Who put the word at `word` there: nobody, or an operation that only moves memory. A word that a
// program wrote may look the same by chance.
bool is_fresh(uintptr_t word, OpId& mover) {
  if (!may_be_fresh(word)) return false;
  const Record& last = granule_of(word).write.at(word % kGranule / 4);
  mover = last.op();
  if (!last.op()) return true;
  const OpKind kind = op_of(last.op()).kind;
  return kind == OpKind::Copy || kind == OpKind::Collective || kind == OpKind::Channel;
}

// The name of what lies there, and where it came from.
std::string describe_memory(const void* p, OpId mover, Frames& origin) {
  if (mover) {
    const Op& op = op_of(mover);
    origin = op.frames;
    return format("memory that a %s of rank %d filled from memory that nobody has written", op.name,
                  op.rank);
  }
  if (space_of(p) == Space::Shared) {
    const auto address = reinterpret_cast<uintptr_t>(p);
    if (const GpuThread* thread = current_thread()) {
      for (const SharedVariable& variable : thread->block->shared) {
        if (address - variable.start < variable.bytes) {
          return format("'%s', shared memory that no thread of the block has written",
                        variable.name);
        }
      }
    }
    return "dynamic shared memory that no thread of the block has written";
  }
  std::size_t offset = 0, bytes = 0;
  if (const Allocation* allocation = find_allocation(p)) {
    origin = allocation->allocated;
    offset = reinterpret_cast<uintptr_t>(p) - allocation->start;
    bytes = allocation->bytes;
  }
  return format("memory that nobody has written: byte %zu of an allocation of %zu", offset, bytes);
}

}  // namespace

void fill_fresh(uintptr_t start, std::size_t bytes) {
  constexpr std::size_t kWords = 1024;
  static const std::vector<uint32_t> page(kWords, g_config.fresh_word);
  const auto fill = [&](uintptr_t at, uintptr_t end) {
    for (; at < end; at += kWords * 4) {
      std::memcpy(reinterpret_cast<char*>(at), page.data(), std::min(kWords * 4, end - at));
    }
  };
  const FreshPieces done = map_fresh(start, bytes);
  fill(start, done.first);
  fill(done.last, start + bytes);
}

void note_fresh_read(const void* p, std::size_t bytes, uint32_t pc) {
  const bool instead = in_question(pc);
  if (!g_config.fresh_word || !in_arena(p) || (g_told.contains(pc) && !instead)) return;
  const auto start = reinterpret_cast<uintptr_t>(p);
  OpId mover = 0;
  // A wide access that finds something written may take the rest along as padding.
  for (uintptr_t word = start & ~uintptr_t{3}; word < start + bytes; word += 4) {
    if (!is_fresh(word, mover)) return;
  }
  if (instead) {
    for (uintptr_t word = start & ~uintptr_t{3}; word < start + bytes; word += 4) set_other(word);
  }
  if (!g_told.insert(pc).second) return;
  FindingInfo info{.kind = kKind, .message = "", .hint = kHint, .warning = true};
  // Reductions whose upper half adds what nobody uses are common there.
  info.suspicion = space_of(p) == Space::Shared;
  const GpuThread* thread = current_thread();
  info.message = format("%s reads %zu bytes of ", thread ? "device code" : "host code", bytes) +
                 describe_memory(p, mover, info.other);
  report_finding(std::move(info));
}

void note_fresh_source(const void* p, std::size_t bytes, const char* name, int rank,
                       const Frames& where) {
  const uint32_t pc = where.pc[0];
  const bool instead = in_question(pc);
  if (!g_config.race || !g_config.fresh_word || !in_arena(p)) return;
  if (g_told.contains(pc) && !instead) return;
  const auto start = reinterpret_cast<uintptr_t>(p);
  OpId mover = 0;
  for (uintptr_t word = (start + 3) & ~uintptr_t{3}; word + 4 <= start + bytes; word += 4) {
    if (!is_fresh(word, mover)) continue;
    if (instead) set_other(word);
    if (!g_told.insert(pc).second) continue;
    FindingInfo info{.kind = kKind, .message = "", .hint = kHint, .where = where, .rank = rank};
    info.suspicion = info.host = true;
    info.message = format("%s of %zu bytes takes, from byte %zu on, ", name, bytes,
                          static_cast<std::size_t>(word - start)) +
                   describe_memory(reinterpret_cast<const void*>(word), mover, info.other);
    report_finding(std::move(info));
    if (!instead) return;
  }
}

uint64_t unset_word(const char* name) {
  if (!g_config.fresh_word) return 0;
  const uint32_t pc = program_place();
  // In no floating-point type a number, and not the fresh word: see note_undefined.
  const bool instead = in_question(pc);
  const uint32_t word = instead ? g_config.fresh_other : g_config.fresh_word ^ 0x00570057;
  if (g_told.insert(pc).second) {
    FindingInfo info{.kind = kKind, .message = "", .warning = true};
    info.message = format("'%s' is read before it is set", name);
    info.hint = "give the variable a value where it is declared: what it holds is not defined";
    info.suspicion = true;  // a compiler does not see that a value is thrown away
    report_finding(std::move(info));
  }
  return uint64_t{word} << 32 | word;
}

uint32_t note_undefined(const std::string& what) {
  const uint32_t pc = program_place();
  const uint32_t fresh = in_question(pc) ? g_config.fresh_other : g_config.fresh_word;
  // Another word than the fresh one: that may come to the host as padding, and this may not.
  // Zero times it is not zero in one of the runs.
  const uint32_t word = fresh == 1 ? 0x7FC057A3 : fresh * 0x9E3779B1 + 0x7F4A7C15;
  if (!g_config.fresh_word || !g_told.insert(pc).second) return word;
  FindingInfo info{.kind = kKind, .message = what, .warning = true};
  info.hint =
      "let every lane whose value is used make the call, and name it in the mask: the value of any "
      "other is undefined";
  info.suspicion = true;  // many take one and do not use it
  report_finding(std::move(info));
  return word;
}

}  // namespace warploom
