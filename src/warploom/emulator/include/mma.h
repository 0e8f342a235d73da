// Tensor cores by warps (nvcuda::wmma), as the programming guide lists them ("Warp matrix
// functions"). Which element a lane holds is unspecified: here they go round the lanes, row by row.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "cuda_runtime.h"

namespace nvcuda::wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32;
}

}  // namespace nvcuda::wmma

namespace warploom {

template <class _WT>
struct MatrixElement {
  using Type = _WT;
};
template <>
struct MatrixElement<nvcuda::wmma::precision::tf32> {
  using Type = float;
};

template <class Use, int m, int n, int k>
inline constexpr int kMatrixRows = std::is_same_v<Use, nvcuda::wmma::matrix_b> ? k : m;
template <class Use, int m, int n, int k>
inline constexpr int kMatrixColumns = std::is_same_v<Use, nvcuda::wmma::matrix_a> ? k : n;

// By element type and shape, what a warp multiplies.
template <class _WT>
constexpr bool matrix_shape(int m, int n, int k) {
  if (std::is_same_v<_WT, double>) return m == 8 && n == 8 && k == 4;
  if (std::is_same_v<_WT, nvcuda::wmma::precision::tf32>) return m == 16 && n == 16 && k == 8;
  return k == 16 && ((m == 16 && n == 16) || (m == 32 && n == 8) || (m == 8 && n == 32));
}

}  // namespace warploom

namespace nvcuda::wmma {

template <class Use, int m, int n, int k, class _WT, class Layout = void>
struct fragment {
  static constexpr int rows = warploom::kMatrixRows<Use, m, n, k>;
  static constexpr int columns = warploom::kMatrixColumns<Use, m, n, k>;
  using element_type = typename warploom::MatrixElement<_WT>::Type;
  using storage_element_type = element_type;
  static constexpr int num_elements = rows * columns / 32;
  static constexpr int num_storage_elements = num_elements;
  static_assert(std::is_same_v<Use, accumulator> || warploom::matrix_shape<_WT>(m, n, k),
                "wmma has no such shape for this type");
  element_type x[num_elements];
};

}  // namespace nvcuda::wmma

namespace warploom {

inline unsigned matrix_lane() {
  return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32;
}

template <class Fragment>
std::size_t matrix_place(int i, unsigned ldm, bool by_rows) {
  const unsigned at = static_cast<unsigned>(i) * 32 + matrix_lane();
  const unsigned row = at / Fragment::columns, column = at % Fragment::columns;
  return by_rows ? std::size_t{row} * ldm + column : std::size_t{column} * ldm + row;
}

// Elements of each lane that one exchange brings.
template <class Fragment>
inline constexpr int kMatrixEach =
    std::min<int>(8 / sizeof(typename Fragment::element_type), Fragment::num_elements);

// Of the whole matrix what all lanes hold in `kMatrixEach` elements from `first` on. Arrays that
// are no larger stay in registers, as far as modelled time can tell.
template <class Fragment>
WARPLOOM_UNCHECKED void matrix_gather(const Fragment& part, int first,
                                      typename Fragment::element_type* some) {
  constexpr std::size_t kBytes = sizeof(part.x[0]);
  std::uint64_t in = 0, all[32];
  std::memcpy(&in, &part.x[first], kMatrixEach<Fragment> * kBytes);
  warp_gather(~0u, in, all);
  for (int lane = 0; lane < 32; lane++) {
    for (int i = 0; i < kMatrixEach<Fragment>; i++) {
      std::memcpy(&some[i * 32 + lane], reinterpret_cast<const char*>(&all[lane]) + i * kBytes,
                  kBytes);
    }
  }
}

// How many multiplications and additions tensor cores do in the time of one by the other cores
// (H200, dense: 67, 494, 989 and 1979 of double, tf32, short floats and bytes; 67 of float).
template <class _WT>
constexpr int matrix_rate() {
  if (std::is_same_v<_WT, double>) return 1;
  if (std::is_same_v<_WT, nvcuda::wmma::precision::tf32>) return 8;
  return std::is_integral_v<_WT> ? 32 : 16;
}

template <class _WT>
auto matrix_number(_WT value) {
  if constexpr (std::is_integral_v<_WT>) {
    return static_cast<int>(value);
  } else if constexpr (std::is_same_v<_WT, double>) {
    return value;
  } else {
    return static_cast<float>(value);
  }
}

// What tensor cores read of a factor: of a float as tf32 the upper 10 bits of the mantissa, be it
// rounded by __float_to_tf32 or not.
template <class _WT, class Element>
WARPLOOM_UNCHECKED auto matrix_operand(Element value) {
  if constexpr (std::is_same_v<_WT, nvcuda::wmma::precision::tf32>) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    bits &= ~0x1FFFu;
    std::memcpy(&value, &bits, sizeof(bits));
  }
  return matrix_number(value);
}

}  // namespace warploom

