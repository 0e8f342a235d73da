#include "tally.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace guard {

namespace {

// Of the runtime: runtime/metering/meter_tally.h has the same number, and
// tests/emulator/test_tally.py compares.
constexpr uint32_t kTallyPlace = 0x20000000;

// Are the flags free before this instruction, since it leaves all of them anew and reads none?
bool frees_flags(const Line& line, const Instruction& instruction) {
  if (!instruction.mnemonic) return false;
  const Does does = instruction.does();
  if (does == Does::Call || does == Does::Return) return true;
  const std::string_view name = line.name;
  const bool shifts = name.starts_with("sal") || name.starts_with("sar") || name.starts_with("shr");
  if (shifts && instruction.operands[0].kind == Operand::Kind::Immediate) {
    return instruction.count == 2 && instruction.operands[0].displacement > 0;
  }
  if (does == Does::Multiply) return true;
  constexpr std::string_view kAll[] = {"add", "sub", "cmp",    "test",   "and",     "or",
                                       "xor", "neg", "comiss", "comisd", "ucomiss", "ucomisd"};
  const auto is_one = [&](std::string_view text) {
    return std::ranges::find(kAll, text) != std::end(kAll);
  };
  return is_one(name) || (std::string_view("bwlq").find(name.back()) != std::string_view::npos &&
                          is_one(name.substr(0, name.size() - 1)));
}

class Tally {
 public:
  Tally(Assembly& assembly, const Code& code, std::string_view shims, const Prices& prices,
        bool whole)
      : assembly_(assembly),
        code_(code),
        prices_(prices),
        whole_(whole),
        ours_(assembly.files.size()) {
    for (std::size_t at = 0; at < ours_.size(); at++) {
      const std::string& path = assembly.files[at].path;
      // Objects that compute are called by the names of variables.
      ours_[at] =
          !whole && path.starts_with(std::string(shims) + "/") && !path.ends_with("_operators.h");
    }
  }

  void run() {
    std::vector<std::pair<int32_t, Point>> points;  // by line
    for (const Block& block : code_.blocks) {
      const unsigned halves = weigh(block);
      if (halves) points.emplace_back(place_in(block, halves));
    }
    std::ranges::sort(points, {}, &std::pair<int32_t, Point>::first);
    std::vector<Line> lines;
    lines.reserve(assembly_.lines.size() + points.size());
    std::size_t next = 0;
    for (int32_t at = 0; at < static_cast<int32_t>(assembly_.lines.size()); at++) {
      for (; next < points.size() && points[next].first == at; next++) {
        add(lines, assembly_.lines[at], points[next].second);
      }
      lines.push_back(assembly_.lines[at]);
    }
    assembly_.lines = std::move(lines);
    assembly_.locate();
  }

 private:
  struct Point {
    unsigned halves = 0;
    bool keeps_flags = false;
  };

  const Line& line_of(int32_t step) const { return assembly_.lines[code_.steps[step].line]; }

  unsigned weigh(const Block& block) const {
    Work work;
    for (int32_t step = block.first; step < block.last; step++) {
      const Line& line = line_of(step);
      if (line.is_ours || (line.file != kNone && ours_[line.file])) continue;
      work += work_of(line, code_.steps[step].instruction, prices_);
    }
    return work.total(whole_);
  }

  // Where nobody needs the flags; else before the block's first step, where they are kept.
  std::pair<int32_t, Point> place_in(const Block& block, unsigned halves) const {
    for (int32_t step = block.first; step < block.last; step++) {
      const Line& line = line_of(step);
      if (line.is_ours || line.in_app) continue;
      if (frees_flags(line, code_.steps[step].instruction)) {
        return {code_.steps[step].line, {halves, false}};
      }
    }
    return {code_.steps[block.first].line, {halves, true}};
  }

  void add(std::vector<Line>& lines, Line line, const Point& point) {
    line.kind = Kind::Instruction;
    line.is_ours = true;
    line.in_app = false;
    const auto put = [&](std::string_view name, std::string rest) {
      line.name = name;
      line.rest = assembly_.keep(std::move(rest));
      lines.push_back(line);
    };
    if (point.keeps_flags) put("pushfq", "");
    put("addq", "$" + std::to_string(point.halves) + ", " + std::to_string(kTallyPlace));
    if (point.keeps_flags) put("popfq", "");
  }

  Assembly& assembly_;
  const Code& code_;
  const Prices& prices_;
  bool whole_;
  std::vector<bool> ours_;  // by file
};

}  // namespace

void insert_tally(Assembly& assembly, const Code& code, std::string_view shims,
                  const Prices& prices, bool whole) {
  Tally(assembly, code, shims, prices, whole).run();
}

}  // namespace guard
