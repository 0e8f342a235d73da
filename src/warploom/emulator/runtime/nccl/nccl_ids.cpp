// The ids by which ranks find each other.
#include <netinet/in.h>

#include <cstring>

#include "base/mix_bits.h"
#include "machine/world.h"
#include "nccl/nccl_objects.h"

namespace warploom::nccl {

namespace {

uint64_t g_unique_ids = 0;

// What NCCL puts into an id, so that its bytes tell nothing: a random number, and where the root
// listens, as sockaddr_in has it (src/include/bootstrap.h). `number` is of one id only.
ncclUniqueId unique_id(uint64_t number) {
  const uint64_t magic = mix_bits(number ^ mix_bits(g_config.seed));
  const auto random = mix_bits(~magic);
  const auto port = static_cast<uint16_t>(32768 + random % 28232);
  const struct {
    uint64_t magic;
    uint16_t family;
    uint8_t port[2], address[4];
  } handle{magic,
           AF_INET,
           {static_cast<uint8_t>(port >> 8), static_cast<uint8_t>(port)},
           {10, static_cast<uint8_t>(random >> 40), static_cast<uint8_t>(random >> 48),
            static_cast<uint8_t>(random >> 56)}};
  ncclUniqueId id{};
  std::memcpy(id.internal, &handle, sizeof handle);
  return id;
}

}  // namespace

ncclUniqueId grow_id(const ncclComm& parent) {
  return unique_id(~(parent.clique->id << 32 | parent.grows));
}

}  // namespace warploom::nccl

using namespace warploom::nccl;

extern "C" {

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  if (!id) return ncclInvalidArgument;
  *id = unique_id(++g_unique_ids);
  return ncclSuccess;
}

}  // extern "C"
