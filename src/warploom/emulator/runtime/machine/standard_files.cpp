#include "machine/standard_files.h"

#include <fcntl.h>
#include <stdio_ext.h>
#include <sys/syscall.h>

#include "host/descriptors.h"
#include "host/libc_calls.h"
#include "machine/world.h"
#include "schedule/fiber.h"

namespace warploom {

namespace {

constexpr int kStandard = 3, kFarAway = 256;  // where programs look for no descriptor
bool g_standard_changed = false;
int g_first_files[kStandard];  // as the job was started with

int far_copy(int descriptor) {
  const long copy = raw_call(SYS_fcntl, descriptor, F_DUPFD_CLOEXEC, kFarAway);
  if (copy >= 0) keep_from_program(static_cast<int>(copy));
  return static_cast<int>(copy);
}

// What is written leaves by the descriptor of its process; what nobody takes is lost, as there.
void write_out(FILE* stream) {
  if (std::fflush(stream) == 0) return;
  __fpurge(stream);
  std::clearerr(stream);
}

void keep_first_files() {
  if (g_standard_changed) return;
  write_out(stdout);
  write_out(stderr);
  for (int i = 0; i < kStandard; i++) g_first_files[i] = far_copy(i);
  g_standard_changed = true;
}

bool is_kept_open(int descriptor) {
  return descriptor >= 0 && descriptor < kStandard && g_current && g_current->host;
}

void show(int descriptor, int source) {
  if (source >= 0) {
    raw_call(SYS_dup3, source, descriptor, 0);
  } else {
    raw_call(SYS_close, descriptor);
  }
}

}  // namespace

StandardChange::StandardChange(int descriptor)
    : descriptor_(is_kept_open(descriptor) ? descriptor : -1) {
  if (descriptor_ >= 0) keep_first_files();
}

StandardChange::~StandardChange() {
  if (descriptor_ < 0) return;
  const int error = errno;
  StandardFile& file = g_current->process->state.standard[descriptor_];
  file.changed = true;
  file.closed = raw_call(SYS_fcntl, descriptor_, F_GETFD) < 0;
  if (!file.closed && file.kept < 0) {
    file.kept = far_copy(descriptor_);
  } else if (!file.closed) {
    raw_call(SYS_dup3, descriptor_, file.kept, O_CLOEXEC);
  }
  errno = error;
}

bool is_standard(const FILE* stream) {
  return stream == stdin || stream == stdout || stream == stderr;
}

int close_standard(FILE* stream) {
  const int descriptor = stream == stdin ? 0 : stream == stdout ? 1 : 2;
  const StandardChange change(descriptor);
  const int result = std::fflush(stream);
  raw_call(SYS_close, descriptor);
  return result;
}

void give_input_to_first() {
  keep_first_files();
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  for (std::size_t i = 1; i < g_processes.size(); i++) {
    StandardFile& input = g_processes[i]->state.standard[0];
    input.changed = true;
    input.closed = nothing < 0;
    if (nothing >= 0) input.kept = far_copy(nothing);
  }
  if (nothing >= 0) raw_call(SYS_close, nothing);
}

// Of what was read ahead, the file takes back what the program has not had.
void leave_standard(StandardFile (&files)[kStandard]) {
  if (!g_standard_changed) return;
  write_out(stdout);
  write_out(stderr);
  files[0].at_end = std::feof(stdin);
  std::fflush(stdin);
  std::clearerr(stdin);
}

void enter_standard(const StandardFile (&before)[kStandard], StandardFile (&files)[kStandard]) {
  if (!g_standard_changed) return;
  for (int i = 0; i < kStandard; i++) {
    const StandardFile& file = files[i];
    if (!before[i].changed && !file.changed) continue;
    show(i, file.closed ? -1 : file.changed ? file.kept : g_first_files[i]);
  }
  if (!files[0].at_end) return;
  const int next = std::getc(stdin);  // nothing, which the stream then knows
  if (next != EOF) std::ungetc(next, stdin);
}

}  // namespace warploom
