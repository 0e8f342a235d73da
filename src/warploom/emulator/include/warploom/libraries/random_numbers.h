// cuRAND's distributions on the device: of numbers that a generator gives.
#pragma once

#include <warploom/libraries/random_generators.h>
#include <warploom/libraries/refused.h>

#include <cmath>

#define CURAND_2POW32_INV (2.3283064e-10f)
#define CURAND_2POW32_INV_DOUBLE (2.3283064365386963e-10)
#define CURAND_2POW53_INV_DOUBLE (1.1102230246251565e-16)
#define CURAND_2PI (6.2831855f)
#define CURAND_2POW32_INV_2PI (2.3283064e-10f * 6.2831855f)

namespace warploom::libraries {

// Above 0, up to 1.
inline float uniform(unsigned x) {
  count_operations(2);
  return static_cast<float>(x) * CURAND_2POW32_INV + CURAND_2POW32_INV / 2;
}
inline double uniform_double(unsigned x, unsigned y) {
  const unsigned long long bits = x ^ static_cast<unsigned long long>(y) << 21;
  count_operations(4);
  return static_cast<double>(bits) * CURAND_2POW53_INV_DOUBLE + CURAND_2POW53_INV_DOUBLE / 2;
}
// Two numbers of a normal distribution from two of a uniform one (Box and Muller).
inline float2 box_muller(unsigned x, unsigned y) {
  const float angle = static_cast<float>(y) * CURAND_2POW32_INV_2PI + CURAND_2POW32_INV_2PI / 2;
  const float radius = std::sqrt(-2.0f * std::log(uniform(x)));
  count_operations(60);
  return float2{std::sin(angle) * radius, std::cos(angle) * radius};
}
inline double2 box_muller_double(unsigned x0, unsigned x1, unsigned y0, unsigned y1) {
  const double angle = 2 * uniform_double(y0, y1) * 3.14159265358979323846;
  const double radius = std::sqrt(-2 * std::log(uniform_double(x0, x1)));
  count_operations(200);
  return double2{std::sin(angle) * radius, std::cos(angle) * radius};
}
// Their distributions are made of 32 bits, those of MRG32k3a of its number.
template <class State>
concept BitGenerator =
    std::is_same_v<State, curandStateXORWOW> || std::is_same_v<State, curandStatePhilox4_32_10>;
template <class State>
concept PlayedGenerator = BitGenerator<State> || std::is_same_v<State, curandStateMRG32k3a>;
// Of the generators whose next numbers make doubles.
template <class State>
concept DoubleGenerator =
    PlayedGenerator<State> && !std::is_same_v<State, curandStatePhilox4_32_10>;
inline float mrg_uniform(double number) {
  count_operations(1);
  return static_cast<float>(number * MRG32K3A_NORM);
}
inline float2 mrg_box_muller(double first, double second) {
  const float radius = std::sqrt(-2.0f * std::log(mrg_uniform(first)));
  const float angle = mrg_uniform(second) * CURAND_2PI;
  count_operations(60);
  return float2{std::sin(angle) * radius, std::cos(angle) * radius};
}
inline double2 mrg_box_muller_double(double first, double second) {
  const double radius = std::sqrt(-2 * std::log(first * MRG32K3A_NORM));
  const double angle = 2 * second * MRG32K3A_NORM * 3.14159265358979323846;
  count_operations(200);
  return double2{std::sin(angle) * radius, std::cos(angle) * radius};
}
constexpr int kHasExtra = 1;

}  // namespace warploom::libraries

// What cuRAND's own header calls its steps, which programs with generators of their own use.
inline float _curand_uniform(unsigned x) { return warploom::libraries::uniform(x); }
inline double _curand_uniform_double_hq(unsigned x, unsigned y) {
  return warploom::libraries::uniform_double(x, y);
}
inline float2 _curand_box_muller(unsigned x, unsigned y) {
  return warploom::libraries::box_muller(x, y);
}
inline double2 _curand_box_muller_double(unsigned x0, unsigned x1, unsigned y0, unsigned y1) {
  return warploom::libraries::box_muller_double(x0, x1, y0, y1);
}

