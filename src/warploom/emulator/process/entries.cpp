// Lists of users, groups and services that a program walks by one call after the other, and
// addresses of the network whose text the next call changes.
#include <grp.h>
#include <mntent.h>
#include <netdb.h>
#include <netinet/ether.h>
#include <pwd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "process.h"

extern "C" ether_addr* ether_aton_r(const char*, ether_addr*) noexcept;

namespace {

constexpr std::size_t kRoom = 8192;

// The C library has one place in the list for all who ask: each entry is looked for from the start.
template <class Entry>
struct List {
  Entry entry;
  char room[kRoom];
  std::size_t next;

  template <class Start, class Next, class End>
  Entry* walk(Start&& start, Next&& ask, End&& end) {
    start();
    Entry* found = nullptr;
    int error = 0;
    for (std::size_t i = 0; i <= next && !error; i++) {
      found = nullptr;
      error = ask(&entry, room, kRoom, &found);
    }
    end();
    if (found) next++;
    if (error && error != ENOENT) errno = error;
    return error ? nullptr : found;
  }
};

List<passwd> g_users;
List<group> g_groups;
List<servent> g_services;
List<protoent> g_protocols;
List<netent> g_networks;
List<hostent> g_hosts;
List<mntent> g_mounts;
char g_ether_text[18];
ether_addr g_ether;

template <class Function>
Function library(const char* name) {
  return reinterpret_cast<Function>(warploom_library(name));
}
using Plain = void (*)();
using Stays = void (*)(int);
Plain plain(const char* name) { return library<Plain>(name); }

}  // namespace

extern "C" {

void setpwent() { g_users.next = 0; }
void endpwent() { g_users.next = 0; }
passwd* getpwent() { return g_users.walk(plain("setpwent"), getpwent_r, plain("endpwent")); }

void setgrent() { g_groups.next = 0; }
void endgrent() { g_groups.next = 0; }
group* getgrent() { return g_groups.walk(plain("setgrent"), getgrent_r, plain("endgrent")); }

void setservent(int) { g_services.next = 0; }
void endservent() { g_services.next = 0; }
servent* getservent() {
  return g_services.walk([] { library<Stays>("setservent")(1); }, getservent_r,
                         plain("endservent"));
}

void setprotoent(int) { g_protocols.next = 0; }
void endprotoent() { g_protocols.next = 0; }
protoent* getprotoent() {
  return g_protocols.walk([] { library<Stays>("setprotoent")(1); }, getprotoent_r,
                          plain("endprotoent"));
}

void setnetent(int) { g_networks.next = 0; }
void endnetent() { g_networks.next = 0; }
netent* getnetent() {
  const auto ask = [](netent* entry, char* room, std::size_t bytes, netent** found) {
    return getnetent_r(entry, room, bytes, found, &h_errno);
  };
  return g_networks.walk([] { library<Stays>("setnetent")(1); }, ask, plain("endnetent"));
}

void sethostent(int) { g_hosts.next = 0; }
void endhostent() { g_hosts.next = 0; }
hostent* gethostent() {
  const auto ask = [](hostent* entry, char* room, std::size_t bytes, hostent** found) {
    return gethostent_r(entry, room, bytes, found, &h_errno);
  };
  return g_hosts.walk([] { library<Stays>("sethostent")(1); }, ask, plain("endhostent"));
}

netent* getnetbyname(const char* name) {
  netent* found = nullptr;
  getnetbyname_r(name, &g_networks.entry, g_networks.room, kRoom, &found, &h_errno);
  return found;
}
netent* getnetbyaddr(uint32_t net, int type) {
  netent* found = nullptr;
  getnetbyaddr_r(net, type, &g_networks.entry, g_networks.room, kRoom, &found, &h_errno);
  return found;
}

mntent* getmntent(FILE* stream) noexcept {
  return getmntent_r(stream, &g_mounts.entry, g_mounts.room, kRoom);
}

char* ether_ntoa(const ether_addr* address) noexcept { return ether_ntoa_r(address, g_ether_text); }
ether_addr* ether_aton(const char* text) noexcept { return ether_aton_r(text, &g_ether); }

}  // extern "C"
