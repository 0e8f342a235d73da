#include "nccl/nccl_reduce.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "../../include/warploom/float8.h"
#include "report/report.h"

namespace warploom::nccl {

namespace {

float from_half(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
  const uint32_t exponent = h >> 10 & 31u;
  const uint32_t mantissa = h & 1023u;
  if (exponent == 0) {
    const float value = static_cast<float>(mantissa) * 0x1p-24f;
    return sign ? -value : value;
  }
  const uint32_t bits =
      sign | (exponent == 31 ? 0x7F800000u : (exponent + 112) << 23) | mantissa << 13;
  float out;
  std::memcpy(&out, &bits, sizeof out);
  return out;
}

uint16_t to_half(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000u);
  if (std::isnan(value)) return static_cast<uint16_t>(sign | 0x7E00u);
  const float size = std::fabs(value);
  if (size >= 65520.0f) return static_cast<uint16_t>(sign | 0x7C00u);
  if (size < 0x1p-14f) {
    // Subnormal: the mantissa is a multiple of 2^-24, rounded to even by the addition.
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::nearbyint(size * 0x1p24f)));
  }
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  const uint32_t rounded = magnitude + 0xFFFu + (magnitude >> 13 & 1u);
  return static_cast<uint16_t>(sign | (rounded - (112u << 23)) >> 13);
}

float from_bfloat(uint16_t b) {
  const uint32_t bits = static_cast<uint32_t>(b) << 16;
  float out;
  std::memcpy(&out, &bits, sizeof out);
  return out;
}

uint16_t to_bfloat(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  if (std::isnan(value)) return static_cast<uint16_t>(bits >> 16 | 0x40u);
  return static_cast<uint16_t>((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}

template <class T>
struct Plain {
  using Stored = T;
  using Value = T;
  static Value load(Stored s) { return s; }
  static Stored store(Value v) { return v; }
};
struct Half {
  using Stored = uint16_t;
  using Value = float;
  static Value load(Stored s) { return from_half(s); }
  static Stored store(Value v) { return to_half(v); }
};
struct BFloat {
  using Stored = uint16_t;
  using Value = float;
  static Value load(Stored s) { return from_bfloat(s); }
  static Stored store(Value v) { return to_bfloat(v); }
};

template <int ExponentBits>
struct Float8 {
  using Stored = uint8_t;
  using Value = float;
  static Value load(Stored s) { return float_from_float8<ExponentBits>(s); }
  static Stored store(Value v) { return float8_from_float<ExponentBits>(v, true); }
};

template <class T>
T add(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));  // wraps, as on the device
  } else {
    return a + b;
  }
}
template <class T>
T multiply(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else {
    return a * b;
  }
}

template <class T>
T combine(int code, T a, T b) {
  switch (code) {
    case ncclProd:
      return multiply(a, b);
    case ncclMax:
      return a < b ? b : a;
    case ncclMin:
      return b < a ? b : a;
    default:
      return add(a, b);
  }
}

template <class Traits>
void reduce_as(char* out, const std::vector<const char*>& inputs, std::size_t count,
               const std::vector<ReduceOp>& ops) {
  using Stored = typename Traits::Stored;
  using Value = typename Traits::Value;
  const auto load = [&](std::size_t rank, std::size_t i) {
    Stored stored;
    std::memcpy(&stored, inputs[rank] + i * sizeof(Stored), sizeof stored);
    Value value = Traits::load(stored);
    if (ops[rank].scaled) {
      Stored scalar;
      std::memcpy(&scalar, ops[rank].scalar, sizeof scalar);
      value = multiply(value, Traits::load(scalar));
    }
    return value;
  };
  const int code = ops[0].code;
  for (std::size_t i = 0; i < count; i++) {
    Value total = load(0, i);
    for (std::size_t rank = 1; rank < inputs.size(); rank++) {
      total = combine(code, total, load(rank, i));
    }
    if (code == ncclAvg) total = static_cast<Value>(total / static_cast<Value>(inputs.size()));
    const Stored stored = Traits::store(total);
    std::memcpy(out + i * sizeof(Stored), &stored, sizeof stored);
  }
}

}  // namespace

std::size_t type_bytes(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
    case ncclFloat8e4m3:
    case ncclFloat8e5m2:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32:
      return 4;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64:
      return 8;
    default:
      return 0;
  }
}

const char* type_name(ncclDataType_t type) {
  static const char* const kNames[] = {"ncclInt8",     "ncclUint8",      "ncclInt32",
                                       "ncclUint32",   "ncclInt64",      "ncclUint64",
                                       "ncclFloat16",  "ncclFloat32",    "ncclFloat64",
                                       "ncclBfloat16", "ncclFloat8e4m3", "ncclFloat8e5m2"};
  return type >= 0 && type < ncclNumTypes ? kNames[type] : "an unknown type";
}

const char* op_name(int code) {
  static const char* const kNames[] = {"ncclSum", "ncclProd", "ncclMax", "ncclMin", "ncclAvg"};
  return code >= 0 && code < ncclNumOps ? kNames[code] : "a scaled sum";
}

void reduce(char* out, const std::vector<const char*>& inputs, std::size_t count,
            ncclDataType_t type, const std::vector<ReduceOp>& ops) {
  switch (type) {
    case ncclInt8:
      return reduce_as<Plain<int8_t>>(out, inputs, count, ops);
    case ncclUint8:
      return reduce_as<Plain<uint8_t>>(out, inputs, count, ops);
    case ncclInt32:
      return reduce_as<Plain<int32_t>>(out, inputs, count, ops);
    case ncclUint32:
      return reduce_as<Plain<uint32_t>>(out, inputs, count, ops);
    case ncclInt64:
      return reduce_as<Plain<int64_t>>(out, inputs, count, ops);
    case ncclUint64:
      return reduce_as<Plain<uint64_t>>(out, inputs, count, ops);
    case ncclFloat16:
      return reduce_as<Half>(out, inputs, count, ops);
    case ncclFloat32:
      return reduce_as<Plain<float>>(out, inputs, count, ops);
    case ncclFloat64:
      return reduce_as<Plain<double>>(out, inputs, count, ops);
    case ncclFloat8e4m3:
      return reduce_as<Float8<4>>(out, inputs, count, ops);
    case ncclFloat8e5m2:
      return reduce_as<Float8<5>>(out, inputs, count, ops);
    case ncclBfloat16:
      return reduce_as<BFloat>(out, inputs, count, ops);
    default:
      stop_unsupported(type_name(type), "reductions of this type are not emulated");
  }
}

}  // namespace warploom::nccl
