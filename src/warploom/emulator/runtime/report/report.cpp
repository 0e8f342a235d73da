#include "report/report.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <new>
#include <set>
#include <utility>
#include <vector>

#include "base/flags.h"
#include "base/keyed_hash.h"
#include "base/stats.h"
#include "behavior/arrivals.h"
#include "behavior/inputs.h"
#include "behavior/iterations.h"
#include "behavior/results.h"
#include "behavior/versions.h"
#include "behavior/ways.h"
#include "host/descriptors.h"
#include "kernels/kernel.h"
#include "machine/world.h"
#include "memory/fresh.h"
#include "order/completions.h"
#include "order/host_suspects.h"
#include "report/time_limit.h"
#include "schedule/trace.h"
#include "timing/timeline.h"

namespace warploom {

Stats g_stats;

namespace {

constexpr int kConfigFd = 3, kReportFd = 4, kReadbackFd = 5;

// What nobody but this file may know. It lies in a page of its own, at no address that can be told.
struct Secrets {
  std::string nonce;
  KeyedHash read_back;
  int report = kReportFd, read_backs = kReadbackFd;
};
// Nothing else of the emulator leads there, and this is closed once it is known.
struct alignas(4096) SecretsPlace {
  Secrets* page = nullptr;
};
SecretsPlace g_secrets;
constexpr std::size_t kSecretBytes = 4096;
static_assert(sizeof(Secrets) <= kSecretBytes);

// The page can be written in this scope only.
struct OpenSecrets {
  OpenSecrets() { mprotect(g_secrets.page, kSecretBytes, PROT_READ | PROT_WRITE); }
  ~OpenSecrets() { mprotect(g_secrets.page, kSecretBytes, PROT_READ); }
  OpenSecrets(const OpenSecrets&) = delete;
  OpenSecrets& operator=(const OpenSecrets&) = delete;
};

std::set<std::string> g_known;  // findings that were reported, by kind and place
std::size_t g_readback_bytes = 0, g_readbacks = 0;
bool g_reporting_results = false;

// False: not all of it, since the driver has gone or the file is full.
bool write_all(int fd, const char* data, std::size_t bytes) {
  while (bytes) {
    const long written =
        raw_call(SYS_write, fd, reinterpret_cast<long>(data), static_cast<long>(bytes));
    if (written <= 0) return false;
    data += written;
    bytes -= static_cast<std::size_t>(written);
  }
  return true;
}

std::string index_json(uint3 v) { return format("[%u,%u,%u]", v.x, v.y, v.z); }

// Each line begins with the nonce: what the program itself writes there cannot pass for a line.
void send(const std::string& line) {
  const std::string whole = g_secrets.page->nonce + " " + line + "\n";
  write_all(g_secrets.page->report, whole.data(), whole.size());
}

// The events that led to a finding; they belong to the finding that follows.
void send_trace(const Involved& involved) {
  for (const TraceEvent* event : events_before(involved)) {
    std::string text = event->text;
    if (event->times > 1) {
      text += format(" (%u times%s)", event->times,
                     event->several_threads ? ", by several threads" : "");
    }
    std::string line = format("{\"ev\":\"trace\",\"seq\":%llu,\"rank\":%d,\"text\":",
                              static_cast<unsigned long long>(event->sequence), event->rank) +
                       quote(text);
    if (event->kernel) line += ",\"kernel\":" + quote(event->kernel);
    if (event->in_block) {
      line += ",\"block\":" + index_json(event->block) + ",\"thread\":" + index_json(event->thread);
    }
    send(line + ",\"frames\":" + frames_json(event->where) + "}");
  }
}

std::string place_key(const char* kind, const Frames& where) {
  return std::string(kind) + std::string(reinterpret_cast<const char*>(where.pc), sizeof where.pc);
}

}  // namespace

std::string quote(const std::string& text) {
  std::string out = "\"";
  for (const unsigned char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c < 0x20) {
      out += format("\\u%04x", c);
    } else {
      out += static_cast<char>(c);
    }
  }
  return out + '"';
}

