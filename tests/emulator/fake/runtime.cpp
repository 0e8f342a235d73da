// Speaks the contract of docs/architecture.md and runs rank after rank; does what it is asked to.
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "../../../src/warploom/emulator/runtime/base/keyed_hash.h"

static std::map<std::string, std::string> config;
static int rank, sequence;
static size_t offset;
static uintptr_t base;

static warploom::KeyedHash& read_back() {
  static warploom::KeyedHash hash(config["digest_key"]);
  return hash;
}

static void write_line(const std::string& line) {
  const std::string whole = line + "\n";
  if (write(4, whole.data(), whole.size()) < 0) _exit(70);
}
static void send(const std::string& line) { write_line(config["nonce"] + " " + line); }

static std::string place(void* address) {
  return "[" + std::to_string(reinterpret_cast<uintptr_t>(address) - base - 1) + "]";
}

static void finding(const char* kind, const char* severity, void* where) {
  send(std::string("{\"ev\":\"finding\",\"kind\":\"") + kind + "\",\"severity\":\"" + severity +
       "\",\"message\":\"m\",\"hint\":\"h\",\"rank\":" + std::to_string(rank) +
       ",\"kernel\":\"k\",\"block\":[1,2,3],\"thread\":[4,5,6],\"frames\":" + place(where) +
       ",\"other_frames\":" + place(where) + "}");
}

extern "C" {
void fake_finding(const char* kind) { finding(kind, "error", __builtin_return_address(0)); }
void fake_warning(const char* kind) { finding(kind, "warning", __builtin_return_address(0)); }
void fake_readback(const void* data, size_t bytes) {
  if (bytes && write(5, data, bytes) < 0) _exit(71);
  read_back().add(data, bytes);
  send("{\"ev\":\"readback\",\"rank\":" + std::to_string(rank) +
       ",\"thread\":0,\"order\":" + std::to_string(sequence++) +
       ",\"node\":0,\"bytes\":" + std::to_string(bytes) + ",\"offset\":" + std::to_string(offset) +
       ",\"device_offset\":64,\"frames\":" + place(__builtin_return_address(0)) + "}");
  offset += bytes;
}
void fake_unsupported(const char* name) {
  send(std::string("{\"ev\":\"unsupported\",\"name\":\"") + name +
       "\",\"message\":\"why\",\"frames\":" + place(__builtin_return_address(0)) + "}");
}
void fake_end(const char* state) {
  fflush(stdout);
  send(std::string("{\"ev\":\"end\",\"state\":\"") + state +
       "\",\"stats\":{\"switches\":3},\"read_back_digest\":\"" + read_back().hex() + "\"}");
  _exit(0);
}
void fake_raw(const char* line) { write_line(line); }  // as a program would forge it
void fake_signed(const char* line) { send(line); }
int fake_rank() { return rank; }
// The linker sends the program's calls here.
void* __wrap_malloc(size_t bytes) { return malloc(bytes); }
void __wrap_free(void* pointer) { free(pointer); }
void* __wrap__Znwm(size_t bytes) { return malloc(bytes); }
void __wrap__ZdlPvm(void* pointer, size_t) { free(pointer); }
const char* fake_config(const char* key) { return config[key].c_str(); }
int cudaMalloc(void** p, size_t n) { return (*p = malloc(n)) == nullptr; }
int ncclCommCount(void*, int* n) { return *n = 1, 0; }
int MPI_Init(int*, char***) { return 0; }

// What the guard puts into programs keeps all registers, as an empty function does where it is
// compiled with optimization.
// The macros bring their own semicolons, which clang-format cannot know.
// clang-format off
#define HOOK(name) void name() {}
HOOK(__tsan_init)
HOOK(__tsan_func_entry)
HOOK(__tsan_func_exit)
HOOK(__tsan_vptr_update)
HOOK(__tsan_vptr_read)
HOOK(__tsan_read_range)
HOOK(__tsan_write_range)
HOOK(__ubsan_handle_type_mismatch_v1)
HOOK(__ubsan_handle_shift_out_of_bounds_abort)
HOOK(warploom_guard_read_range)
HOOK(warploom_guard_write_range)
HOOK(warploom_guard_stack)
HOOK(warploom_guard_recursion)
HOOK(warploom_guard_target)
#define SIZED(n)                          \
  HOOK(__tsan_read##n)                    \
  HOOK(__tsan_write##n)                   \
  HOOK(__tsan_unaligned_read##n)          \
  HOOK(__tsan_unaligned_write##n)         \
  HOOK(__tsan_volatile_read##n)           \
  HOOK(__tsan_volatile_write##n)          \
  HOOK(__tsan_unaligned_volatile_read##n) \
  HOOK(__tsan_unaligned_volatile_write##n) \
  HOOK(__tsan_read_write##n)              \
  HOOK(__tsan_unaligned_read_write##n)    \
  HOOK(warploom_guard_read##n)            \
  HOOK(warploom_guard_write##n)           \
  HOOK(warploom_guard_read_write##n)
SIZED(1) SIZED(2) SIZED(4) SIZED(8) SIZED(16)
// clang-format on
}

// What clang calls beside.
extern "C" {
void* __tsan_memcpy(void* to, const void* from, size_t n) { return memcpy(to, from, n); }
void* __tsan_memmove(void* to, const void* from, size_t n) { return memmove(to, from, n); }
void* __tsan_memset(void* to, int value, size_t n) { return memset(to, value, n); }
char __tsan_atomic8_load(const volatile char* p, int) { return __atomic_load_n(p, 5); }
void __tsan_atomic8_store(volatile char* p, char v, int) { __atomic_store_n(p, v, 5); }
}

int main(int argc, char** argv) {
  std::string text;
  char buffer[4096];
  for (ssize_t got; (got = read(3, buffer, sizeof buffer)) > 0;) text.append(buffer, got);
  close(3);
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at), equals = text.find('=', at);
    config[text.substr(at, equals - at)] = text.substr(equals + 1, end - equals - 1);
    at = end + 1;
  }
  send("{\"ev\":\"begin\"}");
  void* program = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!program) return fprintf(stderr, "%s\n", dlerror()), 72;
  link_map* map = nullptr;
  dlinfo(program, RTLD_DI_LINKMAP, &map);
  base = map->l_addr;
  auto entry = reinterpret_cast<int (*)(int, char**)>(dlsym(program, "warploom_main"));
  const int ranks = config["processes"] == "1" ? 1 : atoi(config["ranks"].c_str());
  for (rank = 0; rank < ranks; rank++) {
    sequence = 0;
    const int code = entry(argc - 1, argv + 1);
    send("{\"ev\":\"exit\",\"rank\":" + std::to_string(rank) + ",\"code\":" + std::to_string(code) +
         "}");
  }
  fake_end("finished");
}
