// What each host thread of the program has for itself: thread_local variables and pthread keys.
//
// All threads are fibers of one OS thread, and so have one set of the system's. The compiler asks
// __tls_get_addr where a variable of the running thread lies; it is answered here.
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "process.h"

#define UNWATCHED [[gnu::no_sanitize("thread")]]

namespace {

struct Index {
  unsigned long module, offset;
};

// The program's thread_local variables as they begin.
struct {
  bool known = false;
  unsigned long module = 0;
  const char* image = nullptr;
  std::size_t bytes = 0, file_bytes = 0, alignment = 1, skew = 0;
} g_template;

struct Destructor {
  void (*function)(void*);
  void* object;
  Destructor* next;
};

struct ThreadData {
  char* locals;  // made when first asked for
  Destructor* destructors;
  const void* values[PTHREAD_KEYS_MAX];
  int host_error;  // h_errno
};

struct Key {
  bool used;
  void (*destructor)(void*);
};
Key g_keys[PTHREAD_KEYS_MAX];
unsigned g_next_key = 0;  // none is used twice: threads keep values of those that were deleted

UNWATCHED int find_template(dl_phdr_info* info, std::size_t,
                            void*) __asm__("warploom_find_template");
UNWATCHED int find_template(dl_phdr_info* info, std::size_t, void*) {
  const auto own = reinterpret_cast<uintptr_t>(&g_template);
  bool holds = false;
  const ElfW(Phdr)* locals = nullptr;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) & segment = info->dlpi_phdr[i];
    const uintptr_t start = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && own - start < segment.p_memsz) holds = true;
    if (segment.p_type == PT_TLS) locals = &segment;
  }
  if (!holds) return 0;
  g_template.known = true;
  if (!locals) return 1;
  g_template.module = info->dlpi_tls_modid;
  g_template.image = reinterpret_cast<const char*>(info->dlpi_addr + locals->p_vaddr);
  g_template.bytes = locals->p_memsz;
  g_template.file_bytes = locals->p_filesz;
  g_template.alignment = locals->p_align ? locals->p_align : 1;
  g_template.skew = locals->p_vaddr & (g_template.alignment - 1);
  return 1;
}

void end_thread(void* given);

ThreadData& thread_data() {
  if (void* known = warploom_thread_data()) return *static_cast<ThreadData*>(known);
  auto* made = static_cast<ThreadData*>(std::calloc(1, sizeof(ThreadData)));
  warploom_set_thread_data(made, end_thread);
  return *made;
}

UNWATCHED char* make_locals() __asm__("warploom_make_locals");
UNWATCHED char* make_locals() {
  std::size_t alignment = g_template.alignment < 64 ? 64 : g_template.alignment;
  const std::size_t bytes = g_template.skew + g_template.bytes + alignment;
  auto* room = static_cast<char*>(std::malloc(bytes));
  const auto start = (reinterpret_cast<uintptr_t>(room) + alignment - 1) & ~(alignment - 1);
  char* locals = reinterpret_cast<char*>(start) + g_template.skew;
  std::memcpy(locals, g_template.image, g_template.file_bytes);
  std::memset(locals + g_template.file_bytes, 0, g_template.bytes - g_template.file_bytes);
  return locals;
}

void run_destructors(ThreadData& data) {
  while (Destructor* last = data.destructors) {
    data.destructors = last->next;
    warploom_process::checked(last->function)(last->object);
    std::free(last);
  }
}

// A destructor may set values again: POSIX has the rounds.
void clear_keys(ThreadData& data) {
  for (int round = 0; round < PTHREAD_DESTRUCTOR_ITERATIONS; round++) {
    bool any = false;
    for (unsigned key = 0; key < g_next_key; key++) {
      const void* value = data.values[key];
      data.values[key] = nullptr;
      if (!value || !g_keys[key].used || !g_keys[key].destructor) continue;
      warploom_process::checked(g_keys[key].destructor)(const_cast<void*>(value));
      any = true;
    }
    if (!any) return;
  }
}

// Its memory stays: other threads may look at what a thread_local variable held.
void end_thread(void* given) {
  auto& data = *static_cast<ThreadData*>(given);
  run_destructors(data);
  clear_keys(data);
}

int keep_destructor(void (*function)(void*), void* object) {
  auto* made = static_cast<Destructor*>(std::malloc(sizeof(Destructor)));
  if (!made) return -1;
  ThreadData& data = thread_data();
  *made = {function, object, data.destructors};
  data.destructors = made;
  return 0;
}

}  // namespace

namespace warploom_process {

void end_thread_locals() {
  if (void* known = warploom_thread_data()) run_destructors(*static_cast<ThreadData*>(known));
}

}  // namespace warploom_process

extern "C" {

UNWATCHED void* __tls_get_addr(Index* index) {
  if (!g_template.known) {
    // By name: the program's own calls of it are looked at.
    using Walk = decltype(&dl_iterate_phdr);
    reinterpret_cast<Walk>(warploom_library("dl_iterate_phdr"))(find_template, nullptr);
  }
  if (index->module != g_template.module) return warploom_library_tls(index);
  ThreadData& data = thread_data();
  if (!data.locals) data.locals = make_locals();
  return data.locals + index->offset;
}

int* __h_errno_location() noexcept { return &thread_data().host_error; }

int __cxa_thread_atexit(void (*function)(void*), void* object, void*) noexcept {
  return keep_destructor(function, object);
}
int __cxa_thread_atexit_impl(void (*function)(void*), void* object, void*) noexcept {
  return keep_destructor(function, object);
}

int pthread_key_create(pthread_key_t* out, void (*destructor)(void*)) noexcept {
  if (g_next_key == PTHREAD_KEYS_MAX) return EAGAIN;
  *out = g_next_key++;
  g_keys[*out] = {true, destructor};
  return 0;
}
int pthread_key_delete(pthread_key_t key) noexcept {
  if (key >= PTHREAD_KEYS_MAX || !g_keys[key].used) return EINVAL;
  g_keys[key] = {};
  return 0;
}
void* pthread_getspecific(pthread_key_t key) noexcept {
  return key < PTHREAD_KEYS_MAX ? const_cast<void*>(thread_data().values[key]) : nullptr;
}
int pthread_setspecific(pthread_key_t key, const void* value) noexcept {
  if (key >= PTHREAD_KEYS_MAX || !g_keys[key].used) return EINVAL;
  thread_data().values[key] = value;
  return 0;
}

// Static local variables: the C++ library would stop the one OS thread where two threads of the
// program come to one initializer.
UNWATCHED int __cxa_guard_acquire(int64_t* guard) {
  warploom_own_bytes(guard, sizeof *guard, __builtin_return_address(0));
  auto* bytes = reinterpret_cast<volatile char*>(guard);
  while (bytes[1]) sched_yield();
  if (bytes[0]) return 0;
  bytes[1] = 1;
  return 1;
}
UNWATCHED void __cxa_guard_release(int64_t* guard) noexcept {
  warploom_own_bytes(guard, sizeof *guard, __builtin_return_address(0));
  auto* bytes = reinterpret_cast<volatile char*>(guard);
  bytes[0] = 1;
  bytes[1] = 0;
}
UNWATCHED void __cxa_guard_abort(int64_t* guard) noexcept {
  warploom_own_bytes(guard, sizeof *guard, __builtin_return_address(0));
  reinterpret_cast<volatile char*>(guard)[1] = 0;
}

}  // extern "C"
