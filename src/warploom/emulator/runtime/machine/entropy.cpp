// The system's random bytes, as the program gets them: they follow from the run's seed, so that the
// same run can be made again, and differ by process.
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>

#include "base/mix_bits.h"
#include "machine/world.h"
#include "machine/world_setup.h"

namespace warploom {

namespace {

uint64_t entropy() {
  static std::map<int, uint64_t> given;  // how many, by process
  const int rank = current_rank();
  const uint64_t process = mix_bits(g_config.seed * 0x9E3779B97F4A7C15 + 0x656E74726F7079);
  return mix_bits(mix_bits(process + static_cast<uint64_t>(rank)) + ++given[rank]);
}

void fill_with_entropy(void* to, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
    const uint64_t word = entropy();
    std::memcpy(static_cast<char*>(to) + at, &word, std::min(sizeof word, bytes - at));
  }
}

}  // namespace

}  // namespace warploom

extern "C" {

ssize_t getrandom(void* to, std::size_t bytes, unsigned flags) noexcept {
  if (!running_program()) return syscall(SYS_getrandom, to, bytes, flags);
  if (flags & ~(GRND_NONBLOCK | GRND_RANDOM | GRND_INSECURE)) {
    errno = EINVAL;
    return -1;
  }
  warploom::fill_with_entropy(to, bytes);
  return static_cast<ssize_t>(bytes);
}

int getentropy(void* to, std::size_t bytes) noexcept {
  constexpr std::size_t kMost = 256;  // getentropy(3)
  if (bytes > kMost) {
    errno = EIO;
    return -1;
  }
  return getrandom(to, bytes, 0) == static_cast<ssize_t>(bytes) ? 0 : -1;
}

void arc4random_buf(void* to, std::size_t bytes) noexcept { getrandom(to, bytes, 0); }

uint32_t arc4random() noexcept {
  uint32_t value = 0;
  arc4random_buf(&value, sizeof value);
  return value;
}

uint32_t arc4random_uniform(uint32_t bound) noexcept {
  if (bound < 2) return 0;
  // What lies above the last multiple of the bound would make small numbers likelier.
  const uint32_t least = -bound % bound;
  uint32_t value = arc4random();
  while (value < least) value = arc4random();
  return value % bound;
}

}  // extern "C"
