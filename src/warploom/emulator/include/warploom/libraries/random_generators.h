// cuRAND's generators XORWOW, Philox4_32_10 and MRG32k3a: states, and their sequences of 32-bit
// numbers.
#pragma once

#include <cuda_runtime.h>
#include <warploom/random.h>

// --- XORWOW (Marsaglia, "Xorshift RNGs"): subsequences are 2^67 numbers apart

struct curandStateXORWOW {
  unsigned d, v[5];
  int boxmuller_flag, boxmuller_flag_double;
  float boxmuller_extra;
  double boxmuller_extra_double;
};
typedef curandStateXORWOW curandStateXORWOW_t;
typedef curandStateXORWOW_t curandState_t;
typedef curandStateXORWOW curandState;

namespace warploom::libraries {
// A pair of normal numbers is made at once, and one of them kept.
template <class State>
void forget_normals(State* state) {
  state->boxmuller_flag = state->boxmuller_flag_double = 0;
  state->boxmuller_extra = 0;
  state->boxmuller_extra_double = 0;
}
inline void jump(curandStateXORWOW_t* state, unsigned long long count, unsigned power) {
  if (!count) return;
  unsigned words[5];
  for (int i = 0; i < 5; i++) words[i] = state->v[i];
  xorwow_jump(words, count, power);
  for (int i = 0; i < 5; i++) state->v[i] = words[i];
  // A product with a matrix of 160 bits for each two bits of the count.
  count_operations(static_cast<unsigned>(65 - __builtin_clzll(count)) / 2 * 960);
}
}  // namespace warploom::libraries

inline void skipahead(unsigned long long n, curandStateXORWOW_t* state) {
  warploom::libraries::jump(state, n, 0);
  state->d += 362437u * static_cast<unsigned>(n);
}
inline void skipahead_sequence(unsigned long long n, curandStateXORWOW_t* state) {
  warploom::libraries::jump(state, n, 67);
}
inline void curand_init(unsigned long long seed, unsigned long long subsequence,
                        unsigned long long offset, curandStateXORWOW_t* state) {
  const unsigned low = 1099087573u * (static_cast<unsigned>(seed) ^ 0xaad26b49u);
  const unsigned high = 2591861531u * (static_cast<unsigned>(seed >> 32) ^ 0xf7dcefddu);
  state->d = 6615241u + high + low;
  state->v[0] = 123456789u + low;
  state->v[1] = 362436069u ^ low;
  state->v[2] = 521288629u + high;
  state->v[3] = 88675123u ^ high;
  state->v[4] = 5783321u + low;
  warploom::libraries::forget_normals(state);
  skipahead_sequence(subsequence, state);
  skipahead(offset, state);
  warploom::count_operations(20);
}
inline unsigned curand(curandStateXORWOW_t* state) {
  const unsigned t = state->v[0] ^ state->v[0] >> 2;
  for (int i = 0; i < 4; i++) state->v[i] = state->v[i + 1];
  state->v[4] = state->v[4] ^ state->v[4] << 4 ^ t ^ t << 1;
  state->d += 362437u;
  warploom::count_operations(8);
  return state->v[4] + state->d;
}

// --- Philox4x32-10 (Salmon and others, "Parallel random numbers: as easy as 1, 2, 3"): a counter,
// whose upper half is the subsequence, and a key, which is the seed

struct curandStatePhilox4_32_10 {
  uint4 ctr, output;
  uint2 key;
  unsigned STATE;
  int boxmuller_flag, boxmuller_flag_double;
  float boxmuller_extra;
  double boxmuller_extra_double;
};
typedef curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;

namespace warploom::libraries {
inline void add(unsigned& low, unsigned& high, unsigned long long n, unsigned* carry_to) {
  const unsigned long long old = low | static_cast<unsigned long long>(high) << 32, sum = old + n;
  low = static_cast<unsigned>(sum);
  high = static_cast<unsigned>(sum >> 32);
  if (sum < old && carry_to && ++carry_to[0] == 0) ++carry_to[1];
}
inline void add_to_counter(uint4& counter, unsigned long long n) {
  unsigned upper[2] = {counter.z, counter.w};
  add(counter.x, counter.y, n, upper);
  counter.z = upper[0];
  counter.w = upper[1];
}
}  // namespace warploom::libraries

