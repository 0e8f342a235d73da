#include "merge.h"

#include <string>

#include "merge_marks.h"
#include "merge_parts.h"
#include "merge_symbols.h"

namespace guard {

namespace {

// Functions of the device pass, and of its read-only data. `$` is in no name that a program may
// have (`refuse_merged_names`), so that nothing else can define or call them.
constexpr std::string_view kDevice = "$dev";
// Kernels as the host pass has them: without instructions, and called by nobody.
constexpr std::string_view kHollow = "$host";

// Of the compiler, the same in both passes: where a table finds the personality routine.
bool is_compilers_own(std::string_view name) {
  return name.starts_with("DW.ref.") || name == "_GLOBAL_OFFSET_TABLE_";
}

// A variable inside of a function, or what guards its initialization. As in CUDA, a function has
// its own for the host and for the device.
bool is_in_function(std::string_view name) {
  return name.starts_with("_ZZ") || name.starts_with("_ZGVZ");
}

class Merger {
 public:
  Merger(Assembly& host, Assembly& device, std::string_view unit, const Allowed& allowed,
         Report& report)
      : host_(host), device_(device), unit_(unit), allowed_(allowed), report_(report) {}

  void run() {
    host_kernels_ = take_kernels(host_);
    kernels_ = take_kernels(device_);
    drop_start(device_);
    host_symbols_ = symbols_of(host_);
    symbols_ = symbols_of(device_);
    variables_ = device_variables_of(device_, symbols_);
    initializers_ = initializers_of(device_, symbols_);
    managed_ = managed_variables_of(device_, symbols_);
    check_kernels();
    check_variables();
    for (const auto& [name, symbol] : symbols_) {
      if (is_compilers_own(name)) continue;
      if (!symbol.defined) {
        undefined(name, symbol);
      } else if (symbol.function) {
        function(name, symbol);
      } else {
        data(name, symbol);
      }
    }
    apply();
  }

 private:
  std::string_view with(Assembly& assembly, std::string_view name, std::string_view suffix) {
    return assembly.keep(std::string(name) + std::string(suffix));
  }
  std::string tag() const { return "$" + std::string(unit_); }

  const Line& line_in(const Assembly& assembly, const Symbol& symbol) const {
    // The first lines of a function say where it lies.
    const auto last = assembly.lines.size() - 1;
    auto at = static_cast<std::size_t>(symbol.label == kNone ? symbol.mention : symbol.label);
    const int32_t function = assembly.lines[at].function;
    while (at < last && assembly.lines[at].kind != Kind::Instruction &&
           assembly.lines[at + 1].function == function) {
      at++;
    }
    return assembly.lines[at];
  }

  void check_kernels() {
    for (const std::string_view name : host_kernels_) {
      if (kernels_.contains(name)) continue;
      report_.refuse(host_, line_in(host_, host_symbols_.at(name)), "host", "kernel",
                     "a kernel must be the same function with __CUDA_ARCH__ and without, but " +
                         std::string(name) + " is not there where __CUDA_ARCH__ is defined");
    }
    for (const std::string_view name : kernels_) {
      const auto found = host_symbols_.find(name);
      if (host_kernels_.contains(name) || found == host_symbols_.end() || !found->second.defined) {
        continue;
      }
      report_.refuse(device_, line_in(device_, symbols_.at(name)), "device", "kernel",
                     "a kernel must be the same function with __CUDA_ARCH__ and without, but " +
                         std::string(name) + " is a kernel only where __CUDA_ARCH__ is defined");
    }
  }

  void check_variables() {
    for (const std::string_view name : variables_) {
      const auto host = host_symbols_.find(name);
      const std::string_view size = symbols_.at(name).size;
      if (host == host_symbols_.end() || host->second.size.empty() || size.empty()) continue;
      if (host->second.size == size) continue;
      report_.refuse(device_, line_in(device_, symbols_.at(name)), "device", "variable",
                     "a variable must have one size, but " + std::string(name) + " has " +
                         std::string(size) + " bytes with __CUDA_ARCH__ and " +
                         std::string(host->second.size) + " without");
    }
  }

  void undefined(std::string_view name, const Symbol& symbol) {
    if (!allowed_.has(name)) {
      names_[name] = with(device_, name, kDevice);
      // The linker is to say that it is missing.
      if (symbol.is_hidden || symbol.global) plain_.insert(name);
    }
  }

  void function(std::string_view name, const Symbol& symbol) {
    if (!kernels_.contains(name)) {
      names_[name] = with(device_, name, kDevice);
      if (symbol.global) hidden_.push_back(names_[name]);
    } else if (!symbol.global) {
      names_[name] = with(device_, name, tag());
      host_names_[name] = with(host_, name, tag());
      globals_.push_back(names_[name]);
    }
  }

  void data(std::string_view name, const Symbol& symbol) {
    const auto found = host_symbols_.find(name);
    const bool both = found != host_symbols_.end() && found->second.defined;
    if (variables_.contains(name)) {
      variable(name, symbol, both);
    } else if (symbol.read_only || is_in_function(name) || !both) {
      // No two units have one of the same name: the runtime finds variables by theirs.
      names_[name] = symbol.global ? with(device_, name, kDevice) : with(device_, name, tag());
      if (symbol.global) hidden_.push_back(names_[name]);
    } else {
      // The host's is meant, as of a variable of the device that only macros call one.
      dropped_.insert(name);
      if (symbol.global) return;
      names_[name] = with(device_, name, tag());
      host_names_[name] = with(host_, name, tag());
      if (!found->second.global) host_globals_.push_back(host_names_[name]);
      host_locals_.insert(name);
    }
  }

