#include "memory/lineage.h"

#include <array>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace warploom {

namespace {

constexpr uint64_t kNewLine = uint64_t{1} << 63;  // no allocation has such a number

// Rank, host thread, device, kind and size, and the calls that allocated it.
using Site = std::tuple<int, int, int, AllocKind, std::size_t, std::array<uint32_t, Frames::kMax>>;
struct SiteLines {
  std::size_t live = 0;
  std::map<std::size_t, std::vector<uint64_t>> freed;  // by how many lived when it was allocated
};
struct Member {
  SiteLines* site = nullptr;
  std::size_t beside = 0;  // so many
  uint64_t line = 0;
};
std::map<Site, SiteLines> g_sites;
std::unordered_map<uint64_t, Member> g_members;

Site site_of(const Allocation& a) {
  return {a.process, a.thread, a.device, a.kind, a.bytes, std::to_array(a.allocated.pc)};
}

// A graph's memory comes back with its number.
void begin_again(Member& member) {
  auto& freed = member.site->freed[member.beside];
  member.site->live++;
  if (!std::erase(freed, member.line)) member.line |= kNewLine;  // another one has its place
}

}  // namespace

void begin_line(const Allocation& allocation) {
  const auto [found, first] = g_members.try_emplace(allocation.number);
  Member& member = found->second;
  if (!first) return begin_again(member);
  SiteLines& site = g_sites[site_of(allocation)];
  member = {&site, site.live++, allocation.number};
  auto& freed = site.freed[member.beside];
  if (freed.empty()) return;
  member.line = freed.back();
  freed.pop_back();
}

void end_line(const Allocation& allocation) {
  const auto found = g_members.find(allocation.number);
  if (found == g_members.end()) return;
  Member& member = found->second;
  member.site->live--;
  member.site->freed[member.beside].push_back(member.line);
}

uint64_t line_of(uint64_t number) {
  const auto found = g_members.find(number);
  return found == g_members.end() ? number : found->second.line;
}

}  // namespace warploom
