
// The bits of what this rank's elements are multiplied by.
__device__ inline uint64_t ownScale(const Reduction& r) {
  if (r.scaleAt == nullptr) return r.scale;
  uint64_t bits = 0;
  memcpy(&bits, r.scaleAt, r.elementBytes);
  return bits;
}

// What elements of each rank are multiplied by.
template <typename Element, typename Bits>
struct Scales {
  bool scaled;
  Bits bits;  // of a rank
  template <typename Total>
  __device__ Total of(int rank, Total value) const {
    if (!scaled) return value;
    const uint64_t known = bits(rank);
    Element scale;
    memcpy(&scale, &known, sizeof(Element));
    return static_cast<Total>(value * static_cast<Total>(scale));
  }
};
template <typename Element, typename Bits>
__device__ Scales<Element, Bits> scalesOf(const Reduction& r, Bits bits) {
  return {r.scaled, bits};
}
