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

// The last write of the kernel to a word of the granule that it has read so; empty: there is none.
Record write_to(const ReadBytes& read, uintptr_t granule, OpId op) {
  const Granule& history = granule_of(granule);
  for (std::size_t cell = 0; cell < kGranuleCells; cell++) {
    const Record write = history.write.at(cell);
    if (write.op() != op) continue;
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
  FindingInfo info{.kind = kinds::data_race,
                   .message = format("kernel %s reads through the read-only cache what it also "
                                     "writes",
                                     kernel.name),
                   .hint =
                       "read it by a plain load: __ldg and ld.global.nc are for what nobody "
                       "writes while the kernel runs",
                   .rank = kernel.rank,
                   .kernel = kernel.name};
  info.where.pc[0] = read.pc;
  info.other.pc[0] = write.pc();
  report_finding(std::move(info));
}

void check_granules(const Kernel& kernel) {
  const auto found = g_read_only.find(kernel.op->op);
  if (found == g_read_only.end()) return;
  for (const auto& [granule, read] : found->second) {
    const Record write = write_to(read, granule, kernel.op->op);
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

void check_read_only(const Kernel& kernel) {
  std::erase(g_running_now, kernel.op->op);
  check_granules(kernel);
  g_overwritten.erase(kernel.op->op);
}

}  // namespace warploom
