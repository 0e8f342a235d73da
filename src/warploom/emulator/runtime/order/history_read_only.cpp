#include "order/history_read_only.h"

#include <algorithm>
#include <bitset>
#include <unordered_map>
#include <vector>

#include "kernels/kernel.h"
#include "memory/variables.h"
#include "order/history.h"
#include "report/report.h"

namespace warploom {

namespace {

constexpr std::size_t kMostGranules = std::size_t{1} << 20;  // of each kernel; more are not kept

struct ReadBytes {
  std::bitset<kGranule> bytes;
  uint32_t pc = 0;  // of one of the loads
};
// By kernel, and by the addresses of the granules' history.
using ReadGranules = std::unordered_map<uintptr_t, ReadBytes>;
std::unordered_map<OpId, ReadGranules> g_read_only;
// The granule that was read so last: one array is read word by word.
struct LastRead {
  OpId op = 0;
  uintptr_t granule = 0;
  ReadBytes* bytes = nullptr;
} g_last_read;

// Kernels that run now, and what they wrote that others have written over since.
std::vector<OpId> g_running_now;
struct WrittenBytes {
  std::bitset<kGranule> bytes;
  Record write;  // one of them
};
std::unordered_map<OpId, std::unordered_map<uintptr_t, WrittenBytes>> g_overwritten;

// Null: the kernel has read too many.
ReadBytes* read_granule(OpId op, uintptr_t granule, const void* caller) {
  if (g_last_read.op == op && g_last_read.granule == granule) return g_last_read.bytes;
  ReadGranules& granules = g_read_only[op];
  if (granules.size() >= kMostGranules) return nullptr;
  const auto [found, is_new] = granules.try_emplace(granule);
  if (is_new) {
    const uint32_t place = program_offset(caller);
    found->second.pc = place ? place : program_place();
  }
  g_last_read = {op, granule, &found->second};
  return g_last_read.bytes;
}

// What others write while the kernel runs is as stale in the cache, whatever orders it.
bool written_beside(const Kernel& kernel, const Record& write) {
  if (!write.op() || write.op() == kernel.op->op) return false;
  const Op& other = op_of(write.op());
  if (other.kind != OpKind::Kernel) return false;
  return kernel.before.agent_time(other.agent) < other.time && write.time() != kMaxTime;
}

// The last write of the kernel, or of one that runs beside it, to a word of the granule that it has
// read so; empty: there is none.
Record write_to(const ReadBytes& read, uintptr_t granule, const Kernel& kernel) {
  const OpId op = kernel.op->op;
  const Granule& history = granule_of(granule);
  for (std::size_t cell = 0; cell < kGranuleCells; cell++) {
    const Record write = history.write.at(cell);
    if (write.op() != op && !written_beside(kernel, write)) continue;
    for (std::size_t byte = 0; byte < 4; byte++) {
      if ((write.mask() >> byte & 1) && read.bytes[4 * cell + byte]) return write;
    }
  }
  const auto overwritten = g_overwritten.find(op);
  if (overwritten == g_overwritten.end()) return {};
  const auto found = overwritten->second.find(granule);
  if (found == overwritten->second.end() || (found->second.bytes & read.bytes).none()) return {};
  return found->second.write;
}

void report_written(const Kernel& kernel, const ReadBytes& read, const Record& write) {
  FindingInfo info{
      .kind = kinds::data_race,
      .message = format("kernel %s reads through the read-only cache what %s", kernel.name,
                        write.op() == kernel.op->op ? "it also writes"
                                                    : "another kernel writes "
                                                      "meanwhile"),
      .hint =
          "read it by a plain load: __ldg and ld.global.nc are for what nobody "
          "writes while the kernel runs",
      .rank = kernel.rank,
      .kernel = kernel.name};
  info.where.pc[0] = read.pc;
  info.other.pc[0] = write.pc();
  report_finding(std::move(info));
}

// The words of constants that running kernels have stored to, by the addresses of their history.
using ConstantWords = std::unordered_map<uintptr_t, const char*>;  // with the variable's name
std::unordered_map<OpId, ConstantWords> g_constant_stores;
// Those of the last kernel of a stream that has ended: one that began beside it may not read them.
struct EndedStores {
  OpId op = 0;
  ConstantWords words;
};
std::unordered_map<const Stream*, EndedStores> g_ended_stores;

// The operation's read of the word at `word` that the history holds; empty: there is none.
Record read_of(OpId op, uintptr_t word) {
  const Granule& history = granule_of(word);
  for (const Plane& reads : history.reads) {
    const Record read = reads.at(word % kGranule / 4);
    if (read.op() == op) return read;
  }
  return {};
}

// `where`: of the read or the store, 0 for where the running thread is; `other`: of the other one.
void report_constant(const Kernel& kernel, const char* what, const char* variable, uint32_t where,
                     uint32_t other) {
  FindingInfo info{.kind = kinds::data_race,
                   .message = format("kernel %s %s the __constant__ variable '%s' that it also "
                                     "reads",
                                     kernel.name, what, variable),
                   .hint =
                       "constants are read through a cache that does not follow the kernel's "
                       "own stores: make it a __device__ variable, or store in another kernel",
                   .rank = kernel.rank,
                   .kernel = kernel.name};
  info.where.pc[0] = where;
  info.other.pc[0] = other;
  report_finding(std::move(info));
}

// Has the kernel read one of the words, to which `writer` has stored?
void check_constants_of(const Kernel& kernel, const ConstantWords& words, OpId writer,
                        const char* what) {
  for (const auto& [word, variable] : words) {
    const Record read = read_of(kernel.op->op, word);
    if (!read.op()) continue;
    const Record write = granule_of(word).write.at(word % kGranule / 4);
    report_constant(kernel, what, variable, read.pc(), write.op() == writer ? write.pc() : 0);
    return;
  }
}

void check_constants_of(const Kernel& kernel) {
  const Stream* stream = kernel.op->stream;
  const auto before = g_ended_stores.find(stream);
  if (before != g_ended_stores.end()) {
    if (kernel.op->overlaps) {
      check_constants_of(kernel, before->second.words, before->second.op,
                         "may begin before the kernel ahead has stored to");
    }
    g_ended_stores.erase(before);
  }
  const auto own = g_constant_stores.find(kernel.op->op);
  if (own == g_constant_stores.end()) return;
  check_constants_of(kernel, own->second, kernel.op->op, "stores to");
  g_ended_stores[stream] = {kernel.op->op, std::move(own->second)};
  g_constant_stores.erase(own);
}

void check_granules(const Kernel& kernel) {
  const auto found = g_read_only.find(kernel.op->op);
  if (found == g_read_only.end()) return;
  for (const auto& [granule, read] : found->second) {
    const Record write = write_to(read, granule, kernel);
    if (!write.op()) continue;
    report_written(kernel, read, write);
    break;
  }
  g_read_only.erase(found);
  g_last_read = {};
}

}  // namespace

void read_only_access(const void* address, unsigned bytes) {
  const GpuThread* thread = current_thread();
  if (!thread || !g_config.race || bytes == 0) return;
  auto start = reinterpret_cast<uintptr_t>(address);
  if (in_shared(start)) return;
  if (!in_arena(address)) start = shadow_of(address);
  if (!start) return;
  for (uintptr_t byte = start; byte < start + bytes; byte++) {
    const uintptr_t granule = byte / kGranule * kGranule;
    ReadBytes* read = read_granule(thread->block->op, granule, __builtin_return_address(0));
    if (read) read->bytes.set(byte - granule);
  }
}

void open_read_only(const Kernel& kernel) {
  if (g_config.race) g_running_now.push_back(kernel.op->op);
}

void note_overwritten(const Record& write, uintptr_t address, std::size_t words, OpId by) {
  const OpId op = write.op();
  if (op == by || std::ranges::find(g_running_now, op) == g_running_now.end()) return;
  auto& granules = g_overwritten[op];
  const uintptr_t granule = address / kGranule * kGranule;
  if (granules.size() >= kMostGranules && !granules.contains(granule)) return;
  WrittenBytes& written = granules[granule];
  written.write = write;
  for (std::size_t byte = 0; byte < 4 * words; byte++) {
    if (write.mask() >> byte % 4 & 1) written.bytes.set(address - granule + byte);
  }
}

void note_constant_store(const Variable& variable, const void* p, std::size_t bytes) {
  const uintptr_t start = shadow_of(p);
  if (!g_config.race || !start) return;
  const Block& block = *current_thread()->block;
  for (uintptr_t word = start & ~uintptr_t{3}; word < start + bytes; word += 4) {
    // The store takes earlier reads out of the history.
    const Record read = read_of(block.op, word);
    if (read.op()) report_constant(*block.kernel, "stores to", variable.name, 0, read.pc());
    g_constant_stores[block.op].emplace(word, variable.name);
  }
}

void check_read_only(const Kernel& kernel) {
  std::erase(g_running_now, kernel.op->op);
  check_granules(kernel);
  check_constants_of(kernel);
  g_overwritten.erase(kernel.op->op);
}

}  // namespace warploom
