#include "machine/process_state.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fenv.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <utility>

#include "cuda/stream.h"
#include "host/call_targets.h"
#include "host/descriptors.h"
#include "host/libc_made.h"
#include "host/process_heap.h"
#include "host/program_range.h"
#include "machine/into_program.h"
#include "machine/world_setup.h"
#include "report/report.h"

namespace warploom {

namespace {

Process* g_entered = nullptr;  // whose state the libraries hold
int g_first_folder = -1;       // where the job was started; known once a process has left it
int g_first_mask = -1;
bool g_locales_used = false;

// --- rounding and traps of floating-point arithmetic -------------------------------------------
#if defined(__x86_64__)
uint32_t vector_control() {
  return __builtin_ia32_stmxcsr() & ~0x3Fu;  // less the flags of what has happened
}
void set_vector_control(uint32_t value) { __builtin_ia32_ldmxcsr(value); }
// What has happened: of either unit, since fetestexcept tells them together.
uint32_t take_raised() {
  uint16_t status;
  asm volatile("fnstsw %0" : "=m"(status));
  if (status & 0x3F) asm volatile("fnclex");
  return (__builtin_ia32_stmxcsr() | status) & 0x3F;
}
void set_raised(uint32_t raised) {
  __builtin_ia32_ldmxcsr((__builtin_ia32_stmxcsr() & ~0x3Fu) | raised);
}
uint32_t x87_control() {
  uint16_t word;
  asm volatile("fnstcw %0" : "=m"(word));
  return word;
}
void set_x87_control(uint32_t value) {
  const auto word = static_cast<uint16_t>(value);
  asm volatile("fldcw %0" : : "m"(word));
}
#else
uint32_t vector_control() {
  uint64_t word;
  asm volatile("mrs %0, fpcr" : "=r"(word));
  return static_cast<uint32_t>(word);
}
void set_vector_control(uint32_t value) {
  asm volatile("msr fpcr, %0" : : "r"(static_cast<uint64_t>(value)));
}
uint32_t take_raised() {
  uint64_t status;
  asm volatile("mrs %0, fpsr" : "=r"(status));
  return static_cast<uint32_t>(status & 0x9F);
}
void set_raised(uint32_t raised) {
  uint64_t status;
  asm volatile("mrs %0, fpsr" : "=r"(status));
  asm volatile("msr fpsr, %0" : : "r"((status & ~uint64_t{0x9F}) | raised));
}
uint32_t x87_control() { return 0; }
void set_x87_control(uint32_t) {}
#endif

const uint32_t kUsualVector = vector_control(), kUsualX87 = x87_control();

void enter_arithmetic(const ThreadState& state) {
  take_raised();  // by kernels
  if (state.vector_control) set_vector_control(state.vector_control);
  if (state.x87_control) set_x87_control(state.x87_control);
  set_raised(state.raised);
}

// Kernels and the runtime compute as usual.
void leave_arithmetic(ThreadState& state) {
  state.raised = take_raised();
  const uint32_t vector = vector_control(), x87 = x87_control();
  state.vector_control = vector != kUsualVector ? vector : 0;
  state.x87_control = x87 != kUsualX87 ? x87 : 0;
  if (state.vector_control) set_vector_control(kUsualVector);
  if (state.x87_control) set_x87_control(kUsualX87);
}

// --- locales -----------------------------------------------------------------------------------
template <class Function>
Function library_function(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

locale_t real_uselocale(locale_t locale) {
  static const auto real = library_function<locale_t (*)(locale_t)>("uselocale");
  return real(locale);
}

void use_locale_of(const HostThread& thread) {
  const locale_t own = thread.state.locale, common = thread.process->state.locale;
  real_uselocale(own ? own : common ? common : LC_GLOBAL_LOCALE);
}

// --- the process -------------------------------------------------------------------------------
std::string zone_of(char** environment) {
  for (char** entry = environment; entry && *entry; entry++) {
    if (std::strncmp(*entry, "TZ=", 3) == 0) return *entry;
  }
  return "";
}

void put_away(Process& process) {
  process.state.environment = environ;
  leave_standard(process.state.standard);
  leave_library(process.state.library);
}

void use_folder_of(const ProcessState& state) {
  if (g_first_folder >= 0 && fchdir(state.folder >= 0 ? state.folder : g_first_folder) != 0) {
    std::perror("warploom-emu: cannot enter a process's folder");
  }
}

void bring_back(Process& process) {
  ProcessState& state = process.state;
  const bool other_zone = zone_of(environ) != zone_of(state.environment);
  environ = state.environment;
  if (other_zone) tzset();
  use_folder_of(state);
  if (g_first_mask >= 0) {
    static const auto real = library_function<mode_t (*)(mode_t)>("umask");
    real(static_cast<mode_t>(state.file_mask >= 0 ? state.file_mask : g_first_mask));
  }
}

}  // namespace

void enter_process(HostThread& thread) {
  Process& process = *thread.process;
  if (g_entered != &process) {
    if (g_entered) {
      put_away(*g_entered);
      enter_standard(g_entered->state.standard, process.state.standard);
      enter_library(process.state.library, g_entered->state.library);
    }
    bring_back(process);
    g_entered = &process;
  }
  if (g_locales_used) use_locale_of(thread);
  enter_arithmetic(thread.state);
  errno = thread.state.error;
}

void leave_process(HostThread& thread) {
  thread.state.error = errno;
  leave_arithmetic(thread.state);
}

void end_thread_data(ThreadState& state) {
  if (state.end) into_program(WARPLOOM_FRAME, state.end, state.data);
}

}  // namespace warploom

using namespace warploom;

namespace {

// The host thread that asks: in a callback of a stream, the first one of its process.
HostThread& asking_thread() {
  if (g_current && g_current->host) return *g_current->host;
  const int rank = g_current ? g_current->process->rank : g_active_op ? g_active_op->rank : 0;
  return *g_processes[static_cast<std::size_t>(rank)]->threads.front();
}

Process& asking_process() { return *asking_thread().process; }

void note_folder_entered() {
  int& folder = asking_process().state.folder;
  if (folder >= 0) close(folder);
  folder = open(".", O_PATH | O_CLOEXEC);
}

// Names of all categories, as setlocale(LC_ALL, nullptr) has them.
std::string names_of(locale_t locale) {
  static const std::pair<int, const char*> kCategories[] = {
      {LC_CTYPE, "LC_CTYPE"},
      {LC_NUMERIC, "LC_NUMERIC"},
      {LC_TIME, "LC_TIME"},
      {LC_COLLATE, "LC_COLLATE"},
      {LC_MONETARY, "LC_MONETARY"},
      {LC_MESSAGES, "LC_MESSAGES"},
      {LC_PAPER, "LC_PAPER"},
      {LC_NAME, "LC_NAME"},
      {LC_ADDRESS, "LC_ADDRESS"},
      {LC_TELEPHONE, "LC_TELEPHONE"},
      {LC_MEASUREMENT, "LC_MEASUREMENT"},
      {LC_IDENTIFICATION, "LC_IDENTIFICATION"},
  };
  std::string all;
  bool same = true;
  for (const auto& [number, name] : kCategories) {
    const char* own = locale->__names[number];
    same = same && std::strcmp(own, locale->__names[LC_CTYPE]) == 0;
    all += (all.empty() ? "" : ";") + std::string(name) + "=" + own;
  }
  return same ? locale->__names[LC_CTYPE] : all;
}

}  // namespace

// What libraries ask for too, and so is exported to them and to the program.
extern "C" {

// exported
char* setlocale(int category, const char* name) noexcept {
  static const auto real = library_function<char* (*)(int, const char*)>("setlocale");
  if (!g_current) return real(category, name);
  if (of_program(__builtin_return_address(0))) program_reads_text(name);
  ProcessState& state = asking_process().state;
  if (category < LC_CTYPE || category > LC_IDENTIFICATION) {
    errno = EINVAL;
    return nullptr;
  }
  if (!state.locale) state.locale = newlocale(LC_ALL_MASK, "C", nullptr);
  if (name) {
    const int mask = category == LC_ALL ? LC_ALL_MASK : 1 << category;
    locale_t made = newlocale(mask, name, duplocale(state.locale));
    if (!made) return nullptr;
    state.locale = made;  // the one before may be in use by streams
    g_locales_used = true;
    use_locale_of(asking_thread());
  }
  state.locale_name = category == LC_ALL ? names_of(state.locale) : state.locale->__names[category];
  const std::size_t bytes = state.locale_name.size() + 1;  // the program reads a copy of its own
  return static_cast<char*>(std::memcpy(program_memory(bytes), state.locale_name.c_str(), bytes));
}

// exported
locale_t uselocale(locale_t locale) noexcept {
  if (!g_current) return real_uselocale(locale);
  HostThread& thread = asking_thread();
  const locale_t before = thread.state.locale ? thread.state.locale : LC_GLOBAL_LOCALE;
  if (locale) {
    thread.state.locale = locale == LC_GLOBAL_LOCALE ? nullptr : locale;
    g_locales_used = true;
    use_locale_of(thread);
  }
  return before;
}

// exported
int chdir(const char* path) noexcept {
  static const auto real = library_function<int (*)(const char*)>("chdir");
  if (!g_current) return real(path);
  if (of_program(__builtin_return_address(0))) program_reads_text(path);
  if (g_first_folder < 0) g_first_folder = open(".", O_PATH | O_CLOEXEC);
  if (real(path) != 0) return -1;
  note_folder_entered();
  return 0;
}

// exported
int fchdir(int descriptor) noexcept {
  static const auto real = library_function<int (*)(int)>("fchdir");
  if (!g_current) return real(descriptor);
  if (of_program(__builtin_return_address(0)) && !check_descriptor(descriptor, "fchdir")) return -1;
  if (g_first_folder < 0) g_first_folder = open(".", O_PATH | O_CLOEXEC);
  if (real(descriptor) != 0) return -1;
  note_folder_entered();
  return 0;
}

// exported
mode_t umask(mode_t mask) noexcept {
  static const auto real = library_function<mode_t (*)(mode_t)>("umask");
  const mode_t before = real(mask);
  if (!g_current) return before;
  if (g_first_mask < 0) g_first_mask = static_cast<int>(before);
  asking_process().state.file_mask = static_cast<int>(mask);
  return before;
}

// exported, as all of the names that begin with warploom_
int warploom_process_number() { return asking_process().rank; }
void* warploom_thread_data() { return asking_thread().state.data; }
void warploom_set_thread_data(void* data, void (*end)(void*)) {
  check_call_target(end);
  ThreadState& state = asking_thread().state;
  state.data = data;
  state.end = end;
}
void* __tls_get_addr(void* index);
void* warploom_library_tls(void* index) { return __tls_get_addr(index); }
void* warploom_library(const char* name) { return dlsym(RTLD_NEXT, name); }
void (**warploom_fini_functions(unsigned long* count))() {
  const auto* map = static_cast<const link_map*>(asking_process().handle);
  if (!map) return nullptr;  // still being loaded: a constructor has ended it
  uintptr_t start = 0;
  for (const ElfW(Dyn)* entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
    if (entry->d_tag == DT_FINI_ARRAY) start = map->l_addr + entry->d_un.d_ptr;
    if (entry->d_tag == DT_FINI_ARRAYSZ) *count = entry->d_un.d_val / sizeof(void (*)());
  }
  return reinterpret_cast<void (**)()>(start);
}
[[noreturn]] void warploom_end_process(int code) { end_process(code & 0xFF); }
[[noreturn]] void warploom_end_by_signal(int number) {
  if (number == SIGABRT) std::abort();
  report_finding({.kind = kinds::crash,
                  .message = format("the program sent itself signal %d (%s), which ends it", number,
                                    sigabbrev_np(number) ? sigabbrev_np(number) : "?"),
                  .hint = "without a handler, this signal ends a process"});
  report_exit(current_rank(), 128 + number);
  stop_run();
}

}  // extern "C"