std::string frames_json(const Frames& frames, const Frames& around) {
  std::string out;
  for (const Frames* list : {&frames, &around}) {
    for (int i = 0; i < Frames::kMax && list->pc[i]; i++) {
      if (!out.empty()) out += ',';
      out += std::to_string(list->pc[i]);
    }
  }
  return "[" + out + "]";
}

void send_line(const std::string& json) { send(json); }

std::string format(const char* pattern, ...) {
  va_list args, copy;
  va_start(args, pattern);
  va_copy(copy, args);
  const int length = std::vsnprintf(nullptr, 0, pattern, args);
  va_end(args);
  std::string out(static_cast<std::size_t>(length), '\0');
  std::vsnprintf(out.data(), out.size() + 1, pattern, copy);
  va_end(copy);
  return out;
}

void open_report(std::string nonce, const std::string& key) {
  void* page =
      mmap(nullptr, kSecretBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  g_secrets.page = new (page) Secrets{std::move(nonce), KeyedHash(key)};
  mprotect(&g_secrets, sizeof g_secrets, PROT_READ);
  // Where the configuration was, a program finds nothing, and no descriptor of its own.
  dup2(kReportFd, kConfigFd);
  hide_descriptor(kConfigFd);
  g_secrets.page->report = hide_descriptor(kReportFd);
  g_secrets.page->read_backs = hide_descriptor(kReadbackFd);
  mprotect(page, kSecretBytes, PROT_READ);
  send("{\"ev\":\"begin\"}");
}

bool report_finding(FindingInfo info) {
  const WholeEntry whole;
  if (!info.where.pc[0] && g_current) info.where = capture_frames();
  if (!g_known.insert(place_key(info.kind, info.where) + (info.warning ? "?" : "")).second)
    return false;
  if (g_flags.findings >= g_config.max_findings) return false;
  count_finding();
  const GpuThread* thread = info.host ? nullptr : current_thread();
  const char* kernel = info.kernel ? info.kernel : thread ? thread->block->kernel->name : nullptr;
  std::string line = "{\"ev\":\"finding\",\"kind\":" + quote(info.kind) + ",\"severity\":\"" +
                     (info.suspicion ? "suspicion"
                      : info.warning ? "warning"
                                     : "error") +
                     "\",\"message\":" + quote(info.message) + ",\"hint\":" + quote(info.hint);
  if (!info.rank && g_current) info.rank = current_rank();
  if (info.rank) line += ",\"rank\":" + std::to_string(*info.rank);
  if (kernel) line += ",\"kernel\":" + quote(kernel);
  if (thread) {
    line += ",\"block\":" + index_json(thread->block->index) +
            ",\"thread\":" + index_json(thread->_Windex);
  }
  if (thread && !info.launched.pc[0]) info.launched = thread->block->kernel->op->where;
  line += ",\"frames\":" + frames_json(info.where, info.launched) +
          ",\"other_frames\":" + frames_json(info.other, info.other_launched);
  if (info.later.pc[0]) line += ",\"later_frames\":" + frames_json(info.later);
  if (info.cause.pc[0]) line += ",\"cause_frames\":" + frames_json(info.cause);
  if (info.site) line += ",\"site\":" + std::to_string(*info.site);
  line += "}";
  if (g_tracing) send_trace({info.rank, info.other_rank, info.everyone, info.other});
  send(line);
  return true;
}

namespace {

// Keeps what was read back, and says where; `what` begins with a comma. Gives its number.
std::size_t report_bytes(const void* data, std::size_t bytes, const std::string& what) {
  const WholeEntry whole;
  const bool kept = write_all(g_secrets.page->read_backs, static_cast<const char*>(data), bytes);
  {
    const OpenSecrets open;
    g_secrets.page->read_back.add(data, bytes);
  }
  send(format("{\"ev\":\"readback\",\"bytes\":%zu,\"offset\":%zu%s%s}", bytes, g_readback_bytes,
              what.c_str(), kept ? "" : ",\"lost\":1"));
  g_readback_bytes += bytes;
  if (!kept) stop_run();
  return g_readbacks++;
}

}  // namespace

// What lay there at earlier moments, beside what was read back.
static void report_versions(const std::vector<EarlierVersion>& versions, std::string what) {
  what += ",\"at\":[";
  for (const EarlierVersion& version : versions) {
    std::string moments;
    for (const unsigned moment : version.moments) {
      if (!moments.empty()) moments += ',';
      moments += std::to_string(moment);
    }
    std::vector<char> bytes = version.bytes;
    bytes.insert(bytes.end(), version.stored.begin(), version.stored.end());
    report_bytes(bytes.data(), bytes.size(), what + moments + "]");
  }
}

std::size_t report_readback(const StreamOp& op, const void* data, std::size_t bytes,
                            const void* device) {
  if (!g_config.readbacks) return 0;
  const std::string what = format(
      ",\"rank\":%d,\"thread\":%d,\"order\":%llu,\"node\":%zu,\"device_offset\":%llu,"
      "\"frames\":%s",
      op.rank, op.place.thread, static_cast<unsigned long long>(op.place.order), op.place.node,
      static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(device)),
      frames_json(op.where).c_str());
  const std::size_t number = report_bytes(data, bytes, what);
  report_versions(versions_of(device, bytes), what);
  return number;
}

