// Read-modify-writes that are made once more, of another value.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "order/stale_values.h"

namespace warploom::stale {

namespace {

// What others made of `before` is made of `now`, as far as `after` tells.
template <class T>
T repeated(Update update, T before, T after, T now) {
  if (update == Update::AddInteger || update == Update::AddFloat) {
    return static_cast<T>(now + static_cast<T>(after - before));
  }
  if constexpr (std::is_integral_v<T>) {
    if (after == before) return now;
    switch (update) {
      case Update::LeastInteger:
      case Update::LeastUnsigned:
        return std::min(now, after);
      case Update::MostInteger:
      case Update::MostUnsigned:
        return std::max(now, after);
      case Update::Or:
        return static_cast<T>(now | (after & ~before));
      case Update::And:
        return static_cast<T>(now & ~(before & ~after));
      default:
        break;
    }
  }
  return after;
}

template <class T>
void repeat_as(Update update, char* address, uint64_t older, uint64_t newest) {
  T before, after, now;
  std::memcpy(&before, &older, sizeof(T));
  std::memcpy(&after, &newest, sizeof(T));
  std::memcpy(&now, address, sizeof(T));
  now = repeated(update, before, after, now);
  std::memcpy(address, &now, sizeof(T));
}

}  // namespace

bool can_be_repeated(Update update) { return update >= Update::AddInteger; }

void repeat(Update update, char* address, unsigned bytes, uint64_t older, uint64_t newest) {
  const bool wide = bytes == sizeof(uint64_t);
  if (bytes < sizeof(uint32_t)) {
    std::memcpy(address, &newest, bytes);
  } else if (update == Update::AddFloat) {
    wide ? repeat_as<double>(update, address, older, newest)
         : repeat_as<float>(update, address, older, newest);
  } else if (update == Update::LeastInteger || update == Update::MostInteger) {
    wide ? repeat_as<int64_t>(update, address, older, newest)
         : repeat_as<int32_t>(update, address, older, newest);
  } else {
    wide ? repeat_as<uint64_t>(update, address, older, newest)
         : repeat_as<uint32_t>(update, address, older, newest);
  }
}

}  // namespace warploom::stale
