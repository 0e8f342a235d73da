// cuRAND's host generators: the numbers of a sequence, and what a thread writes of them.
#pragma once

#include <warploom/libraries/launch.h>
#include <warploom/libraries/random_numbers.h>
#include <warploom/libraries/random_types.h>

#include <cstddef>

namespace warploom::libraries {

// Number k of an XORWOW sequence is number k / 4096 of subsequence k % 4096: so is the order in
// memory that is documented for it. For MRG32k3a it is 81920. Other generators give the numbers of
// one Philox sequence, each of its own key.
constexpr unsigned kRandomSubsequences = 4096, kMrgSubsequences = 81920;

struct RandomSequence {
  unsigned long long seed, position;
  unsigned generator;  // as the program names it
  bool is_xorwow() const { return generator <= CURAND_RNG_PSEUDO_XORWOW; }
  bool is_mrg() const { return generator == CURAND_RNG_PSEUDO_MRG32K3A; }
};

enum class RandomKind { Bits, Uniform, Normal, LogNormal, Poisson };

template <class _WT>
struct RandomFill {
  RandomSequence from;
  _WT* out;
  unsigned long long items;
  double first, second;  // mean and deviation, or a mean alone
};

// Numbers of 32 bits that an item takes, and values that it gives.
template <RandomKind kind, class _WT>
constexpr unsigned kRandomDraws = kind == RandomKind::Bits      ? 1
                                  : kind == RandomKind::Uniform ? sizeof(_WT) / 4
                                  : kind == RandomKind::Poisson ? 4
                                                                : 2 * sizeof(_WT) / 4;
// MRG32k3a makes a double of one of its numbers.
template <RandomKind kind>
constexpr unsigned kMrgDraws = kind == RandomKind::Poisson                               ? 4
                               : kind == RandomKind::Bits || kind == RandomKind::Uniform ? 1
                                                                                         : 2;
template <RandomKind kind>
constexpr unsigned kRandomValues =
    kind == RandomKind::Normal || kind == RandomKind::LogNormal ? 2 : 1;

inline curandStateXORWOW_t random_subsequence(unsigned long long seed, unsigned long long number) {
  curandStateXORWOW_t state;
  curand_init(seed, 0, 0, &state);
  const unsigned long long row = number / kRandomSubsequences;
  xorwow_jump(state.v, number % kRandomSubsequences, 67);
  xorwow_jump(state.v, row, 0);
  state.d += 362437u * static_cast<unsigned>(row);
  return state;
}
inline curandStateMRG32k3a_t random_mrg(unsigned long long seed, unsigned long long number) {
  curandStateMRG32k3a_t state;
  curand_init(seed, number % kMrgSubsequences, number / kMrgSubsequences, &state);
  return state;
}
inline unsigned random_philox(const RandomSequence& from, unsigned long long number) {
  const unsigned long long key = from.seed ^ (from.generator * 0x9E3779B97F4A7C15ull);
  const uint4 counter{static_cast<unsigned>(number >> 2), static_cast<unsigned>(number >> 34), 0,
                      0};
  const uint4 four = curand_Philox4x32_10(
      counter, uint2{static_cast<unsigned>(key), static_cast<unsigned>(key >> 32)});
  const unsigned at = number & 3;
  return at == 0 ? four.x : at == 1 ? four.y : at == 2 ? four.z : four.w;
}

// By inversion while the probability of zero can be told from zero; then it is nearly normal.
inline unsigned random_poisson(double mean, const unsigned* x) {
  if (mean > 500) {
    const double2 normal = box_muller_double(x[0], x[1], x[2], x[3]);
    const double value = std::floor(mean + std::sqrt(mean) * normal.x + 0.5);
    return value < 0 ? 0 : static_cast<unsigned>(value);
  }
  double left = uniform_double(x[0], x[1]), probability = std::exp(-mean);
  unsigned value = 0;
  while (left > probability && probability > 0) {
    left -= probability;
    probability *= mean / ++value;
    count_operations(3);
  }
  return value;
}

template <RandomKind kind, class _WT>
void random_scale(const RandomFill<_WT>& fill, _WT* out, const _WT* both) {
  for (int i = 0; i < 2; i++) {
    const _WT value = static_cast<_WT>(fill.first) + static_cast<_WT>(fill.second) * both[i];
    out[i] = kind == RandomKind::LogNormal ? std::exp(value) : value;
  }
  count_operations(kind == RandomKind::LogNormal ? 24 : 4);
}

template <RandomKind kind, class _WT>
void random_write(const RandomFill<_WT>& fill, unsigned long long item, const unsigned* x) {
  _WT* out = fill.out + item * kRandomValues<kind>;
  if constexpr (kind == RandomKind::Bits) {
    *out = x[0];
  } else if constexpr (kind == RandomKind::Poisson) {
    *out = random_poisson(fill.first, x);
  } else if constexpr (kind == RandomKind::Uniform) {
    if constexpr (sizeof(_WT) == 4)
      *out = uniform(x[0]);
    else
      *out = uniform_double(x[0], x[1]);
  } else {
    _WT both[2];
    if constexpr (sizeof(_WT) == 4) {
      const float2 normal = box_muller(x[0], x[1]);
      both[0] = normal.x, both[1] = normal.y;
    } else {
      const double2 normal = box_muller_double(x[0], x[1], x[2], x[3]);
      both[0] = normal.x, both[1] = normal.y;
    }
    random_scale<kind>(fill, out, both);
  }
}
// The same of numbers of MRG32k3a.
template <RandomKind kind, class _WT>
void random_write_mrg(const RandomFill<_WT>& fill, unsigned long long item,
                      curandStateMRG32k3a_t* states) {
  _WT* out = fill.out + item * kRandomValues<kind>;
  if constexpr (kind == RandomKind::Bits) {
    *out = curand(&states[0]);
  } else if constexpr (kind == RandomKind::Poisson) {
    unsigned x[4];
    for (int i = 0; i < 4; i++) x[i] = curand(&states[i]);
    *out = random_poisson(fill.first, x);
  } else if constexpr (kind == RandomKind::Uniform) {
    if constexpr (sizeof(_WT) == 4)
      *out = curand_uniform(&states[0]);
    else
      *out = curand_uniform_double(&states[0]);
  } else {
    const double first = curand_MRG32k3a(&states[0]), second = curand_MRG32k3a(&states[1]);
    _WT both[2];
    if constexpr (sizeof(_WT) == 4) {
      const float2 normal = mrg_box_muller(first, second);
      both[0] = normal.x, both[1] = normal.y;
    } else {
      const double2 normal = mrg_box_muller_double(first, second);
      both[0] = normal.x, both[1] = normal.y;
    }
    random_scale<kind>(fill, out, both);
  }
}

template <RandomKind kind, class _WT>
constexpr unsigned kRandomThreads = kRandomSubsequences / kRandomDraws<kind, _WT>;

// What one of kRandomThreads threads writes: it stays in as many subsequences as an item has draws.
template <RandomKind kind, class _WT>
void random_share(const RandomFill<_WT>& fill, unsigned thread) {
  constexpr unsigned kDraws = kRandomDraws<kind, _WT>;
  if (thread >= fill.items) return;
  const bool xorwow = fill.from.is_xorwow();
  curandStateXORWOW_t states[kDraws];
  for (unsigned i = 0; xorwow && i < kDraws; i++)
    states[i] = random_subsequence(fill.from.seed, fill.from.position + thread * kDraws + i);
  for (unsigned long long item = thread; item < fill.items; item += kRandomThreads<kind, _WT>) {
    unsigned x[kDraws];
    for (unsigned i = 0; i < kDraws; i++)
      x[i] = xorwow ? curand(&states[i])
                    : random_philox(fill.from, fill.from.position + item * kDraws + i);
    random_write<kind>(fill, item, x);
  }
}

template <RandomKind kind>
constexpr unsigned kMrgThreads = kMrgSubsequences / kMrgDraws<kind>;
template <RandomKind kind, class _WT>
void random_share_mrg(const RandomFill<_WT>& fill, unsigned thread) {
  constexpr unsigned kDraws = kMrgDraws<kind>;
  if (thread >= fill.items) return;
  curandStateMRG32k3a_t states[kDraws];
  for (unsigned i = 0; i < kDraws; i++)
    states[i] = random_mrg(fill.from.seed, fill.from.position + thread * kDraws + i);
  for (unsigned long long item = thread; item < fill.items; item += kMrgThreads<kind>)
    random_write_mrg<kind>(fill, item, states);
}

template <RandomKind kind, class _WT>
__global__ void random_kernel(RandomFill<_WT> fill) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  if (fill.from.is_mrg())
    random_share_mrg<kind>(fill, thread);
  else
    random_share<kind>(fill, thread);
}

}  // namespace warploom::libraries