void report_unread(std::size_t number) {
  const WholeEntry whole;
  send(format("{\"ev\":\"unread\",\"number\":%zu}", number));
}

void report_result(const ResultPlace& place, const std::vector<char>& bytes,
                   const std::vector<Frames>& takers, const std::vector<EarlierVersion>& versions) {
  std::string all;
  for (const Frames& taker : takers) all += (all.empty() ? "" : ",") + frames_json(taker);
  const std::string what = format(
      ",\"rank\":%d,\"thread\":%d,\"order\":%llu,\"node\":0,\"device_offset\":%llu,"
      "\"frames\":%s,\"shared\":1,\"chunk\":%zu,\"reading\":%zu,\"takers\":[%s],\"name\":%s",
      place.rank, place.thread, static_cast<unsigned long long>(place.order),
      static_cast<unsigned long long>(place.start), frames_json(place.where).c_str(), place.chunk,
      place.reading, all.c_str(), quote(place.name).c_str());
  report_bytes(bytes.data(), bytes.size(), what);
  report_versions(versions, what);
}

void report_arrival(const Arrival& arrival, const void* data, std::size_t bytes) {
  if (!g_config.readbacks) return;
  const std::string source = arrival.source ? format(",\"source\":%d", *arrival.source) : "";
  report_bytes(data, bytes,
               format(",\"rank\":%d,\"thread\":%d,\"order\":%llu,\"node\":0,"
                      "\"device_offset\":0,\"frames\":%s,\"call\":%s,\"elements\":%s%s",
                      arrival.rank, arrival.thread, static_cast<unsigned long long>(arrival.order),
                      frames_json(arrival.where).c_str(), quote(arrival.call).c_str(),
                      quote(arrival.elements).c_str(), source.c_str()));
}

void report_exit(int rank, int code) {
  const WholeEntry whole;
  send(format("{\"ev\":\"exit\",\"rank\":%d,\"code\":%d}", rank, code));
}

// What the host's calls delivered, by type.
static std::string typed_stats() {
  std::string text;
  for (std::size_t type = 0; type < std::size(g_stats.typed_bytes); type++) {
    if (!g_stats.typed_bytes[type]) continue;
    text += format(",\"host_bytes_of_type_%zu\":%llu", type, g_stats.typed_bytes[type]);
  }
  return text;
}

void report_blocks() {
  for (const auto& [kernel, block] : largest_blocks()) {
    send(
        format("{\"ev\":\"block\",\"kernel\":%s,\"threads\":%llu,\"dynamic_shared\":%zu,"
               "\"allowed_shared\":%zu}",
               quote(kernel).c_str(), static_cast<unsigned long long>(block.threads),
               block.dynamic_shared, block.allowed_shared));
  }
}

