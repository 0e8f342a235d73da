// Host memory that cudaHostRegister made reachable for devices.
#include <map>

#include "memory/memory.h"

namespace warploom {

namespace {
struct Registered {
  std::size_t bytes = 0;
  const Process* process = nullptr;
};
std::map<uintptr_t, Registered> g_registered;
}  // namespace

void register_host(const void* p, std::size_t bytes) {
  g_registered[reinterpret_cast<uintptr_t>(p)] = {bytes, g_current ? g_current->process : nullptr};
}

bool unregister_host(const void* p) {
  return g_registered.erase(reinterpret_cast<uintptr_t>(p)) != 0;
}

bool is_registered(const void* p, std::size_t bytes) {
  const auto address = reinterpret_cast<uintptr_t>(p);
  auto it = g_registered.upper_bound(address);
  if (it == g_registered.begin()) return false;
  const auto& [start, known] = *std::prev(it);
  return address - start < known.bytes && bytes <= known.bytes - (address - start) &&
         (!g_current || g_current->process == known.process);
}

}  // namespace warploom