template <warploom::libraries::BitGenerator State>
float curand_uniform(State* state) {
  return warploom::libraries::uniform(curand(state));
}
inline float curand_uniform(curandStateMRG32k3a_t* state) {
  return warploom::libraries::mrg_uniform(curand_MRG32k3a(state));
}
inline double curand_uniform_double(curandStateMRG32k3a_t* state) {
  return curand_MRG32k3a(state) * MRG32K3A_NORM;
}
inline double curand_uniform_double(curandStateXORWOW_t* state) {
  const unsigned x = curand(state);
  return warploom::libraries::uniform_double(x, curand(state));
}
inline float4 curand_uniform4(curandStatePhilox4_32_10_t* state) {
  const uint4 x = curand4(state);
  using warploom::libraries::uniform;
  return float4{uniform(x.x), uniform(x.y), uniform(x.z), uniform(x.w)};
}
template <warploom::libraries::BitGenerator State>
float2 curand_normal2(State* state) {
  const unsigned x = curand(state);
  return warploom::libraries::box_muller(x, curand(state));
}
inline float2 curand_normal2(curandStateMRG32k3a_t* state) {
  const double first = curand_MRG32k3a(state);
  return warploom::libraries::mrg_box_muller(first, curand_MRG32k3a(state));
}
inline double2 curand_normal2_double(curandStateMRG32k3a_t* state) {
  const double first = curand_MRG32k3a(state);
  return warploom::libraries::mrg_box_muller_double(first, curand_MRG32k3a(state));
}
// The second of two is kept for the next call.
template <warploom::libraries::PlayedGenerator State>
float curand_normal(State* state) {
  if (state->boxmuller_flag) {
    state->boxmuller_flag = 0;
    return state->boxmuller_extra;
  }
  const float2 both = curand_normal2(state);
  state->boxmuller_extra = both.y;
  state->boxmuller_flag = warploom::libraries::kHasExtra;
  return both.x;
}
inline float4 curand_normal4(curandStatePhilox4_32_10_t* state) {
  const uint4 x = curand4(state);
  const float2 a = warploom::libraries::box_muller(x.x, x.y);
  const float2 b = warploom::libraries::box_muller(x.z, x.w);
  return float4{a.x, a.y, b.x, b.y};
}
inline double2 curand_normal2_double(curandStateXORWOW_t* state) {
  unsigned x[4];
  for (unsigned& part : x) part = curand(state);
  return warploom::libraries::box_muller_double(x[0], x[1], x[2], x[3]);
}
template <warploom::libraries::DoubleGenerator State>
double curand_normal_double(State* state) {
  if (state->boxmuller_flag_double) {
    state->boxmuller_flag_double = 0;
    return state->boxmuller_extra_double;
  }
  const double2 both = curand_normal2_double(state);
  state->boxmuller_extra_double = both.y;
  state->boxmuller_flag_double = warploom::libraries::kHasExtra;
  return both.x;
}
template <warploom::libraries::PlayedGenerator State>
float curand_log_normal(State* state, float mean, float deviation) {
  warploom::count_operations(10);
  return std::exp(mean + deviation * curand_normal(state));
}

// Of the other generators there are no numbers.
#define WARPLOOM_NUMBERS_REFUSED(name, type)                       \
  template <class State>                                           \
    requires requires(State* state) { warploom_init(state); }      \
  type name(State*) {                                              \
    ::warploom::unsupported(#name, "its generator is not played"); \
  }
WARPLOOM_NUMBERS_REFUSED(curand_uniform, float)
WARPLOOM_NUMBERS_REFUSED(curand_uniform_double, double)
WARPLOOM_NUMBERS_REFUSED(curand_normal, float)
WARPLOOM_NUMBERS_REFUSED(curand_normal2, float2)
WARPLOOM_NUMBERS_REFUSED(curand_normal_double, double)
WARPLOOM_NUMBERS_REFUSED(curand_normal2_double, double2)
#undef WARPLOOM_NUMBERS_REFUSED

#define WARPLOOM_RANDOM_REFUSED(name) WARPLOOM_REFUSED(double, name, "cuRAND's device interface")
WARPLOOM_RANDOM_REFUSED(curand_poisson)
WARPLOOM_RANDOM_REFUSED(curand_poisson4)
WARPLOOM_RANDOM_REFUSED(curand_discrete)
WARPLOOM_RANDOM_REFUSED(curand_uniform2_double)
WARPLOOM_RANDOM_REFUSED(curand_log_normal_double)
WARPLOOM_RANDOM_REFUSED(curand_mtgp32_single)
#undef WARPLOOM_RANDOM_REFUSED