inline uint4 curand_Philox4x32_10(uint4 c, uint2 k) {
  for (int round = 0; round < 10; round++) {
    const unsigned long long first = 0xD2511F53ull * c.x, second = 0xCD9E8D57ull * c.z;
    c = uint4{static_cast<unsigned>(second >> 32) ^ c.y ^ k.x, static_cast<unsigned>(second),
              static_cast<unsigned>(first >> 32) ^ c.w ^ k.y, static_cast<unsigned>(first)};
    k.x += 0x9E3779B9u;
    k.y += 0xBB67AE85u;
  }
  warploom::count_operations(100);
  return c;
}
inline void skipahead(unsigned long long n, curandStatePhilox4_32_10_t* state) {
  state->STATE += static_cast<unsigned>(n & 3);
  n /= 4;
  if (state->STATE > 3) {
    n++;
    state->STATE -= 4;
  }
  uint4 counter = state->ctr;
  warploom::libraries::add_to_counter(counter, n);
  state->ctr = counter;
  state->output = curand_Philox4x32_10(counter, state->key);
}
inline void skipahead_sequence(unsigned long long n, curandStatePhilox4_32_10_t* state) {
  uint4 counter = state->ctr;
  warploom::libraries::add(counter.z, counter.w, n, nullptr);
  state->ctr = counter;
  state->output = curand_Philox4x32_10(counter, state->key);
}
inline void curand_init(unsigned long long seed, unsigned long long subsequence,
                        unsigned long long offset, curandStatePhilox4_32_10_t* state) {
  state->ctr = uint4{0, 0, 0, 0};
  state->key = uint2{static_cast<unsigned>(seed), static_cast<unsigned>(seed >> 32)};
  state->STATE = 0;
  warploom::libraries::forget_normals(state);
  skipahead_sequence(subsequence, state);
  skipahead(offset, state);
}
// Four numbers, of which some may be left from the counter before.
inline uint4 curand4(curandStatePhilox4_32_10_t* state) {
  const uint4 left = state->output;
  uint4 counter = state->ctr;
  warploom::libraries::add_to_counter(counter, 1);
  state->ctr = counter;
  const uint4 next = curand_Philox4x32_10(counter, state->key);
  state->output = next;
  switch (state->STATE) {
    case 1:
      return uint4{left.y, left.z, left.w, next.x};
    case 2:
      return uint4{left.z, left.w, next.x, next.y};
    case 3:
      return uint4{left.w, next.x, next.y, next.z};
    default:
      return left;
  }
}
inline unsigned curand(curandStatePhilox4_32_10_t* state) {
  const uint4 four = state->output;
  const unsigned at = state->STATE++;
  if (at == 3) {
    uint4 counter = state->ctr;
    warploom::libraries::add_to_counter(counter, 1);
    state->ctr = counter;
    state->output = curand_Philox4x32_10(counter, state->key);
    state->STATE = 0;
  }
  return at == 0 ? four.x : at == 1 ? four.y : at == 2 ? four.z : four.w;
}

// --- MRG32k3a (L'Ecuyer): subsequences are 2^76 numbers apart, sequences 2^127

struct curandStateMRG32k3a {
  unsigned s1[3], s2[3];
  int boxmuller_flag, boxmuller_flag_double;
  float boxmuller_extra;
  double boxmuller_extra_double;
};
typedef curandStateMRG32k3a curandStateMRG32k3a_t;

#define MRG32K3A_NORM (2.3283065498378288e-10)
#define MRG32K3A_BITS_NORM 1.000000048662

namespace warploom::libraries {
inline void jump(curandStateMRG32k3a_t* state, unsigned long long count, unsigned power) {
  if (!count) return;
  unsigned numbers[6];
  for (int i = 0; i < 3; i++) numbers[i] = state->s1[i], numbers[3 + i] = state->s2[i];
  mrg32k3a_jump(numbers, count, power);
  for (int i = 0; i < 3; i++) state->s1[i] = numbers[i], state->s2[i] = numbers[3 + i];
  count_operations(static_cast<unsigned>(64 - __builtin_clzll(count)) * 60);
}
}  // namespace warploom::libraries

