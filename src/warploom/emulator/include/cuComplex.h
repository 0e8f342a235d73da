// Complex numbers as pairs, as CUDA's C interface has them.
#pragma once

#include <cmath>

#include "cuda_runtime.h"

typedef float2 cuFloatComplex;
typedef double2 cuDoubleComplex;
typedef cuFloatComplex cuComplex;

// One set of functions for each precision; the single ones end in f.
#define WARPLOOM_COMPLEX(Number, Real, make, f)                                        \
  inline Number make(Real re, Real im) { return Number{re, im}; }                      \
  inline Real cuCreal##f(Number z) { return z.x; }                                     \
  inline Real cuCimag##f(Number z) { return z.y; }                                     \
  inline Number cuConj##f(Number z) { return Number{z.x, -z.y}; }                      \
  inline Number cuCadd##f(Number a, Number b) { return Number{a.x + b.x, a.y + b.y}; } \
  inline Number cuCsub##f(Number a, Number b) { return Number{a.x - b.x, a.y - b.y}; } \
  inline Number cuCmul##f(Number a, Number b) {                                        \
    return Number{a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};                       \
  }                                                                                    \
  /* Scaled by the divisor, so that squares do not overflow. */                        \
  inline Number cuCdiv##f(Number a, Number b) {                                        \
    const Real scale = Real(1) / (std::fabs(b.x) + std::fabs(b.y));                    \
    const Real ax = a.x * scale, ay = a.y * scale, bx = b.x * scale, by = b.y * scale; \
    const Real square = Real(1) / (bx * bx + by * by);                                 \
    return Number{(ax * bx + ay * by) * square, (ay * bx - ax * by) * square};         \
  }                                                                                    \
  inline Real cuCabs##f(Number z) { return std::hypot(z.x, z.y); }                     \
  inline Number cuCfma##f(Number a, Number b, Number c) { return cuCadd##f(cuCmul##f(a, b), c); }
WARPLOOM_COMPLEX(cuFloatComplex, float, make_cuFloatComplex, f)
WARPLOOM_COMPLEX(cuDoubleComplex, double, make_cuDoubleComplex, )
#undef WARPLOOM_COMPLEX

inline cuComplex make_cuComplex(float re, float im) { return make_cuFloatComplex(re, im); }
inline cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex z) { return {z.x, z.y}; }
inline cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex z) {
  return {static_cast<float>(z.x), static_cast<float>(z.y)};
}
