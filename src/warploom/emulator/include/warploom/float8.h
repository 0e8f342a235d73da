// The two 8-bit float formats (OCP 8-bit Floating Point Specification 1.0).
//
// E5M2 is IEEE-like with infinities. E4M3 has none: all exponent bits set are ordinary numbers, but
// for the one pattern that is not a number.
#pragma once

#include <cmath>
#include <cstdint>

namespace warploom {

template <int ExponentBits>
inline float float_from_float8(std::uint8_t value) {
  constexpr int kFraction = 7 - ExponentBits, kBias = (1 << (ExponentBits - 1)) - 1;
  const int exponent = value >> kFraction & ((1 << ExponentBits) - 1);
  const int fraction = value & ((1 << kFraction) - 1);
  float magnitude;
  if (ExponentBits == 4 && (value & 0x7F) == 0x7F) {
    magnitude = __builtin_nanf("");
  } else if (ExponentBits == 5 && exponent == 31) {
    magnitude = fraction ? __builtin_nanf("") : __builtin_inff();
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(fraction), 1 - kBias - kFraction);
  } else {
    magnitude =
        std::ldexp(static_cast<float>(fraction | 1 << kFraction), exponent - kBias - kFraction);
  }
  return value & 0x80 ? -magnitude : magnitude;
}

// Too large becomes the largest number if `saturate`; else infinity, or not a number in E4M3.
template <int ExponentBits>
inline std::uint8_t float8_from_float(float value, bool saturate) {
  constexpr int kFraction = 7 - ExponentBits, kBias = (1 << (ExponentBits - 1)) - 1;
  constexpr std::uint8_t kLargest = ExponentBits == 4 ? 0x7E : 0x7B;
  constexpr std::uint8_t kBeyond = ExponentBits == 4 ? 0x7F : 0x7C;
  const auto sign = static_cast<std::uint8_t>(std::signbit(value) ? 0x80 : 0);
  if (std::isnan(value)) return ExponentBits == 4 ? 0x7F : 0x7E | sign;
  const float magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return sign | (saturate ? kLargest : kBeyond);
  if (magnitude == 0) return sign;
  int exponent;
  std::frexp(magnitude, &exponent);  // magnitude = f * 2^exponent, 0.5 <= f < 1
  const int least = 1 - kBias;       // exponent of the smallest normal number
  const int step = (exponent - 1 < least ? least : exponent - 1) - kFraction;
  const auto units = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(magnitude, -step)));
  // Carries out of the fraction go into the exponent as they should.
  const std::uint32_t bits =
      units + (static_cast<std::uint32_t>(step + kFraction - least) << kFraction);
  if (bits > kLargest) return sign | (saturate ? kLargest : kBeyond);
  return static_cast<std::uint8_t>(sign | bits);
}

}  // namespace warploom
