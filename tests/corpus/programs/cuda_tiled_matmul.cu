// CORPUS run=1
// Tiled matrix product in shared memory, with RAII buffers, exceptions and a templated kernel.
//
// DEFECT NO_SYNC_LOAD shared_memory_race: multiplies before the tile is loaded
// DEFECT NO_SYNC_NEXT shared_memory_race: loads the next tile while others still multiply
// DEFECT SYNC_INSIDE_IF divergent_barrier: threads outside of the matrix skip the barrier
// DEFECT TWO_ON_A_LINE divergent_barrier: rows meet at one of two barriers, both on one line
// DEFECT NO_BOUNDS out_of_bounds: the matrix is no multiple of the tile
// DEFECT SMALL_TILE out_of_bounds: the dynamic shared memory holds one tile, not two
#include <cuda_runtime.h>

#include <cstddef>
#include <iostream>
#include <stdexcept>
#include <vector>

static void ensure(cudaError_t status) {
  if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

template <typename T>
class DeviceVector {
 public:
  explicit DeviceVector(size_t n) : n_(n) { ensure(cudaMalloc((void**)&p_, n * sizeof(T))); }
  explicit DeviceVector(const std::vector<T>& v) : DeviceVector(v.size()) {
    ensure(cudaMemcpy(p_, v.data(), n_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  ~DeviceVector() { cudaFree(p_); }
  DeviceVector(const DeviceVector&) = delete;
  DeviceVector& operator=(const DeviceVector&) = delete;
  T* get() { return p_; }
  std::vector<T> toHost() const {
    std::vector<T> v(n_);
    ensure(cudaMemcpy(v.data(), p_, n_ * sizeof(T), cudaMemcpyDeviceToHost));
    return v;
  }

 private:
  T* p_ = nullptr;
  size_t n_;
};

template <int TILE>
__global__ void multiply(const double* a, const double* b, double* c, int m, int n, int k) {
  extern __shared__ double tiles[];
  double* ta = tiles;
  double* tb = tiles + TILE * TILE;
  const int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
  const int mine = threadIdx.y * TILE + threadIdx.x;
  double sum = 0;
  for (int t = 0; t < k; t += TILE) {
    const int ka = t + threadIdx.x, kb = t + threadIdx.y;
#ifdef DEFECT_NO_BOUNDS
    // EXPECT NO_BOUNDS
    ta[mine] = a[row * k + ka];
#else
    // EXPECT NO_SYNC_NEXT NO_SYNC_LOAD
    ta[mine] = row < m && ka < k ? a[row * k + ka] : 0;
#endif
    // EXPECT SMALL_TILE NO_SYNC_NEXT NO_SYNC_LOAD
    tb[mine] = col < n && kb < k ? b[kb * n + col] : 0;
#ifdef DEFECT_SYNC_INSIDE_IF
    // EXPECT SYNC_INSIDE_IF
    if (row < m && col < n) __syncthreads();
#elif defined(DEFECT_TWO_ON_A_LINE)
    // EXPECT TWO_ON_A_LINE
    if (threadIdx.y & 1) __syncthreads(); else __syncthreads();
#elif !defined(DEFECT_NO_SYNC_LOAD)
    __syncthreads();
#endif
    for (int i = 0; i < TILE; i++) {
      // EXPECT NO_SYNC_LOAD NO_SYNC_NEXT
      sum += ta[threadIdx.y * TILE + i] * tb[i * TILE + threadIdx.x];
    }
#ifndef DEFECT_NO_SYNC_NEXT
    // EXPECT SYNC_INSIDE_IF
    __syncthreads();
#endif
  }
  if (row < m && col < n) c[row * n + col] = sum;
}

int main() try {
  constexpr int kTile = 8;
  const int m = 19, n = 13, k = 21;
  std::vector<double> a(m * k), b(k * n);
  for (size_t i = 0; i < a.size(); i++) a[i] = double(i % 7) - 2;
  for (size_t i = 0; i < b.size(); i++) b[i] = double(i % 5) + 1;
  DeviceVector<double> da(a), db(b), dc(size_t(m) * n);
  dim3 grid((n + kTile - 1) / kTile, (m + kTile - 1) / kTile), block(kTile, kTile);
#ifdef DEFECT_SMALL_TILE
  size_t bytes = kTile * kTile * sizeof(double);
#else
  size_t bytes = 2 * kTile * kTile * sizeof(double);
#endif
  multiply<kTile><<<grid, block, bytes>>>(da.get(), db.get(), dc.get(), m, n, k);
  ensure(cudaGetLastError());
  const std::vector<double> c = dc.toHost();
  int wrong = 0;
  for (int i = 0; i < m; i++) {
    for (int j = 0; j < n; j++) {
      double want = 0;
      for (int l = 0; l < k; l++) want += a[i * k + l] * b[l * n + j];
      wrong += c[i * n + j] != want;
    }
  }
  std::cout << (wrong ? "mismatch" : "match") << std::endl;
  return wrong != 0;
} catch (const std::exception& error) {
  std::cerr << error.what() << std::endl;
  return 2;
}
