// Jumps in cuRAND's XORWOW sequences: include/curand_kernel.h. A step is linear in the bits of the
// state, so that many of them are a matrix; those of 2^k steps are squares of each other.
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

}  // namespace

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
