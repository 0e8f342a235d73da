// Every half becomes a float and comes back; what lies between two goes to the nearer, or the even.
#include "expect.h"

#include <cuda_fp16.h>

#include <cmath>

static_assert(std::is_same_v<__nv_half, half> && std::is_same_v<nv_half2, half2>);

int main() {
  const auto bits_of = [](float value) { return __half(value).bits; };
  for (unsigned bits = 0; bits < 0x7C00; bits++) {
    const float value = __half::from_bits(bits);
    const float next = bits == 0x7BFF ? 65536.0f : float(__half::from_bits(bits + 1));
    const unsigned odd = bits & 1;
    const float middle = value + (next - value) / 2;
    EXPECT(std::ilogb(next - value) == (bits < 0x400 ? -24 : int(bits >> 10) - 25));
    EXPECT(bits_of(value) == bits && bits_of(-value) == (bits | 0x8000));
    EXPECT(float(__half::from_bits(bits | 0x8000)) == -value);
    EXPECT(bits_of(middle) == bits + odd && bits_of(-middle) == ((bits + odd) | 0x8000));
    EXPECT(bits_of(std::nextafter(middle, 0.0f)) == bits);
    EXPECT(bits_of(std::nextafter(middle, 1e9f)) == bits + 1);
  }
  EXPECT(std::isinf(float(__half::from_bits(0x7C00))) && bits_of(HUGE_VALF) == 0x7C00);
  EXPECT(bits_of(3e38f) == 0x7C00 && bits_of(-1e5f) == 0xFC00);
  for (unsigned bits = 0x7C01; bits < 0x8000; bits++) {
    EXPECT(std::isnan(float(__half::from_bits(bits))));
  }
  EXPECT((bits_of(NAN) & 0x7FFF) == 0x7FFF && bits_of(-0.0f) == 0x8000);
  return failures != 0;
}
