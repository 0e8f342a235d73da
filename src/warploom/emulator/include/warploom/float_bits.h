// Conversions between float and the two 16-bit formats, round to nearest even.
#pragma once

#include <cstdint>
#include <cstring>

namespace warploom {

inline std::uint32_t float_bits(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
inline float float_from_bits(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// IEEE 754 binary16: 1 sign, 5 exponent (bias 15), 10 fraction bits.
inline std::uint16_t half_from_float(float value) {
  const std::uint32_t bits = float_bits(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000);
  const std::uint32_t magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) return static_cast<std::uint16_t>(sign | 0x7FFF);   // not a number
  if (magnitude >= 0x477FF000) return static_cast<std::uint16_t>(sign | 0x7C00);  // overflows
  if (magnitude < 0x33000001) return sign;  // below half of the smallest subnormal
  const int exponent = static_cast<int>(magnitude >> 23) - 127;
  std::uint32_t fraction = (magnitude & 0x7FFFFF) | 0x800000;
  int shift = 13;
  std::uint32_t base = 0;
  if (exponent < -14) {
    shift += -14 - exponent;  // subnormal: the exponent field stays 0
  } else {
    base = static_cast<std::uint32_t>(exponent + 14) << 10;  // the hidden bit adds one
  }
  const std::uint32_t kept = fraction >> shift;
  const std::uint32_t rest = fraction & ((1u << shift) - 1), tie = 1u << (shift - 1);
  const std::uint32_t rounded = kept + (rest > tie || (rest == tie && (kept & 1)) ? 1 : 0);
  return static_cast<std::uint16_t>(sign | (base + rounded));
}

inline float float_from_half(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000) << 16;
  std::uint32_t exponent = half >> 10 & 0x1F, fraction = half & 0x3FF;
  if (exponent == 0x1F) return float_from_bits(sign | 0x7F800000 | fraction << 13);
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  return float_from_bits(sign | (exponent + 112) << 23 | fraction << 13);
}

// bfloat16: the upper half of a float.
inline std::uint16_t bfloat16_from_float(float value) {
  const std::uint32_t bits = float_bits(value);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return 0x7FFF;
  return static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}
inline float float_from_bfloat16(std::uint16_t value) {
  return float_from_bits(static_cast<std::uint32_t>(value) << 16);
}

}  // namespace warploom
