// Never ends, in the compiler.
#include <cuda_runtime.h>
template <int N>
struct Bomb {
  static constexpr long value = Bomb<N - 1>::value + Bomb<N - 1 - (N & 1)>::value * Bomb<N - 2>::value;
  Bomb<N - 1> left;
  Bomb<N - 2> right[3];
};
template <>
struct Bomb<0> {
  static constexpr long value = 1;
};
template <>
struct Bomb<-1> {
  static constexpr long value = 1;
};
template <class... T>
struct List {};
template <class L, int N>
struct Grow;
template <class... T, int N>
struct Grow<List<T...>, N> : Grow<List<T..., T..., Bomb<N % 800>>, N + 1> {};
int main() { return cudaFree(nullptr) + sizeof(Grow<List<int>, 1>); }
