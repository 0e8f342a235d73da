// Look-ups whose answer lies in memory of the library, and tables that a program has one of.
#include <arpa/inet.h>
#include <grp.h>
#include <math.h>
#include <netdb.h>
#include <pwd.h>
#include <search.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "process.h"

extern "C" int signgam;
int signgam = 0;

namespace {

constexpr std::size_t kRoom = 8192;

struct {
  hostent entry;
  char room[kRoom];
} g_host;
struct {
  passwd entry;
  char room[kRoom];
} g_user;
struct {
  group entry;
  char room[kRoom];
} g_group;
struct {
  servent entry;
  char room[kRoom];
} g_service;
struct {
  protoent entry;
  char room[kRoom];
} g_protocol;

char g_address[INET_ADDRSTRLEN];
char g_terminal[256];
char g_login[256];
char g_temporary[L_tmpnam];
lconv g_conventions;
hsearch_data g_table;

template <class Entry>
Entry* answer(int error, Entry* found) {
  if (error) errno = error;
  return error ? nullptr : found;
}

}  // namespace

extern "C" {

char* inet_ntoa(in_addr address) noexcept {
  const auto* bytes = reinterpret_cast<const unsigned char*>(&address);
  std::snprintf(g_address, sizeof g_address, "%u.%u.%u.%u", bytes[0], bytes[1], bytes[2], bytes[3]);
  return g_address;
}

hostent* gethostbyname(const char* name) {
  hostent* found = nullptr;
  gethostbyname_r(name, &g_host.entry, g_host.room, kRoom, &found, &h_errno);
  return found;
}
hostent* gethostbyname2(const char* name, int family) {
  hostent* found = nullptr;
  gethostbyname2_r(name, family, &g_host.entry, g_host.room, kRoom, &found, &h_errno);
  return found;
}
hostent* gethostbyaddr(const void* address, socklen_t bytes, int family) {
  hostent* found = nullptr;
  gethostbyaddr_r(address, bytes, family, &g_host.entry, g_host.room, kRoom, &found, &h_errno);
  return found;
}
servent* getservbyname(const char* name, const char* protocol) {
  servent* found = nullptr;
  getservbyname_r(name, protocol, &g_service.entry, g_service.room, kRoom, &found);
  return found;
}
servent* getservbyport(int port, const char* protocol) {
  servent* found = nullptr;
  getservbyport_r(port, protocol, &g_service.entry, g_service.room, kRoom, &found);
  return found;
}
protoent* getprotobyname(const char* name) {
  protoent* found = nullptr;
  getprotobyname_r(name, &g_protocol.entry, g_protocol.room, kRoom, &found);
  return found;
}
protoent* getprotobynumber(int number) {
  protoent* found = nullptr;
  getprotobynumber_r(number, &g_protocol.entry, g_protocol.room, kRoom, &found);
  return found;
}

passwd* getpwuid(uid_t user) {
  passwd* found = nullptr;
  const int error = getpwuid_r(user, &g_user.entry, g_user.room, kRoom, &found);
  return answer(error, found);
}
passwd* getpwnam(const char* name) {
  passwd* found = nullptr;
  const int error = getpwnam_r(name, &g_user.entry, g_user.room, kRoom, &found);
  return answer(error, found);
}
group* getgrgid(gid_t id) {
  group* found = nullptr;
  const int error = getgrgid_r(id, &g_group.entry, g_group.room, kRoom, &found);
  return answer(error, found);
}
group* getgrnam(const char* name) {
  group* found = nullptr;
  const int error = getgrnam_r(name, &g_group.entry, g_group.room, kRoom, &found);
  return answer(error, found);
}

char* ttyname(int descriptor) noexcept {
  const int error = ttyname_r(descriptor, g_terminal, sizeof g_terminal);
  return answer(error, &g_terminal[0]);
}
char* ptsname(int descriptor) noexcept {
  const int error = ptsname_r(descriptor, g_terminal, sizeof g_terminal);
  return answer(error, &g_terminal[0]);
}
char* getlogin() {
  const int error = getlogin_r(g_login, sizeof g_login);
  return answer(error, &g_login[0]);
}
char* tmpnam(char* out) noexcept { return tmpnam_r(out ? out : g_temporary); }

lconv* localeconv() noexcept {
  const auto real = reinterpret_cast<decltype(&localeconv)>(warploom_library("localeconv"));
  g_conventions = *real();
  return &g_conventions;
}

int hcreate(std::size_t entries) noexcept { return hcreate_r(entries, &g_table); }
void hdestroy() noexcept { hdestroy_r(&g_table); }
ENTRY* hsearch(ENTRY item, ACTION action) noexcept {
  ENTRY* found = nullptr;
  return hsearch_r(item, action, &found, &g_table) ? found : nullptr;
}

// Device code calls these as well; the sign is the host's alone, and takes no hook.
[[gnu::no_sanitize("thread")]] double lgamma(double x) noexcept {
  int sign = 0;
  const double value = lgamma_r(x, &sign);
  signgam = sign;
  return value;
}
[[gnu::no_sanitize("thread")]] float lgammaf(float x) noexcept {
  int sign = 0;
  const float value = lgammaf_r(x, &sign);
  signgam = sign;
  return value;
}
[[gnu::no_sanitize("thread")]] long double lgammal(long double x) noexcept {
  int sign = 0;
  const long double value = lgammal_r(x, &sign);
  signgam = sign;
  return value;
}
double gamma(double x) noexcept { return lgamma(x); }

}  // extern "C"
