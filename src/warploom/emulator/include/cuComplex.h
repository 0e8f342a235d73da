// Complex numbers as pairs, as CUDA's C interface has them.
#pragma once

#include <cmath>

#include "cuda_runtime.h"

typedef float2 cuFloatComplex;
typedef double2 cuDoubleComplex;
typedef cuFloatComplex cuComplex;

// One set of functions for each precision; the single ones end in f.
#define WARPLOOM_COMPLEX(Number, Real, make, _Wf)                                              \
  inline Number make(Real re, Real im) { return Number{re, im}; }                              \
  inline Real cuCreal##_Wf(Number z) { return z.x; }                                           \
  inline Real cuCimag##_Wf(Number z) { return z.y; }                                           \
  inline Number cuConj##_Wf(Number z) { return Number{z.x, -z.y}; }                            \
  inline Number cuCadd##_Wf(Number _Wa, Number _Wb) {                                          \
    return Number{_Wa.x + _Wb.x, _Wa.y + _Wb.y};                                               \
  }                                                                                            \
  inline Number cuCsub##_Wf(Number _Wa, Number _Wb) {                                          \
    return Number{_Wa.x - _Wb.x, _Wa.y - _Wb.y};                                               \
  }                                                                                            \
  inline Number cuCmul##_Wf(Number _Wa, Number _Wb) {                                          \
    return Number{_Wa.x * _Wb.x - _Wa.y * _Wb.y, _Wa.x * _Wb.y + _Wa.y * _Wb.x};               \
  }                                                                                            \
  /* Scaled by the divisor, so that squares do not overflow. */                                \
  inline Number cuCdiv##_Wf(Number _Wa, Number _Wb) {                                          \
    const Real scale = Real(1) / (std::fabs(_Wb.x) + std::fabs(_Wb.y));                        \
    const Real ax = _Wa.x * scale, ay = _Wa.y * scale, bx = _Wb.x * scale, by = _Wb.y * scale; \
    const Real square = Real(1) / (bx * bx + by * by);                                         \
    return Number{(ax * bx + ay * by) * square, (ay * bx - ax * by) * square};                 \
  }                                                                                            \
  inline Real cuCabs##_Wf(Number z) { return std::hypot(z.x, z.y); }                           \
  inline Number cuCfma##_Wf(Number _Wa, Number _Wb, Number _Wc) {                              \
    return cuCadd##_Wf(cuCmul##_Wf(_Wa, _Wb), _Wc);                                            \
  }
WARPLOOM_COMPLEX(cuFloatComplex, float, make_cuFloatComplex, f)
WARPLOOM_COMPLEX(cuDoubleComplex, double, make_cuDoubleComplex, )
#undef WARPLOOM_COMPLEX

inline cuComplex make_cuComplex(float re, float im) { return make_cuFloatComplex(re, im); }
inline cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex z) { return {z.x, z.y}; }
inline cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex z) {
  return {static_cast<float>(z.x), static_cast<float>(z.y)};
}
