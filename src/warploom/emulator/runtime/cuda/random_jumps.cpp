// Jumps in cuRAND's sequences: include/curand_kernel.h. A step of XORWOW is linear in the bits of
// the state, one of MRG32k3a in its numbers modulo two primes, so that many steps are a matrix;
// those of 2^k steps are squares of each other.
#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "host/program_range.h"
#include "warploom/random.h"

namespace warploom {

namespace {

constexpr unsigned kWords = 5, kStateBits = 32 * kWords;
using XorwowState = std::array<uint32_t, kWords>;
using XorwowMatrix = std::array<XorwowState, kStateBits>;  // what each bit becomes

XorwowState times(const XorwowMatrix& matrix, const XorwowState& state) {
  XorwowState result{};
  for (unsigned bit = 0; bit < kStateBits; bit++) {
    if (!(state[bit / 32] >> bit % 32 & 1)) continue;
    for (unsigned word = 0; word < kWords; word++) result[word] ^= matrix[bit][word];
  }
  return result;
}

XorwowMatrix one_step() {
  XorwowMatrix matrix;
  for (unsigned bit = 0; bit < kStateBits; bit++) {
    XorwowState v{};
    v[bit / 32] = 1u << bit % 32;
    const uint32_t t = v[0] ^ v[0] >> 2;
    matrix[bit] = {v[1], v[2], v[3], v[4], v[4] ^ v[4] << 4 ^ t ^ t << 1};
  }
  return matrix;
}

// The matrix of 2^power steps.
const XorwowMatrix& jump_matrix(unsigned power) {
  static std::vector<std::unique_ptr<XorwowMatrix>> known;
  if (known.empty()) known.push_back(std::make_unique<XorwowMatrix>(one_step()));
  while (known.size() <= power) {
    const XorwowMatrix& last = *known.back();
    auto next = std::make_unique<XorwowMatrix>();
    for (unsigned bit = 0; bit < kStateBits; bit++) (*next)[bit] = times(last, last[bit]);
    known.push_back(std::move(next));
  }
  return *known[power];
}

constexpr unsigned kOrder = 3;
using MrgState = std::array<uint64_t, kOrder>;
using MrgMatrix = std::array<MrgState, kOrder>;  // by row

// One of the two recurrences (L'Ecuyer, "Good parameters and implementations for combined multiple
// recursive random number generators"): the last row is what the next number is made of.
struct Recurrence {
  uint64_t modulus;
  MrgState last;
  MrgState times(const MrgMatrix& matrix, const MrgState& state) const {
    MrgState result{};
    for (unsigned row = 0; row < kOrder; row++) {
      for (unsigned i = 0; i < kOrder; i++) {
        result[row] = (result[row] + matrix[row][i] * state[i] % modulus) % modulus;
      }
    }
    return result;
  }
  MrgMatrix squared(const MrgMatrix& matrix) const {
    MrgMatrix result{};
    for (unsigned column = 0; column < kOrder; column++) {
      const MrgState product =
          times(matrix, {matrix[0][column], matrix[1][column], matrix[2][column]});
      for (unsigned row = 0; row < kOrder; row++) result[row][column] = product[row];
    }
    return result;
  }
};
constexpr uint64_t kFirst = 4294967087, kSecond = 4294944443;
constexpr Recurrence kRecurrences[] = {{kFirst, {kFirst - 810728, 1403580, 0}},
                                       {kSecond, {kSecond - 1370589, 0, 527612}}};

const MrgMatrix& jump_matrix(unsigned which, unsigned power) {
  static std::vector<MrgMatrix> known[2];
  std::vector<MrgMatrix>& mine = known[which];
  const Recurrence& recurrence = kRecurrences[which];
  if (mine.empty()) mine.push_back({MrgState{0, 1, 0}, MrgState{0, 0, 1}, recurrence.last});
  while (mine.size() <= power) mine.push_back(recurrence.squared(mine.back()));
  return mine[power];
}

}  // namespace

void mrg32k3a_jump(unsigned* state, unsigned long long count, unsigned power) {
  if (power > 192) return;
  constexpr unsigned kNumbers = 2 * kOrder;
  program_reads(state, kNumbers * sizeof *state);
  program_writes(state, kNumbers * sizeof *state);
  for (unsigned which = 0; which < 2; which++) {
    unsigned* own = state + which * kOrder;
    MrgState now = {own[0], own[1], own[2]};
    unsigned at = power;
    for (unsigned long long left = count; left; left >>= 1, at++) {
      if (left & 1) now = kRecurrences[which].times(jump_matrix(which, at), now);
    }
    for (unsigned i = 0; i < kOrder; i++) own[i] = static_cast<unsigned>(now[i]);
  }
}

// Moves the five words of a state on by `count` times 2^power steps.
void xorwow_jump(unsigned* state, unsigned long long count, unsigned power) {
  if (power > 128) return;
  program_reads(state, kWords * sizeof *state);
  program_writes(state, kWords * sizeof *state);
  XorwowState now{};
  for (unsigned word = 0; word < kWords; word++) now[word] = state[word];
  for (; count; count >>= 1, power++) {
    if (count & 1) now = times(jump_matrix(power), now);
  }
  for (unsigned word = 0; word < kWords; word++) state[word] = now[word];
}

}  // namespace warploom