inline void skipahead(unsigned long long n, curandStateMRG32k3a_t* state) {
  warploom::libraries::jump(state, n, 0);
}
inline void skipahead_subsequence(unsigned long long n, curandStateMRG32k3a_t* state) {
  warploom::libraries::jump(state, n & ((1ull << 51) - 1), 76);
}
inline void skipahead_sequence(unsigned long long n, curandStateMRG32k3a_t* state) {
  warploom::libraries::jump(state, n, 127);
}
// A seed of 0 leaves the published state.
inline void curand_init(unsigned long long seed, unsigned long long subsequence,
                        unsigned long long offset, curandStateMRG32k3a_t* state) {
  const unsigned long long low = seed ? static_cast<unsigned>(seed) ^ 0x55555555u : 1;
  const unsigned long long high = seed ? static_cast<unsigned>(seed >> 32) ^ 0xAAAAAAAAu : 1;
  for (int i = 0; i < 3; i++) {
    state->s1[i] = static_cast<unsigned>((i == 1 ? high : low) * 12345 % 4294967087ull);
    state->s2[i] = static_cast<unsigned>((i == 1 ? low : high) * 12345 % 4294944443ull);
  }
  warploom::libraries::forget_normals(state);
  skipahead_subsequence(subsequence, state);
  skipahead(offset, state);
  warploom::count_operations(30);
}
// From 1 to 4294967087.
inline double curand_MRG32k3a(curandStateMRG32k3a_t* state) {
  constexpr unsigned long long kFirst = 4294967087, kSecond = 4294944443;
  const unsigned long long first =
      (1403580ull * state->s1[1] + 810728ull * (kFirst - state->s1[0])) % kFirst;
  const unsigned long long second =
      (527612ull * state->s2[2] + 1370589ull * (kSecond - state->s2[0])) % kSecond;
  for (int i = 0; i < 2; i++) state->s1[i] = state->s1[i + 1], state->s2[i] = state->s2[i + 1];
  state->s1[2] = static_cast<unsigned>(first);
  state->s2[2] = static_cast<unsigned>(second);
  warploom::count_operations(20);
  return static_cast<double>(first > second ? first - second : first + kFirst - second);
}
inline unsigned curand(curandStateMRG32k3a_t* state) {
  const double bits = curand_MRG32k3a(state) * MRG32K3A_BITS_NORM;
  return bits < 4294967295.0 ? static_cast<unsigned>(bits) : 4294967295u;
}

// --- generators whose sequences cannot be repeated from what is documented

#define WARPLOOM_OTHER_GENERATOR(name, full_name)                            \
  struct name {                                                              \
    unsigned warploom_none;                                                  \
  };                                                                         \
  typedef name name##_t;                                                     \
  template <class... Args>                                                   \
  void warploom_init(name*, Args&&...) {                                     \
    ::warploom::unsupported("curand_init",                                   \
                            "of cuRAND's generators, XORWOW, Philox4_32_10 " \
                            "and MRG32k3a are played, not " full_name);      \
  }
WARPLOOM_OTHER_GENERATOR(curandStateMtgp32, "MTGP32")
WARPLOOM_OTHER_GENERATOR(curandStateSobol32, "Sobol32")
WARPLOOM_OTHER_GENERATOR(curandStateScrambledSobol32, "scrambled Sobol32")
WARPLOOM_OTHER_GENERATOR(curandStateSobol64, "Sobol64")
WARPLOOM_OTHER_GENERATOR(curandStateScrambledSobol64, "scrambled Sobol64")
#undef WARPLOOM_OTHER_GENERATOR
template <class First, class Second, class Third, class State>
  requires requires(State* state) { warploom_init(state); }
void curand_init(First, Second, Third, State* state) {
  warploom_init(state);
}
template <class State>
  requires requires(State* state) { warploom_init(state); }
unsigned curand(State*) {
  ::warploom::unsupported("curand", "its generator is not played");
}
