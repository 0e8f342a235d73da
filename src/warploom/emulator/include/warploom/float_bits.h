// Conversions between float and the two 16-bit formats, round to nearest even.
#pragma once

#include <cstdint>
#include <cstring>

// Not worth a call, which is what -O1 makes of them.
#define WARPLOOM_ALWAYS_INLINE inline __attribute__((always_inline))

namespace warploom {

WARPLOOM_ALWAYS_INLINE std::uint32_t float_bits(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
WARPLOOM_ALWAYS_INLINE float float_from_bits(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// IEEE 754 binary16: 1 sign, 5 exponent (bias 15), 10 fraction bits. Normal values, most by far,
// are converted where they are used.
inline std::uint16_t half_from_rare_float(std::uint32_t sign, std::uint32_t magnitude) {
  if (magnitude > 0x7F800000) return static_cast<std::uint16_t>(sign | 0x7FFF);   // not a number
  if (magnitude >= 0x477FF000) return static_cast<std::uint16_t>(sign | 0x7C00);  // overflows
  // Subnormal, in units of 2^-24; below half of the smallest it is zero.
  const int shift = 126 - static_cast<int>(magnitude >> 23);
  if (shift > 25) return static_cast<std::uint16_t>(sign);
  const std::uint32_t fraction = (magnitude & 0x7FFFFF) | 0x800000;
  const std::uint32_t odd = fraction >> shift & 1, tie = 1u << (shift - 1);
  return static_cast<std::uint16_t>(sign | ((fraction + tie - 1 + odd) >> shift));
}
WARPLOOM_ALWAYS_INLINE std::uint16_t half_from_float(float value) {
  constexpr std::uint32_t kSmallest = 113u << 23, kOverflow = 0x477FF000;
  const std::uint32_t bits = float_bits(value);
  const std::uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7FFFFFFF;
  if (magnitude - kSmallest >= kOverflow - kSmallest) return half_from_rare_float(sign, magnitude);
  const std::uint32_t odd = magnitude >> 13 & 1;
  return static_cast<std::uint16_t>(sign | ((magnitude - (112u << 23) + 0xFFF + odd) >> 13));
}

inline float float_from_rare_half(std::uint32_t sign, std::uint32_t magnitude) {
  if (magnitude >= 0x7C00) return float_from_bits(sign | 0x7F800000 | (magnitude & 0x3FF) << 13);
  const float subnormal = static_cast<float>(magnitude) * 0x1p-24f;
  return sign ? -subnormal : subnormal;
}
WARPLOOM_ALWAYS_INLINE float float_from_half(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000u) << 16, magnitude = half & 0x7FFFu;
  if (magnitude - 0x400 >= 0x7C00 - 0x400) return float_from_rare_half(sign, magnitude);
  return float_from_bits(sign | ((magnitude << 13) + (112u << 23)));
}

// bfloat16: the upper half of a float.
WARPLOOM_ALWAYS_INLINE std::uint16_t bfloat16_from_float(float value) {
  const std::uint32_t bits = float_bits(value);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return 0x7FFF;
  return static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}
WARPLOOM_ALWAYS_INLINE float float_from_bfloat16(std::uint16_t value) {
  return float_from_bits(static_cast<std::uint32_t>(value) << 16);
}

}  // namespace warploom
