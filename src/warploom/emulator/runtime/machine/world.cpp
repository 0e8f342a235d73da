#include "machine/world.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/stats.h"
#include "behavior/spoil.h"
#include "cuda/stream.h"
#include "host/call_targets.h"
#include "host/descriptors.h"
#include "host/exceptions.h"
#include "host/library_calls.h"
#include "host/own_memory.h"
#include "host/process_heap.h"
#include "kernels/kernel.h"
#include "machine/into_program.h"
#include "machine/world_setup.h"
#include "memory/device_symbols.h"
#include "memory/memory.h"
#include "mpi/mpi_exit.h"
#include "nccl/nccl_checks.h"
#include "report/report.h"
#include "timing/timing.h"

namespace warploom {

std::vector<std::unique_ptr<Process>> g_processes;
std::vector<std::unique_ptr<Device>> g_devices;

namespace {

using MainFunction = int (*)(int, char**);

void fail_to_load(const std::string& why) {
  std::fprintf(stderr, "warploom-emu: cannot load the program: %s\n", why.c_str());
  stop_run();
}

// Each rank gets its own copy of the file, or the loader would share its globals.
int copy_program(const char* path) {
  const int copy = memfd_create("warploom-program", MFD_CLOEXEC);
  std::FILE* file = std::fopen(path, "rb");
  if (copy < 0 || !file) fail_to_load(path);
  char buffer[1 << 16];
  std::size_t got;
  while ((got = std::fread(buffer, 1, sizeof buffer, file)) > 0) {
    if (write(copy, buffer, got) != static_cast<ssize_t>(got)) fail_to_load("no room for a copy");
  }
  std::fclose(file);
  keep_from_program(copy);
  return copy;
}

const char* g_program_path = "";

void find_extent(Process& process, const link_map* map) {
  process.base = map->l_addr;
  struct Search {
    uintptr_t base, end, variables;
  } search{map->l_addr, map->l_addr, ~uintptr_t{0}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        auto& s = *static_cast<Search*>(data);
        if (info->dlpi_addr != s.base) return 0;
        for (int i = 0; i < info->dlpi_phnum; i++) {
          const auto& segment = info->dlpi_phdr[i];
          if (segment.p_type != PT_LOAD) continue;
          s.end = std::max(s.end, s.base + segment.p_vaddr + segment.p_memsz);
          if (segment.p_flags & PF_W) s.variables = std::min(s.variables, s.base + segment.p_vaddr);
        }
        // What the loader makes constant comes first.
        for (int i = 0; i < info->dlpi_phnum; i++) {
          const auto& segment = info->dlpi_phdr[i];
          const uintptr_t start = s.base + segment.p_vaddr;
          if (segment.p_type == PT_GNU_RELRO && start <= s.variables) {
            s.variables = std::max(s.variables, start + segment.p_memsz);
          }
        }
        return 1;
      },
      &search);
  process.end = search.end;
  process.variables = std::min(search.variables, search.end);
}

void* load(int copy) {
  g_loading = true;
  void* handle = dlopen(format("/proc/self/fd/%d", copy).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) fail_to_load(dlerror());
  if (g_loading) fail_to_load("it has not been built for this runtime");
  return handle;
}

// The arguments are memory of the process, as all that its program may change. As on Linux, the
// environment's list stands behind theirs, and the first is how a user calls a program.
char** own_arguments(int argc, char** argv) {
  const auto count = static_cast<std::size_t>(argc);
  std::size_t variables = 0;
  while (environ[variables]) variables++;
  auto** words = static_cast<char**>(program_memory((count + variables + 2) * sizeof(char*)));
  for (std::size_t i = 0; i < count; i++) {
    const char* word = i ? argv[i] : "./program";
    const std::size_t bytes = std::strlen(word) + 1;
    words[i] = static_cast<char*>(std::memcpy(program_memory(bytes), word, bytes));
  }
  words[count] = nullptr;
  std::copy_n(environ, variables + 1, words + count + 1);
  return words;
}

void process_main(Process& process, const char* path, int argc, char** argv) {
  create_environment(process);
  // The copy is loaded on the rank's own fiber: static constructors belong to the rank.
  const int copy = copy_program(path);
  read_entries(path);
  read_device_symbols(path);
  process.handle = load(copy);
  register_device_symbols(process);
  // The copy stays open: the loader takes two files of one name for the same, and a closed
  // descriptor's number, which is the name, would serve the next rank.
  auto entry = reinterpret_cast<MainFunction>(dlsym(process.handle, "warploom_main"));
  if (!entry) fail_to_load("it has no main");
  end_process(into_program(WARPLOOM_FRAME, entry, argc, own_arguments(argc, argv)));
}

HostThread& add_thread(Process& process, int device, std::function<void()> entry) {
  process.threads.push_back(std::make_unique<HostThread>());
  HostThread& thread = *process.threads.back();
  thread.process = &process;
  thread.number = static_cast<int>(process.threads.size()) - 1;
  thread.device = device;
  thread.agent = new_agent();
  thread.fiber = create_host_fiber(std::move(entry));
  thread.fiber->host = &thread;
  thread.fiber->process = &process;
  enqueue(&thread);
  return thread;
}

Stream* make_default_stream(int device) {
  auto* stream = new Stream;
  stream->device = device;
  stream->legacy = true;
  stream->agent = new_agent();
  return stream;
}

}  // namespace

const char* program_path() { return g_program_path; }

