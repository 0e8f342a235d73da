// How many blocks a device runs at once.
#pragma once

namespace warploom {

// A cluster lies within one GPC. The 132 multiprocessors of an H200 are in 8 GPCs of up to 18
// (NVIDIA H100 white paper), which differ from chip to chip by what is switched off. Taken here: 6
// of 16 and 2 of 18, as even as it can be, so that what fits on few chips only does not count.
constexpr unsigned blocks_at_once(unsigned sms, unsigned per_sm, unsigned cluster) {
  if (cluster < 2) return sms * per_sm;
  const unsigned gpcs = sms < 16 ? 1 : sms / 16, pairs = sms / 2;
  unsigned blocks = 0;
  for (unsigned i = 0; i < gpcs; i++) {
    const unsigned own = 2 * (pairs / gpcs + (i < pairs % gpcs)) + (i == 0 ? sms % 2 : 0);
    blocks += own * per_sm / cluster * cluster;
  }
  return blocks;
}

}  // namespace warploom
