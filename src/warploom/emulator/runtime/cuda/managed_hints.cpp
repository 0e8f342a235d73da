// Hints on managed memory: where it lies changes time and not meaning, so they are kept to be asked
// for (cudaMemRangeGetAttribute), and no more.
#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "../../include/cuda_runtime.h"
#include "cuda/cuda_error.h"
#include "cuda/stream.h"
#include "memory/memory.h"

namespace warploom {

namespace {

struct Hints {
  bool read_mostly = false;
  cudaMemLocation preferred{cudaMemLocationTypeInvalid, cudaInvalidDeviceId};
  cudaMemLocation prefetched = preferred;
  std::set<int> accessed_by;
};

// Each holds from its address to the next one.
std::map<uintptr_t, Hints> g_hints;

// The stretches of a range, which begin and end with it.
std::vector<Hints*> stretches(const void* pointer, std::size_t bytes) {
  const auto first = reinterpret_cast<uintptr_t>(pointer), end = first + bytes;
  for (const uintptr_t edge : {first, end}) {
    const auto next = g_hints.upper_bound(edge);
    const Hints before = next == g_hints.begin() ? Hints{} : std::prev(next)->second;
    g_hints.try_emplace(edge, before);
  }
  std::vector<Hints*> found;
  for (auto it = g_hints.find(first); it->first != end; ++it) found.push_back(&it->second);
  return found;
}

bool is_managed(const void* pointer, std::size_t bytes) {
  const Allocation* a = bytes && in_arena(pointer) ? find_allocation(pointer) : nullptr;
  return a && a->live && a->kind == AllocKind::Managed &&
         bytes <= a->start + a->bytes - reinterpret_cast<uintptr_t>(pointer);
}

cudaMemLocation place_of(int device) {
  if (device == cudaCpuDeviceId) return {cudaMemLocationTypeHost, 0};
  return {cudaMemLocationTypeDevice, device};
}

// As the older attributes have it: a device, the host, or none.
int number_of(cudaMemLocation place) {
  if (place.type == cudaMemLocationTypeDevice) return place.id;
  return place.type == cudaMemLocationTypeInvalid ? cudaInvalidDeviceId : cudaCpuDeviceId;
}

void advise(Hints& hints, cudaMemoryAdvise advice, cudaMemLocation place) {
  switch (advice) {
    case cudaMemAdviseSetReadMostly:
    case cudaMemAdviseUnsetReadMostly:
      hints.read_mostly = advice == cudaMemAdviseSetReadMostly;
      return;
    case cudaMemAdviseSetPreferredLocation:
      hints.preferred = place;
      return;
    case cudaMemAdviseUnsetPreferredLocation:
      hints.preferred = Hints{}.preferred;
      return;
    case cudaMemAdviseSetAccessedBy:
      hints.accessed_by.insert(number_of(place));
      return;
    case cudaMemAdviseUnsetAccessedBy:
      hints.accessed_by.erase(number_of(place));
      return;
  }
}

// Where all of them say the same place; else none.
cudaMemLocation common(const std::vector<Hints*>& all, cudaMemLocation Hints::* which) {
  const cudaMemLocation first = all.front()->*which;
  const bool same = std::ranges::all_of(all, [&](const Hints* hints) {
    const cudaMemLocation& other = hints->*which;
    return other.type == first.type && other.id == first.id;
  });
  return same ? first : Hints{}.*which;
}

int one_attribute(const std::vector<Hints*>& all, cudaMemRangeAttribute attribute) {
  switch (attribute) {
    case cudaMemRangeAttributeReadMostly:
      return std::ranges::all_of(all, &Hints::read_mostly);
    case cudaMemRangeAttributePreferredLocation:
      return number_of(common(all, &Hints::preferred));
    case cudaMemRangeAttributePreferredLocationType:
      return common(all, &Hints::preferred).type;
    case cudaMemRangeAttributePreferredLocationId:
      return common(all, &Hints::preferred).id;
    case cudaMemRangeAttributeLastPrefetchLocation:
      return number_of(common(all, &Hints::prefetched));
    case cudaMemRangeAttributeLastPrefetchLocationType:
      return common(all, &Hints::prefetched).type;
    default:
      return common(all, &Hints::prefetched).id;
  }
}

// Whom all stretches are accessed by, then cudaInvalidDeviceId.
void accessors(const std::vector<Hints*>& all, int* values, std::size_t count) {
  std::fill_n(values, count, cudaInvalidDeviceId);
  for (const int device : all.front()->accessed_by) {
    const bool by_all = std::ranges::all_of(
        all, [&](const Hints* hints) { return hints->accessed_by.contains(device); });
    if (by_all && count > 0) {
      *values++ = device;
      count--;
    }
  }
}

cudaError_t prefetch(const void* pointer, std::size_t bytes, cudaMemLocation place,
                     cudaStream_t stream) {
  resolve_stream(stream);
  if (!is_managed(pointer, bytes)) return cudaSuccess;
  for (Hints* hints : stretches(pointer, bytes)) hints->prefetched = place;
  return cudaSuccess;
}

}  // namespace

void forget_hints(const void* pointer, std::size_t bytes) {
  for (Hints* hints : stretches(pointer, bytes)) *hints = {};
}

}  // namespace warploom

using namespace warploom;

cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t bytes, int device,
                                 cudaStream_t stream) {
  return prefetch(pointer, bytes, place_of(device), stream);
}
cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t bytes, cudaMemLocation place, unsigned,
                                 cudaStream_t stream) {
  return prefetch(pointer, bytes, place, stream);
}

cudaError_t cudaMemAdvise(const void* pointer, size_t bytes, cudaMemoryAdvise advice, int device) {
  return cudaMemAdvise(pointer, bytes, advice, place_of(device));
}
cudaError_t cudaMemAdvise(const void* pointer, size_t bytes, cudaMemoryAdvise advice,
                          cudaMemLocation place) {
  if (!is_managed(pointer, bytes)) return cudaSuccess;
  for (Hints* hints : stretches(pointer, bytes)) advise(*hints, advice, place);
  return cudaSuccess;
}

cudaError_t cudaMemRangeGetAttribute(void* value, size_t size, cudaMemRangeAttribute attribute,
                                     const void* pointer, size_t bytes) {
  const bool list = attribute == cudaMemRangeAttributeAccessedBy;
  const bool fits = list ? size && size % sizeof(int) == 0 : size == sizeof(int);
  const bool known = attribute >= cudaMemRangeAttributeReadMostly &&
                     attribute <= cudaMemRangeAttributeLastPrefetchLocationId;
  if (!value || !fits || !known || !is_managed(pointer, bytes)) {
    return cuda_fail(cudaErrorInvalidValue);
  }
  const std::vector<Hints*> all = stretches(pointer, bytes);
  auto* numbers = static_cast<int*>(value);
  if (list) {
    accessors(all, numbers, size / sizeof(int));
  } else {
    *numbers = one_attribute(all, attribute);
  }
  return cudaSuccess;
}

cudaError_t cudaMemRangeGetAttributes(void** values, size_t* sizes,
                                      cudaMemRangeAttribute* attributes, size_t count,
                                      const void* pointer, size_t bytes) {
  if (!values || !sizes || !attributes || !count) return cuda_fail(cudaErrorInvalidValue);
  for (size_t i = 0; i < count; i++) {
    const cudaError_t error =
        cudaMemRangeGetAttribute(values[i], sizes[i], attributes[i], pointer, bytes);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}