void finish_run(const char* state) {
  const WholeEntry whole;  // never left: what comes too late finds the run ended
  settle_all_host_suspects();
  std::fflush(stdout);
  std::fflush(stderr);
  report_timeline();
  report_inputs();
  report_ways();
  report_blocks();
  if (!g_reporting_results) {  // once: where the file is full, this ends the run
    g_reporting_results = true;
    report_results();
  }
  const Stats& s = g_stats;
  const std::string digest = KeyedHash(g_secrets.page->read_back).hex();  // of a copy
  send(format(
      "{\"ev\":\"end\",\"state\":\"%s\",\"stats\":{\"switches\":%llu,"
      "\"threads\":%llu,\"kernels\":%llu,\"accesses\":%llu,\"operations\":%llu,\"tallied\":%llu,"
      "\"untold_operations\":%llu,\"puts\":%llu,"
      "\"put_bytes\":%llu,\"peer_bytes\":%llu,\"host_calls\":%llu,\"host_bytes\":%llu,"
      "\"copied_bytes\":%llu,\"staged_bytes\":%llu,\"mpi_bytes\":%llu,"
      "\"host_looked\":%d,\"completions\":%zu,\"seconds\":%.6f%s%s},\"read_back_digest\":\"%s\"}",
      state, s.switches, s.threads, s.kernels, accesses_made(), s.operations, s.tallied,
      s.untold_operations, s.puts, s.put_bytes, s.peer_bytes, s.host_calls, s.host_bytes,
      s.copied_bytes, s.staged_bytes, s.mpi_bytes, g_host_looked ? 1 : 0, most_completions(),
      seconds_since_start(), iteration_stats().c_str(), typed_stats().c_str(), digest.c_str()));
  // No destructors of the program run after the verdict.
  raw_call(SYS_exit_group, 0);
  __builtin_unreachable();
}

void stop_run() { finish_run("stopped"); }

void stop_unsupported(const char* name, const std::string& why) {
  const WholeEntry whole;
  send("{\"ev\":\"unsupported\",\"name\":" + quote(name) + ",\"message\":" + quote(why) +
       ",\"frames\":" +
       frames_json(g_current ? capture_frames() : Frames{},
                   current_thread() ? current_thread()->block->kernel->op->where : Frames{}) +
       "}");
  finish_run("stopped");
}

static uint32_t offset_in(const Process* process, uintptr_t return_address) {
  if (!process || return_address < process->base || return_address >= process->end) return 0;
  // One back, so that the address lies in the call and not behind it.
  return static_cast<uint32_t>(return_address - process->base - 1);
}

uint32_t program_offset(const void* return_address) {
  return g_current ? offset_in(g_current->process, reinterpret_cast<uintptr_t>(return_address)) : 0;
}

Frames walk_frames(const Fiber& fiber, const void* frame_pointer, const void* pc, int most) {
  Frames frames;
  int count = 0;
  const auto keep = [&](uintptr_t return_address) {
    if (const uint32_t offset = offset_in(fiber.process, return_address)) {
      frames.pc[count++] = offset;
    }
  };
  if (pc) keep(reinterpret_cast<uintptr_t>(pc) + 1);
  const auto low = reinterpret_cast<uintptr_t>(fiber.stack);
  const uintptr_t high = low + fiber.stack_bytes;
  auto frame = reinterpret_cast<uintptr_t>(frame_pointer);
  while (frame >= low && frame + 16 <= high && count < most) {
    const auto* words = reinterpret_cast<const uintptr_t*>(frame);
    keep(words[1]);
    if (words[0] <= frame) break;
    frame = words[0];
  }
  return frames;
}

Frames capture_frames() {
  if (!g_current) return {};
  return walk_frames(*g_current, __builtin_frame_address(0), nullptr);
}

Frames innermost_frames(int most) {
  if (!g_current) return {};
  return walk_frames(*g_current, __builtin_frame_address(0), nullptr, most);
}

uint32_t program_place() { return innermost_frames(1).pc[0]; }

Frames frames_of(const Fiber& fiber) {
  return walk_frames(fiber, fiber.frame_pointer, static_cast<const char*>(fiber.resume) - 1);
}

}  // namespace warploom
