// warploom-guard: judges a compiler's assembly and closes the gaps in its instrumentation.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>

#include "assembly.h"
#include "merge.h"
#include "report.h"

namespace guard {
namespace {

struct Options {
  std::string host, out_host, device, out_device, shims, unit, allowed, report;
};

Options parse(int argc, char** argv) {
  Options options;
  const std::pair<const char*, std::string*> known[] = {
      {"--host", &options.host},       {"--out-host", &options.out_host},
      {"--device", &options.device},   {"--out-device", &options.out_device},
      {"--shims", &options.shims},     {"--unit", &options.unit},
      {"--allowed", &options.allowed}, {"--report", &options.report},
  };
  for (int at = 1; at < argc; at += 2) {
    std::string* target = nullptr;
    for (const auto& [name, value] : known) {
      if (std::string(argv[at]) == name) target = value;
    }
    if (!target || at + 1 == argc) throw std::runtime_error(std::string("unknown: ") + argv[at]);
    *target = argv[at + 1];
  }
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

int run(const Options& options) {
  Report report;
  Assembly host(read_file(options.host));
  std::unique_ptr<Assembly> device;
  if (!options.device.empty()) device = std::make_unique<Assembly>(read_file(options.device));
  refuse_merged_names(host, "host", report);
  if (device) {
    refuse_merged_names(*device, "device", report);
    merge(host, *device, options.unit, Allowed(read_file(options.allowed)), report);
  }
  write_file(options.out_host, host.written());
  if (device) write_file(options.out_device, device->written());
  write_file(options.report, report.json());
  return report.refused.empty() ? 0 : 1;
}

}  // namespace
}  // namespace guard

int main(int argc, char** argv) {
  try {
    return guard::run(guard::parse(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "warploom-guard: %s\n", error.what());
    return 2;
  }
}
