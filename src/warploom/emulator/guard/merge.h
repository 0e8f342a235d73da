// Joining the host and the device pass of a unit.
#pragma once

#include <string_view>
#include <unordered_set>
#include <vector>

#include "assembly.h"
#include "report.h"

namespace guard {

// What device code may take from the runtime and the C library.
class Allowed {
 public:
  Allowed() = default;
  // Each line is a symbol, or how symbols begin, followed by `*`.
  explicit Allowed(std::string text);
  Allowed(const Allowed&) = delete;
  Allowed& operator=(const Allowed&) = delete;
  bool has(std::string_view symbol) const;

 private:
  std::string text_;
  std::unordered_set<std::string_view> names_;
  std::vector<std::string_view> starts_;
};

// Renames the symbols of the device pass, refers the host's kernels to it, and leaves each variable
// in one of the two. `unit` is the same in no two units of a program. Calls `locate()` where lines
// have come or gone. Runs after both have been judged and before hooks are inserted.
void merge(Assembly& host, Assembly& device, std::string_view unit, const Allowed& allowed,
           Report& report);

// Refuses symbols that could be taken for those that `merge` makes.
void refuse_merged_names(const Assembly& assembly, std::string_view pass, Report& report);

}  // namespace guard
