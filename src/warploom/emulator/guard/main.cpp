// warploom-guard: judges a compiler's assembly and closes the gaps in its instrumentation.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>

#include "assembly.h"
#include "code.h"
#include "flow.h"
#include "insert.h"
#include "judge.h"
#include "merge.h"
#include "recursion.h"
#include "report.h"
#include "tally.h"

namespace guard {
namespace {

struct Options {
  std::string host, out_host, device, out_device, shims, unit, allowed, report, verify, prices,
      whole;
};

Options parse(int argc, char** argv) {
  Options options;
  const std::pair<const char*, std::string*> known[] = {
      {"--host", &options.host},       {"--out-host", &options.out_host},
      {"--device", &options.device},   {"--out-device", &options.out_device},
      {"--shims", &options.shims},     {"--unit", &options.unit},
      {"--allowed", &options.allowed}, {"--report", &options.report},
      {"--verify", &options.verify},   {"--prices", &options.prices},
      {"--whole", &options.whole},
  };
  for (int at = 1; at < argc; at += 2) {
    std::string* target = nullptr;
    for (const auto& [name, value] : known) {
      if (std::string(argv[at]) == name) target = value;
    }
    if (!target || at + 1 == argc) throw std::runtime_error(std::string("unknown: ") + argv[at]);
    *target = argv[at + 1];
  }
  if (!options.verify.empty()) return options;
  if (options.host.empty() || options.out_host.empty() || options.report.empty()) {
    throw std::runtime_error("--host, --out-host and --report are needed");
  }
  return options;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

// Judges one pass.
void judge_pass(Assembly& assembly, std::string_view pass, Report& report) {
  judge(assembly, pass, report);
  const Code code = read_code(assembly);
  judge_code(assembly, code, pass, report);
  describe(assembly, code, report.passes[std::string(pass)]);
}

// Closes what the instrumentation of one pass left open.
void close_gaps(Assembly& assembly, std::string_view pass, Report& report) {
  const Code code = read_code(assembly);
  Findings found = find_gaps(assembly, code);
  if (pass == "device") {
    for (const int32_t step : recursive_calls(assembly, code)) {
      found.gaps.push_back({.what = Gap::What::Recursion, .step = step, .why = "a recursive call"});
    }
  }
  for (const auto& [step, reason] : found.refused) {
    report.refuse(assembly, assembly.lines[code.steps[step].line], pass, "assembly", reason);
  }
  PassReport& all = report.passes[std::string(pass)];
  for (const auto& [function, counts] : found.counts) all.counts[std::string(function)] = counts;
  insert_hooks(assembly, code, found, pass, report);
}

// Where time is modelled, the arithmetic of the program is counted as it runs.
void count_work(Assembly& assembly, const Options& options) {
  if (options.prices.empty()) return;
  const Code code = read_code(assembly);
  insert_tally(assembly, code, options.shims, Prices(read_file(options.prices)),
               options.whole == "1");
}

int run(const Options& options) {
  Report report;
  Assembly host(read_file(options.host));
  std::unique_ptr<Assembly> device;
  if (!options.device.empty()) device = std::make_unique<Assembly>(read_file(options.device));
  judge_pass(host, "host", report);
  refuse_merged_names(host, "host", report);
  if (device) {
    judge_pass(*device, "device", report);
    refuse_merged_names(*device, "device", report);
  }
  if (report.refused.empty()) {
    if (device) merge(host, *device, options.unit, Allowed(read_file(options.allowed)), report);
    close_gaps(host, "host", report);
    if (device) close_gaps(*device, "device", report);
    count_work(host, options);
    if (device) count_work(*device, options);
  }
  write_file(options.report, report.json());
  if (!report.refused.empty()) return 1;
  write_file(options.out_host, host.written());
  if (device) write_file(options.out_device, device->written());
  return 0;
}

// Reads what the guard has written and looks for gaps again.
int verify(const std::string& path) {
  const Assembly assembly(read_file(path));
  const Code code = read_code(assembly);
  const Findings found = find_gaps(assembly, code);
  int open = 0;
  for (const Gap& gap : found.gaps) {
    if (gap.what == Gap::What::Target || gap.what == Gap::What::Stack) continue;
    const Line& line = assembly.lines[code.steps[gap.step].line];
    std::printf("%s:%d: %s: %.*s %.*s\n", path.c_str(), line.number, gap.why,
                static_cast<int>(line.name.size()), line.name.data(),
                static_cast<int>(line.rest.size()), line.rest.data());
    open++;
  }
  return open == 0 && found.refused.empty() ? 0 : 1;
}

}  // namespace
}  // namespace guard

int main(int argc, char** argv) {
  try {
    const guard::Options options = guard::parse(argc, argv);
    return options.verify.empty() ? guard::run(options) : guard::verify(options.verify);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "warploom-guard: %s\n", error.what());
    return 2;
  }
}
