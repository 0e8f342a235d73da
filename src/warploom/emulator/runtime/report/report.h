// The report to the driver: findings, read-backs, exit codes. See docs/architecture.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/finding_kinds.h"
#include "schedule/fiber.h"

namespace warploom {

struct StreamOp;
struct EarlierVersion;

struct FindingInfo {
  const char* kind;
  std::string message;
  std::string hint = "";
  bool warning = false;
  bool suspicion = false;  // no finding unless the driver finds that results depend on it
  Frames where{};          // empty: the place where the running fiber is
  Frames other{};          // second place of a race or mismatch
  // The launches of these kernels: of a library's, which has no line of the program's, they are the
  // places to show. Empty: the running thread's.
  Frames launched{}, other_launched{};
  Frames later{};                  // of a stale read: the write that came later and was seen
  Frames cause{};                  // the place of the finding that this one comes of
  std::optional<uint32_t> site{};  // the name of a place that the driver may ask about
  std::optional<int> rank{};       // empty: the running fiber's
  const char* kernel = nullptr;    // empty: the running fiber's
  bool host = false;               // host code did it, whatever runs now
  // For the trace: the second party, if it is known to be one rank, and whether all take part.
  std::optional<int> other_rank{};
  bool everyone = false;
};

// The nonce begins each line; the key belongs to the digest of what was read back.
void open_report(std::string nonce, const std::string& key);
// Enters a finding once per kind and place. Returns false if it was there already.
bool report_finding(FindingInfo info);
// Memory of the host that devices have stored results in: who allocated it, or its name.
struct ResultPlace {
  int rank = 0, thread = 0;
  uint64_t order = 0;  // of its allocation, 0: a variable
  const char* name = "";
  Frames where{};
  uintptr_t start = 0;
  std::size_t chunk = 0, reading = 0;
};
// With who took it, and what it held earlier, where that was kept (versions.h).
void report_result(const ResultPlace& place, const std::vector<char>& bytes,
                   const std::vector<Frames>& takers, const std::vector<EarlierVersion>& versions);
// An operation has read `bytes` back, which lie at `data` now.
// Returns its number, from 0 on.
std::size_t report_readback(const StreamOp& op, const void* data, std::size_t bytes,
                            const void* device);
void report_unread(std::size_t number);  // nobody has read what a read-back brought
void report_exit(int rank, int code);
// Ends the whole run at once; the end line says "stopped". The finding was reported before.
[[noreturn]] void stop_run();
[[noreturn]] void stop_unsupported(const char* name, const std::string& why);
[[noreturn]] void finish_run(const char* state);

// Walks the frame pointers of the running fiber, keeping what lies in the program.
Frames capture_frames();
// The same for a fiber that is blocked, and from given registers.
Frames frames_of(const Fiber& fiber);
Frames walk_frames(const Fiber& fiber, const void* frame_pointer, const void* pc,
                   int most = Frames::kMax);
Frames innermost_frames(int most);
uint32_t program_place();  // only the innermost frame; 0 if there is none
uint32_t program_offset(const void* return_address);  // 0 if it is not in the program

// For other parts of the report: one signed line, and JSON of a string and of frames.
void send_line(const std::string& json);
std::string quote(const std::string& text);
std::string frames_json(const Frames& frames, const Frames& around = {});

std::string format(const char* pattern, ...) __attribute__((format(printf, 1, 2)));

}  // namespace warploom
