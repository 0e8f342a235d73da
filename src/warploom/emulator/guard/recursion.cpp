#include "recursion.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "hooks.h"

namespace guard {

namespace {

class Recursion {
 public:
  Recursion(const Assembly& assembly, const Code& code)
      : assembly_(assembly), code_(code), callees_(code.families), callers_(code.families) {}

  std::vector<int32_t> find() {
    read_aliases();
    for (int32_t at = 0; at < static_cast<int32_t>(code_.blocks.size()); at++) read_block(at);
    if (calls_.empty()) return {};
    find_circles();
    std::vector<int32_t> found;
    for (const Call& call : calls_) {
      if (circles_[call.from] == circles_[call.to] && works_behind(call)) {
        found.push_back(call.step);
      }
    }
    return found;
  }

 private:
  struct Call {
    int32_t step = 0, block = 0;
    int32_t from = 0, to = 0;  // families
  };

  // Functions call themselves by a local name: f.localalias.
  void read_aliases() {
    for (const Line& line : assembly_.lines) {
      if (line.kind != Kind::Directive || line.name != ".set") continue;
      const std::vector<std::string_view> parts = split_arguments(line.rest);
      if (parts.size() == 2) aliases_[parts[0]] = parts[1];
    }
  }

  std::string_view called(const Instruction& instruction) const {
    const std::string_view name = callee(instruction);
    const auto alias = aliases_.find(name);
    return alias == aliases_.end() ? name : alias->second;
  }

  void read_block(int32_t at) {
    const Block& block = code_.blocks[at];
    if (block.family == kNone) return;
    for (int32_t step = block.first; step < block.last; step++) {
      const Instruction& instruction = code_.steps[step].instruction;
      if (!instruction.mnemonic || instruction.does() != Does::Call) continue;
      const auto found = code_.blocks_by_label.find(called(instruction));
      if (found == code_.blocks_by_label.end()) continue;
      const Block& begin = code_.blocks[found->second];
      if (!begin.is_function() || begin.family == kNone) continue;
      calls_.push_back({step, at, block.family, begin.family});
      callees_[block.family].push_back(begin.family);
      callers_[begin.family].push_back(block.family);
    }
  }

  // Numbers the strongly connected parts of the graph of calls (Kosaraju).
  void find_circles() {
    std::vector<bool> seen(callees_.size(), false);
    std::vector<int32_t> order;
    for (int32_t at = 0; at < code_.families; at++) {
      std::vector<std::pair<int32_t, std::size_t>> way;
      if (!seen[at]) way.emplace_back(at, 0);
      seen[at] = true;
      while (!way.empty()) {
        auto& [from, next] = way.back();
        if (next == callees_[from].size()) {
          order.push_back(from);
          way.pop_back();
          continue;
        }
        const int32_t to = callees_[from][next++];
        if (!seen[to]) way.emplace_back(to, 0);
        seen[to] = true;
      }
    }
    circles_.assign(callees_.size(), kNone);
    for (auto root = order.rbegin(); root != order.rend(); ++root) {
      std::vector<int32_t> open{*root};
      while (!open.empty()) {
        const int32_t at = open.back();
        open.pop_back();
        if (circles_[at] != kNone) continue;
        circles_[at] = *root;
        open.insert(open.end(), callers_[at].begin(), callers_[at].end());
      }
    }
  }

  enum class Way : uint8_t { Works, Returns, GoesOn };

  bool works_behind(const Call& call) const {
    if (computes_with_result(call)) return true;
    std::vector<int32_t> open;
    std::set<int32_t> seen;
    const auto look = [&](int32_t block, int32_t first) {
      const Way way = follow(block, first);
      if (way == Way::GoesOn) {
        for (const int32_t next : code_.blocks[block].next) {
          if (seen.insert(next).second) open.push_back(next);
        }
      }
      return way != Way::Returns;
    };
    if (!look(call.block, call.step + 1)) return false;
    while (!open.empty()) {
      const int32_t block = open.back();
      open.pop_back();
      if (!look(block, code_.blocks[block].first)) return false;
    }
    return true;
  }

  // Is the first use of the result in %xmm0 arithmetic?
  bool computes_with_result(const Call& call) const {
    for (int32_t step = call.step + 1; step < code_.blocks[call.block].last; step++) {
      const Instruction& instruction = code_.steps[step].instruction;
      if (!instruction.mnemonic || instruction.does() == Does::Call) return false;
      for (int at = 0; at < instruction.count; at++) {
        const Operand& operand = instruction.operands[at];
        if (!operand.is_register() || operand.reg.number != kVector) continue;
        if (instruction.roles[at] == Role::Write) return false;
        const std::string_view name = assembly_.lines[code_.steps[step].line].name;
        return std::ranges::any_of(kArithmetic, [&](std::string_view one) { return name == one; });
      }
    }
    return false;
  }

  // It stays in its place, also in the thread's own memory.
  static bool is_volatile(std::string_view hook) { return hook.find("volatile_") != hook.npos; }

  Way follow(int32_t block, int32_t first) const {
    bool own = false;  // %rdi holds an address in the stack
    for (int32_t step = first; step < code_.blocks[block].last; step++) {
      const Instruction& instruction = code_.steps[step].instruction;
      if (!instruction.mnemonic) return Way::Returns;
      const Does does = instruction.does();
      if (does == Does::Return) return Way::Returns;
      if (does == Does::Call) {
        const std::string_view name = callee(instruction);
        const Hook hook = hook_of(name);
        const bool kept = hook.writes && !own;
        if (hook.kind == HookKind::Check && (kept || is_volatile(name))) return Way::Works;
      }
      if (does == Does::Call) own = false;
      for (int at = 0; at < instruction.count; at++) {
        const bool target = instruction.operands[at].is_general() &&
                            instruction.operands[at].reg.number == kRdi &&
                            instruction.roles[at] == Role::Write;
        if (!target) continue;
        const Operand& source = instruction.operands[0];
        own = does == Does::Address && (source.base == kRbp || source.base == kRsp);
      }
    }
    return Way::GoesOn;
  }

  static constexpr std::string_view kArithmetic[] = {"addss", "addsd", "subss", "subsd",
                                                     "mulss", "mulsd", "divss", "divsd"};
  const Assembly& assembly_;
  const Code& code_;
  std::unordered_map<std::string_view, std::string_view> aliases_;
  std::vector<Call> calls_;
  std::vector<std::vector<int32_t>> callees_, callers_;  // by family
  std::vector<int32_t> circles_;                         // by family
};

}  // namespace

std::vector<int32_t> recursive_calls(const Assembly& assembly, const Code& code) {
  return Recursion(assembly, code).find();
}

}  // namespace guard