  // The device's is meant: pointers to functions in it are those of the device.
  void variable(std::string_view name, const Symbol& symbol, bool both) {
    if (both) host_dropped_.insert(name);
    if (symbol.global) {
      // By this name other units' device code refers to it, as it does to functions.
      aliases_.push_back(name);
      return;
    }
    names_[name] = with(device_, name, tag());
    host_names_[name] = with(host_, name, tag());
    globals_.push_back(names_[name]);
    hidden_.push_back(names_[name]);
    locals_.insert(name);
  }

  static void add(Assembly& assembly, std::string_view directive, std::string_view argument) {
    Line line;
    line.kind = Kind::Directive;
    line.is_ours = true;
    line.name = directive;
    line.rest = argument;
    assembly.lines.push_back(line);
  }

  void apply() {
    drop_data(device_, dropped_);
    remove_about(device_, plain_, {".hidden", ".weak", ".globl", ".protected", ".internal"});
    remove_about(device_, locals_, {".local"});
    rename_device_groups();
    rename_symbols(device_, names_);
    mark_variables(device_, initializers_, managed_, names_, allowed_);
    for (const std::string_view name : globals_) add(device_, ".globl", name);
    for (const std::string_view name : aliases_) {
      const std::string_view alias = with(device_, name, kDevice);
      add(device_, ".globl", alias);
      add(device_, ".hidden", alias);
      add(device_, ".set", device_.keep(std::string(alias) + "," + std::string(name)));
    }
    for (const std::string_view name : hidden_) add(device_, ".hidden", name);
    device_.locate();

    drop_data(host_, host_dropped_);
    host_.locate();
    Names hollow_names;
    for (const std::string_view name : host_kernels_) {
      hollow_names[name] = with(host_, name, kHollow);
    }
    hollow(host_, hollow_names);
    remove_about(host_, host_locals_, {".local"});
    rename_symbols(host_, host_names_);
    for (const std::string_view name : host_globals_) {
      add(host_, ".globl", name);
      add(host_, ".hidden", name);
    }
    host_.locate();
  }

  static void remove_about(Assembly& assembly, const NameSet& names,
                           std::initializer_list<std::string_view> directives) {
    if (names.empty()) return;
    std::erase_if(assembly.lines, [&](const Line& line) {
      if (!is_about_symbol(line) || !names.contains(first_argument(line))) return false;
      for (const std::string_view directive : directives) {
        if (line.name == directive) return true;
      }
      return false;
    });
  }

  // The linker keeps one of all groups of a name: the passes must not share any.
  void rename_device_groups() {
    Names groups;
    for (const std::string_view name : groups_of(device_)) {
      if (is_compilers_own(name) || kernels_.contains(name)) continue;
      groups[name] = with(device_, name, kDevice);
    }
    rename_groups(device_, groups);
  }

  Assembly& host_;
  Assembly& device_;
  std::string_view unit_;
  const Allowed& allowed_;
  Report& report_;
  NameSet host_kernels_, kernels_, variables_, managed_;
  Initializers initializers_;
  Symbols host_symbols_, symbols_;
  Names host_names_, names_;
  // Of the device pass: definitions that go, undefined symbols that lose their attributes, local
  // variables that become global, and what is said of symbols at the end.
  NameSet dropped_, plain_, locals_, host_dropped_, host_locals_;
  std::vector<std::string_view> globals_, hidden_, aliases_, host_globals_;
};

}  // namespace

Allowed::Allowed(std::string text) : text_(std::move(text)) {
  const std::string_view all = text_;
  for (std::size_t at = 0; at < all.size();) {
    std::size_t end = all.find('\n', at);
    if (end == std::string_view::npos) end = all.size();
    const std::string_view line = trimmed(all.substr(at, end - at));
    if (line.ends_with('*')) {
      starts_.push_back(line.substr(0, line.size() - 1));
    } else if (!line.empty()) {
      names_.insert(line);
    }
    at = end + 1;
  }
}

bool Allowed::has(std::string_view symbol) const {
  if (names_.contains(symbol)) return true;
  for (const std::string_view start : starts_) {
    if (symbol.starts_with(start)) return true;
  }
  return false;
}

void merge(Assembly& host, Assembly& device, std::string_view unit, const Allowed& allowed,
           Report& report) {
  Merger(host, device, unit, allowed, report).run();
}

void refuse_merged_names(const Assembly& assembly, std::string_view pass, Report& report) {
  for (const auto& [name, symbol] : symbols_of(assembly)) {
    const bool is_label = name.starts_with(".L") && !symbol.global;
    if (is_label || name.find('$') == std::string_view::npos) continue;
    const auto at = static_cast<std::size_t>(symbol.label == kNone ? symbol.mention : symbol.label);
    report.refuse(assembly, assembly.lines[at], pass, "name",
                  "a name must not hold a $, but " + std::string(name) + " does");
  }
}

}  // namespace guard