namespace nvcuda::wmma {

template <class Use, int m, int n, int k, class _WT, class Layout>
void fill_fragment(fragment<Use, m, n, k, _WT, Layout>& to,
                   const std::type_identity_t<typename warploom::MatrixElement<_WT>::Type>& value) {
  for (auto& one : to.x) one = value;
}

template <class Use, int m, int n, int k, class _WT, class Layout>
void load_matrix_sync(fragment<Use, m, n, k, _WT, Layout>& to,
                      const typename warploom::MatrixElement<_WT>::Type* from, unsigned ldm) {
  using Fragment = fragment<Use, m, n, k, _WT, Layout>;
  constexpr bool by_rows = std::is_same_v<Layout, row_major>;
  for (int i = 0; i < Fragment::num_elements; i++) {
    to.x[i] = from[warploom::matrix_place<Fragment>(i, ldm, by_rows)];
  }
  __syncwarp();  // one instruction of the warp: none goes on before all have read
}
template <int m, int n, int k, class _WT>
void load_matrix_sync(fragment<accumulator, m, n, k, _WT>& to, const _WT* from, unsigned ldm,
                      layout_t layout) {
  using Fragment = fragment<accumulator, m, n, k, _WT>;
  for (int i = 0; i < Fragment::num_elements; i++) {
    to.x[i] = from[warploom::matrix_place<Fragment>(i, ldm, layout == mem_row_major)];
  }
  __syncwarp();
}
template <int m, int n, int k, class _WT>
void store_matrix_sync(_WT* to, const fragment<accumulator, m, n, k, _WT>& from, unsigned ldm,
                       layout_t layout) {
  using Fragment = fragment<accumulator, m, n, k, _WT>;
  __syncwarp();  // none stores before all have come
  for (int i = 0; i < Fragment::num_elements; i++) {
    to[warploom::matrix_place<Fragment>(i, ldm, layout == mem_row_major)] = from.x[i];
  }
}

// The sum in the order of k, in the accumulator's precision or, of short floats, in float.
template <int m, int n, int k, class _WT, class LayoutA, class LayoutB, class Sum, class Old>
void mma_sync(fragment<accumulator, m, n, k, Sum>& d,
              const fragment<matrix_a, m, n, k, _WT, LayoutA>& a,
              const fragment<matrix_b, m, n, k, _WT, LayoutB>& b,
              const fragment<accumulator, m, n, k, Old>& c, bool = false) {
  using _WA = fragment<matrix_a, m, n, k, _WT, LayoutA>;
  using _WB = fragment<matrix_b, m, n, k, _WT, LayoutB>;
  using Element = typename _WA::element_type;
  using Total = decltype(warploom::matrix_number(Element{}));
  constexpr int kOfA = warploom::kMatrixEach<_WA> * 32, kOfB = warploom::kMatrixEach<_WB> * 32;
  static_assert(32 % n == 0 && kOfA % k == 0 && kOfB % n == 0);
  warploom::count_operations(std::max(1, m * n * k / 32 / warploom::matrix_rate<_WT>()));
  const int lane = static_cast<int>(warploom::matrix_lane());
  Element column[k], some[std::max(kOfA, kOfB)];  // all of a lane's results are of one column
  for (int first = 0; first < k * n; first += kOfB) {
    warploom::matrix_gather(b, first / 32, some);
    for (int inner = first / n; inner < (first + kOfB) / n; inner++) {
      column[inner] = some[inner * n + lane % n - first];
    }
  }
  for (int first = 0; first < m * k; first += kOfA) {
    warploom::matrix_gather(a, first / 32, some);
    for (int i = 0; i < d.num_elements; i++) {
      const int row = (i * 32 + lane) / n;
      if (row * k < first || row * k >= first + kOfA) continue;
      Total sum = static_cast<Total>(c.x[i]);
      for (int inner = 0; inner < k; inner++) {
        sum += warploom::matrix_operand<_WT>(some[row * k + inner - first]) *
               warploom::matrix_operand<_WT>(column[inner]);
      }
      d.x[i] = static_cast<Sum>(sum);
    }
  }
}

// tf32 keeps 10 bits of the mantissa.
inline float __float_to_tf32(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, 4);
  bits = (bits + 0x1000u) & ~0x1FFFu;
  std::memcpy(&value, &bits, 4);
  return value;
}

}  // namespace nvcuda::wmma