void create_world(const char* path, int argc, char** argv) {
  g_program_path = argc ? argv[0] : path;
  for (int i = 0; i < g_config.ranks; i++) {
    auto device = std::make_unique<Device>();
    device->id = i;
    if (g_timed) device->sm_count = static_cast<int>(g_machine.sm_count);
    device->legacy = make_default_stream(i);
    device->streams.push_back(device->legacy);
    device->peers.assign(static_cast<std::size_t>(g_config.ranks), false);
    device->pools = device->peers;
    g_devices.push_back(std::move(device));
  }
  const int processes = g_config.processes > 0 ? g_config.processes : g_config.ranks;
  find_own_memory();
  create_heaps(processes);
  for (int rank = 0; rank < processes; rank++) {
    g_processes.push_back(std::make_unique<Process>());
    Process& process = *g_processes.back();
    process.rank = rank;
    process.first_device = rank * g_config.ranks / processes;
    add_thread(process, default_device(process),
               [&process, path, argc, argv] { process_main(process, path, argc, argv); });
  }
}

HostThread& add_host_thread(Process& process, int device, std::function<void()> entry) {
  HostThread& thread = add_thread(process, device, std::move(entry));
  return thread;
}

void HostThread::run() {
  if (fiber->state == FiberState::Done || process->exited) return;
  view_as(*this);
  g_host_work = 0;
  enter_process(*this);
  resume(fiber);
  leave_process(*this);
  work += g_host_work + settled_tally(*fiber);
}

HostThread& current_host() {
  if (g_current && g_current->host) return *g_current->host;
  stop_unsupported("host API on the device", "device code calls a function of the host API");
}

Process& current_process() { return *g_current->process; }

int current_rank() {
  if (!g_current) return 0;
  if (!g_config.single_process) return g_current->process->rank;
  if (g_current->block) return g_current->block->kernel->device;
  return g_current->host->device;
}

int lsa_team_of(int rank) { return rank / g_config.lsa_size; }

bool Device::is_for(int rank) {
  if (process < 0) process = rank;
  return process == rank;
}

int machine_of(const Process& process) { return process.first_device / devices_of_machine(); }

int default_device(const Process& process) { return machine_of(process) * devices_of_machine(); }

std::string machine_name() {
  if (devices_of_machine() == g_config.ranks || !g_current) return "emulated-node";
  return format("emulated-node-%d", machine_of(current_process()));
}

int number_of_device(int device) { return device - default_device(current_process()); }

bool find_device(int& number) {
  if (number < 0 || number >= devices_of_machine()) return false;
  number += default_device(current_process());
  return true;
}

void check_unseen_error(HostThread& host) {
  if (host.error_seen || host.last_error == 0) return;
  host.error_seen = true;
  report_finding({.kind = kinds::launch_error,
                  .message = format("a kernel launch failed (%s) and nobody looked",
                                    error_name(host.launch_error)),
                  .hint = "check cudaGetLastError() after each launch",
                  .where = host.error_where});
}

// Whether the program looked, its text says: ignored_errors.py.
static void tell_failed_calls(const Process& process) {
  for (const auto& thread : process.threads) {
    for (const HostThread::FailedCall& call : thread->failed) {
      report_finding({.kind = kinds::api_error,
                      .message = format("the call fails (%s), and the program goes on as if it had "
                                        "not",
                                        error_name(call.error)),
                      .hint = "look at what the call returns, and at its arguments",
                      .suspicion = true,
                      .where = call.where,
                      .host = true});
    }
  }
}

void end_process(int code) {
  HostThread& host = current_host();
  Process& process = *host.process;
  check_unseen_error(host);
  if (code == 0) {
    tell_failed_calls(process);
    mpi::check_finalized(process);
  }
  nccl_process_exit_checks(process.rank, code);
  std::fflush(stdout);
  std::fflush(stderr);
  process.exit_code = code;
  process.exited = true;
  report_exit(process.rank, code);
  // As under mpirun: one rank that fails takes the job with it. In a spoil run programs fail their
  // own checks; what all of them read back is wanted.
  if (code != 0 && !g_spoiling) stop_run();
  for (auto& thread : process.threads) thread->fiber->state = FiberState::Done;
  switch_to_scheduler();
  __builtin_unreachable();
}

}  // namespace warploom

// The program has been loaded and not begun: what its constructors do is its own doing.
extern "C" void warploom_loaded(const void* in_program) {
  using namespace warploom;
  if (!g_loading || !g_current || !g_current->host) return;
  g_loading = false;
  Dl_info where{};
  link_map* map = nullptr;
  if (!dladdr1(in_program, &where, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP)) return;
  find_extent(*g_current->process, map);
  note_program(*map);
  note_call_targets(*g_current->process, *map);
  find_exceptions(map);
  static bool known = false;  // every copy of the program has the same libraries
  if (!std::exchange(known, true)) {
    watch_exceptions(*map);
    watch_streams(*map);
    watch_library_state(*map);
  }
  view_as(*g_current->host);
}

// The program's own ways out. The loader binds the program to these, not to the C library's.
extern "C" {
void exit(int code) {
  if (running_program()) warploom::end_process(code & 0xFF);
  std::fflush(nullptr);
  _Exit(code);
}
void abort() {
  if (running_program()) {
    warploom::report_finding({.kind = warploom::kinds::crash,
                              .message = "the program called abort",
                              .hint = "an uncaught exception or a failed assertion does this"});
    warploom::report_exit(warploom::current_rank(), 134);
    warploom::stop_run();
  }
  __builtin_trap();
}
}
