// Host memory that cudaHostRegister made reachable for devices.
#include <map>

#include "memory.h"

namespace warploom {

namespace {
std::map<uintptr_t, std::size_t> g_registered;
}

void register_host(const void* p, std::size_t bytes) {
  g_registered[reinterpret_cast<uintptr_t>(p)] = bytes;
}

bool unregister_host(const void* p) {
  return g_registered.erase(reinterpret_cast<uintptr_t>(p)) != 0;
}

bool is_registered(const void* p) {
  const auto address = reinterpret_cast<uintptr_t>(p);
  auto it = g_registered.upper_bound(address);
  return it != g_registered.begin() && address < std::prev(it)->first + std::prev(it)->second;
}

}  // namespace warploom
