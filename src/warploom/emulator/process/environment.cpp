// Changes of the environment. The runtime makes `environ` show that of the process that has its
// turn; what the C library keeps of its own last change would be another one's.
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace {

char** g_entries;  // the array that we made last; `environ` as long as nobody sets another one
std::size_t g_room;

bool valid(const char* name) { return name && *name && !std::strchr(name, '='); }

char** find(const char* name, std::size_t length) {
  for (char** entry = environ; entry && *entry; entry++) {
    if (std::strncmp(*entry, name, length) == 0 && (*entry)[length] == '=') return entry;
  }
  return nullptr;
}

int add(char* entry) {
  std::size_t count = 0;
  for (char** known = environ; known && *known; known++) count++;
  if (environ != g_entries || count + 2 > g_room) {
    const std::size_t room = 2 * count + 32;
    auto* made = static_cast<char**>(std::malloc(room * sizeof(char*)));
    if (!made) return -1;
    for (std::size_t i = 0; i < count; i++) made[i] = environ[i];
    g_entries = environ = made;
    g_room = room;
  }
  environ[count] = entry;
  environ[count + 1] = nullptr;
  return 0;
}

int put(char* entry, std::size_t length) {
  char** known = find(entry, length);
  if (!known) return add(entry);
  *known = entry;
  return 0;
}

}  // namespace

extern "C" {

int unsetenv(const char* name) noexcept {
  if (!valid(name)) {
    errno = EINVAL;
    return -1;
  }
  while (char** entry = find(name, std::strlen(name))) {
    for (; *entry; entry++) entry[0] = entry[1];
  }
  return 0;
}

// The entry before is not freed: who asked for it may still look at it.
int setenv(const char* name, const char* value, int replace) noexcept {
  if (!valid(name)) {
    errno = EINVAL;
    return -1;
  }
  const std::size_t length = std::strlen(name), bytes = std::strlen(value) + 1;
  if (!replace && find(name, length)) return 0;
  auto* entry = static_cast<char*>(std::malloc(length + 1 + bytes));
  if (!entry) return -1;
  std::memcpy(entry, name, length);
  entry[length] = '=';
  std::memcpy(entry + length + 1, value, bytes);
  return put(entry, length);
}

int putenv(char* entry) noexcept {
  const char* equals = std::strchr(entry, '=');
  return equals ? put(entry, static_cast<std::size_t>(equals - entry)) : unsetenv(entry);
}

int clearenv() noexcept {
  environ = nullptr;
  return 0;
}

}  // extern "C"
