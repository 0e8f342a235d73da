// warploom-emu PROGRAM.so [ARGS...]: runs one emulated job. See docs/architecture.md.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <utility>

#include "access/guard_hooks.h"
#include "base/layout.h"
#include "base/stats.h"
#include "behavior/inputs.h"
#include "behavior/iterations.h"
#include "behavior/looks.h"
#include "behavior/spoil.h"
#include "behavior/turned_inputs.h"
#include "behavior/versions.h"
#include "host/call_targets.h"
#include "host/descriptors.h"
#include "machine/confine.h"
#include "machine/standard_files.h"
#include "machine/world.h"
#include "machine/world_setup.h"
#include "memory/memory.h"
#include "metering/meter_tally.h"
#include "nccl/nccl_group.h"
#include "order/race.h"
#include "report/crash.h"
#include "report/report.h"
#include "report/time_limit.h"
#include "schedule/scheduler.h"
#include "schedule/trace.h"
#include "timing/timing.h"

namespace warploom {

namespace {

constexpr int kSetupFd = 3;
// Only until the report is open.
std::string g_nonce, g_digest_key;
double g_started = 0;

double now() {
  timespec t{};
  raw_call(SYS_clock_gettime, CLOCK_MONOTONIC,
           reinterpret_cast<long>(&t));  // not the program's modelled clock
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

std::string read_all(int fd) {
  std::string text;
  char buffer[4096];
  ssize_t got;
  while ((got = read(fd, buffer, sizeof buffer)) > 0) text.append(buffer, static_cast<size_t>(got));
  explicit_bzero(buffer, sizeof buffer);
  return text;
}

NetTiming timing_of(const std::string& name) {
  if (name == "lazy") return NetTiming::Lazy;
  if (name == "random") return NetTiming::Random;
  return NetTiming::Eager;
}

bool set_option(const std::string& key, const std::string& value) {
  const auto number = [&] { return std::strtoll(value.c_str(), nullptr, 10); };
  const auto integer = [&] { return static_cast<int>(number()); };
  Config& c = g_config;
  if (key == "nonce") {
    g_nonce = value;
  } else if (key == "digest_key") {
    g_digest_key = value;
  } else if (key == "ranks") {
    c.ranks = integer();
  } else if (key == "lsa_size") {
    c.lsa_size = integer();
  } else if (key == "node_size") {
    c.node_size = integer();
  } else if (key == "processes") {
    c.processes = integer();
    c.single_process = c.processes == 1;
  } else if (key == "seed") {
    c.seed = static_cast<uint64_t>(number());
  } else if (key == "denied_import") {
    deny_import(value);
  } else if (key == "regions_in_turn") {
    nccl::g_regions_in_turn = integer() != 0;
  } else if (key == "library_objects") {
    if (integer() != 0) allow_library_objects();
  } else if (key == "fresh_word") {
    c.fresh_word = static_cast<uint32_t>(number());
  } else if (key == "fresh_other") {
    c.fresh_other = static_cast<uint32_t>(number());
  } else if (key == "fresh_site") {
    c.fresh_sites.push_back(static_cast<uint32_t>(number()));
  } else if (key == "looks") {
    if (integer()) keep_looks();
  } else if (key == "stale_site") {
    c.stale_sites.push_back(static_cast<uint32_t>(number()));
  } else if (key == "stale") {
    c.stale = integer() != 0;
    c.stale_by_updates = integer() == 2;
  } else if (key == "stale_every") {
    c.stale_every = static_cast<uint64_t>(number());
  } else if (key == "timing") {
    c.timing = timing_of(value);
  } else if (key == "race") {
    c.race = integer() != 0;
  } else if (key == "readbacks") {
    c.readbacks = integer() != 0;
  } else if (key == "input_to_first") {
    c.input_to_first = integer() != 0;
  } else if (key == "sync_launches") {
    c.sync_launches = integer() != 0;
  } else if (key == "nccl_version") {
    c.nccl_version = integer();
  } else if (key == "device_memory_mb") {
    c.device_memory = static_cast<std::size_t>(number()) << 20;
  } else if (key == "device_most_mb") {
    c.device_most = static_cast<std::size_t>(number()) << 20;
  } else if (key == "whole_history_mb") {
    c.whole_history = static_cast<std::size_t>(number()) << 20;
  } else if (key == "max_findings") {
    c.max_findings = integer();
  } else if (key == "time_limit") {
    c.time_limit = std::strtod(value.c_str(), nullptr);
  } else if (key == "trace") {
    c.trace = static_cast<std::size_t>(number());
  } else if (key == "spoil") {
    return configure_spoil(value);
  } else if (key == "poison") {
    configure_poison(static_cast<unsigned>(number()));
  } else if (key == "spoil_from") {
    configure_spoil_from(static_cast<unsigned>(number()));
  } else if (key == "scramble") {
    if (integer()) configure_scramble();
  } else if (key == "only_counts") {
    if (integer()) configure_only_counts();
  } else if (key == "points") {
    return configure_points(value);
  } else if (key == "meet") {
    if (integer()) configure_meeting();
  } else if (key == "strict") {
    if (integer()) configure_strict();
  } else if (key == "stops") {
    return configure_stops(value);
  } else if (key == "versions") {
    configure_versions(static_cast<std::size_t>(number()) << 20);
  } else if (key == "take_back") {
    return configure_take_back(value);
  } else if (key == "vary") {
    return configure_vary(value);
  } else if (key == "inputs") {
    return configure_inputs(value);
  } else if (key == "turns") {
    return configure_turns(value);
  } else if (key == "timed") {
    change_flag(g_timed, integer() != 0);
    warploom_meters_locals = g_timed;
  } else if (key.starts_with("machine.")) {
    return set_machine(key.substr(8), std::strtod(value.c_str(), nullptr));
  } else {
    return false;
  }
  return true;
}

void read_config() {
  std::string text = read_all(kSetupFd);
  close(kSetupFd);
  std::size_t start = 0;
  while (start < text.size()) {
    std::size_t end = text.find('\n', start);
    if (end == std::string::npos) end = text.size();
    const std::string line = text.substr(start, end - start);
    const std::size_t equals = line.find('=');
    start = end + 1;
    if (line.empty()) continue;
    if (equals == std::string::npos ||
        !set_option(line.substr(0, equals), line.substr(equals + 1))) {
      std::fprintf(stderr, "warploom-emu: unknown configuration line '%s'\n", line.c_str());
      _exit(64);
    }
  }
  explicit_bzero(text.data(), text.size());
  if (g_config.ranks < 1 || g_config.ranks > kMaxDevices || g_config.lsa_size < 1) {
    std::fprintf(stderr, "warploom-emu: ranks must be 1 to %d\n", kMaxDevices);
    _exit(64);
  }
}

}  // namespace

double seconds_since_start() { return now() - g_started; }

}  // namespace warploom

int main(int argc, char** argv) {
  using namespace warploom;
  if (argc < 2) {
    std::fprintf(stderr, "usage: warploom-emu PROGRAM.so [ARGS...]\n");
    return 64;
  }
  g_started = now();
  read_config();
  change_flag(g_watching, g_config.race || g_timed);
  open_report(std::exchange(g_nonce, {}), g_digest_key);
  explicit_bzero(g_digest_key.data(), g_digest_key.size());
  start_trace(g_config.trace);
  const std::size_t device_bytes = std::max(g_config.device_memory, g_config.device_most);
  map_tally();
  draw_layout();
  create_arena(g_config.ranks, device_bytes);
  if (g_config.race) create_history(g_config.ranks, device_bytes);
  install_crash_handlers();
  start_time_limit(g_config.time_limit);
  forbid_processes();
  create_world(argv[1], argc - 1, argv + 1);
  if (g_config.input_to_first) give_input_to_first();
  keep_open_descriptors();
  mprotect(&g_config, sizeof g_config, PROT_READ);  // nothing changes these from here on
  mprotect(&g_places, sizeof g_places, PROT_READ);
  close_flags();
  run_until_done();
  finish_run("finished");
}
