// BLAKE2b with a key (RFC 7693), to say of bytes that the runtime wrote them: who does not know the
// key cannot. The driver has it in its standard library.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace warploom {

class KeyedHash {
 public:
  static constexpr std::size_t kDigestBytes = 32, kBlock = 128;

  // The key has at most 64 bytes.
  explicit KeyedHash(const std::string& key) {
    std::copy(std::begin(kStart), std::end(kStart), state_);
    state_[0] ^= 0x01010000 ^ (key.size() << 8) ^ kDigestBytes;
    if (key.empty()) return;
    std::memcpy(block_, key.data(), std::min<std::size_t>(key.size(), 64));
    filled_ = kBlock;
  }

  void add(const void* data, std::size_t bytes) {
    const auto* from = static_cast<const unsigned char*>(data);
    while (bytes) {
      if (filled_ == kBlock) compress(false);
      const std::size_t part = std::min(bytes, kBlock - filled_);
      std::memcpy(block_ + filled_, from, part);
      filled_ += part;
      from += part;
      bytes -= part;
    }
  }

  // Ends the hash: what is added later does not count.
  std::string hex() {
    std::memset(block_ + filled_, 0, kBlock - filled_);
    compress(true);
    std::string text;
    for (std::size_t i = 0; i < kDigestBytes; i++) {
      const auto byte = static_cast<unsigned>(state_[i / 8] >> (i % 8 * 8)) & 0xFF;
      text += "0123456789abcdef"[byte >> 4];
      text += "0123456789abcdef"[byte & 15];
    }
    return text;
  }

 private:
  static constexpr uint64_t kStart[8] = {0x6A09E667F3BCC908, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B,
                                         0xA54FF53A5F1D36F1, 0x510E527FADE682D1, 0x9B05688C2B3E6C1F,
                                         0x1F83D9ABFB41BD6B, 0x5BE0CD19137E2179};
  static constexpr uint8_t kOrder[10][16] = {
      {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
      {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
      {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
      {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
      {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
      {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
      {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
      {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
      {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
      {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

  void compress(bool last) {
    count_ += filled_;
    uint64_t words[16], v[16];
    std::memcpy(words, block_, sizeof words);
    std::copy(state_, state_ + 8, v);
    std::copy(std::begin(kStart), std::end(kStart), v + 8);
    v[12] ^= count_;
    if (last) v[14] = ~v[14];
    const auto mix = [&](unsigned a, unsigned b, unsigned c, unsigned d, uint64_t x, uint64_t y) {
      v[a] += v[b] + x;
      v[d] = std::rotr(v[d] ^ v[a], 32);
      v[c] += v[d];
      v[b] = std::rotr(v[b] ^ v[c], 24);
      v[a] += v[b] + y;
      v[d] = std::rotr(v[d] ^ v[a], 16);
      v[c] += v[d];
      v[b] = std::rotr(v[b] ^ v[c], 63);
    };
    for (unsigned round = 0; round < 12; round++) {
      const uint8_t* s = kOrder[round % 10];
      for (unsigned i = 0; i < 4; i++) {
        mix(i, i + 4, i + 8, i + 12, words[s[2 * i]], words[s[2 * i + 1]]);
      }
      for (unsigned i = 0; i < 4; i++) {
        mix(i, (i + 1) % 4 + 4, (i + 2) % 4 + 8, (i + 3) % 4 + 12, words[s[2 * i + 8]],
            words[s[2 * i + 9]]);
      }
    }
    for (unsigned i = 0; i < 8; i++) state_[i] ^= v[i] ^ v[i + 8];
    filled_ = 0;
  }

  uint64_t state_[8];
  uint64_t count_ = 0;
  unsigned char block_[kBlock] = {};
  std::size_t filled_ = 0;
};

}  // namespace warploom
