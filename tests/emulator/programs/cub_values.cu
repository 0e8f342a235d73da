// CUB against loops on the host: blocks, warps and the whole device.
#include <cuda_runtime.h>

#include <algorithm>
#include <cub/cub.cuh>
#include <numeric>
#include <vector>

#include "expect.h"

static_assert(sizeof std::cout > 0);  // CUB brings the streams

template <class T>
struct Device {
  T* data;
  size_t size;
  explicit Device(const std::vector<T>& from) : size(from.size()) {
    CUDA(cudaMalloc(&data, size * sizeof(T)));
    CUDA(cudaMemcpy(data, from.data(), size * sizeof(T), cudaMemcpyHostToDevice));
  }
  explicit Device(size_t n) : Device(std::vector<T>(n)) {}
  std::vector<T> get(size_t n = ~size_t{0}) const {
    std::vector<T> out(std::min(n, size));
    CUDA(cudaMemcpy(out.data(), data, out.size() * sizeof(T), cudaMemcpyDeviceToHost));
    return out;
  }
  ~Device() { CUDA(cudaFree(data)); }
};

static std::vector<int> numbers(int n) {
  std::vector<int> out(n);
  unsigned state = 12345;
  for (int& value : out) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<int>(state >> 8) % 2001 - 1000;
  }
  return out;
}

// The two calls: what is needed, and the work.
template <class Call>
void twice(Call call) {
  void* temp = nullptr;
  size_t bytes = 0;
  CUDA(call(temp, bytes));
  EXPECT(bytes > 0);
  CUDA(cudaMalloc(&temp, bytes));
  CUDA(call(temp, bytes));
  CUDA(cudaDeviceSynchronize());
  size_t less = 0;
  EXPECT(bytes == 1 || call(temp, less) == cudaErrorInvalidValue);
  CUDA(cudaFree(temp));
}

struct Product {
  __host__ __device__ long long operator()(long long a, long long b) const { return a * b % 1009; }
};
struct IsOdd {
  __host__ __device__ bool operator()(int x) const { return x & 1; }
};

constexpr int kThreads = 96, kItems = 4;

__global__ void in_block(const int* in, int* out, int* sums) {
  using Load = cub::BlockLoad<int, kThreads, kItems, cub::BLOCK_LOAD_TRANSPOSE>;
  using Store = cub::BlockStore<int, kThreads, kItems, cub::BLOCK_STORE_WARP_TRANSPOSE>;
  using Scan = cub::BlockScan<int, kThreads>;
  using Reduce = cub::BlockReduce<int, kThreads>;
  __shared__ union {
    typename Load::TempStorage load;
    typename Store::TempStorage store;
    typename Scan::TempStorage scan;
    typename Reduce::TempStorage reduce;
  } temp;
  int items[kItems], total;
  Load(temp.load).Load(in + blockIdx.x * kThreads * kItems, items);
  __syncthreads();
  int sum = Reduce(temp.reduce).Sum(items);
  if (threadIdx.x == 0) sums[4 * blockIdx.x] = sum;
  __syncthreads();
  int most = Reduce(temp.reduce).Reduce(items[0], cub::Max(), 50);
  if (threadIdx.x == 0) sums[4 * blockIdx.x + 1] = most;
  __syncthreads();
  Scan(temp.scan).ExclusiveSum(items, items, total);
  if (threadIdx.x == 5) sums[4 * blockIdx.x + 2] = total;
  __syncthreads();
  Store(temp.store).Store(out + blockIdx.x * kThreads * kItems, items);
  int one;
  __shared__ typename Scan::TempStorage again;
  Scan(again).InclusiveSum(1, one);
  if (threadIdx.x == kThreads - 1) sums[4 * blockIdx.x + 3] = one;
}

__global__ void in_warp(const int* in, int* out) {
  __shared__ typename cub::WarpReduce<int>::TempStorage reduce[2];
  __shared__ typename cub::WarpScan<int, 8>::TempStorage scan[8];
  const int warp = threadIdx.x / 32, value = in[threadIdx.x];
  const int sum = cub::WarpReduce<int>(reduce[warp]).Sum(value);
  if (threadIdx.x % 32 == 0) out[warp] = sum;
  int upto, before;
  cub::WarpScan<int, 8>(scan[threadIdx.x / 8]).InclusiveSum(value, upto);
  cub::WarpScan<int, 8>(scan[threadIdx.x / 8]).ExclusiveScan(value, before, 7, cub::Max());
  out[2 + threadIdx.x] = upto;
  out[66 + threadIdx.x] = before;
}

__global__ void sort_block(float* keys, int* values) {
  using Sort = cub::BlockRadixSort<float, 64, 3, int>;
  __shared__ typename Sort::TempStorage temp;
  float k[3];
  int v[3];
  for (int i = 0; i < 3; i++) k[i] = keys[threadIdx.x * 3 + i], v[i] = values[threadIdx.x * 3 + i];
  Sort(temp).SortDescending(k, v);
  for (int i = 0; i < 3; i++) keys[threadIdx.x * 3 + i] = k[i], values[threadIdx.x * 3 + i] = v[i];
}

static void blocks_and_warps() {
  const int n = kThreads * kItems;
  const auto host = numbers(2 * n);
  Device<int> in(host), out(2 * n), sums(8);
  in_block<<<2, kThreads>>>(in.data, out.data, sums.data);
  const auto got = out.get(), found = sums.get();
  for (int block = 0; block < 2; block++) {
    int sum = 0;
    for (int i = 0; i < n; i++) {
      EXPECT(got[block * n + i] == sum);
      sum += host[block * n + i];
    }
    int most = -10000;
    for (int i = 0; i < 50; i++) most = std::max(most, host[block * n + i * kItems]);
    EXPECT(found[4 * block] == sum && found[4 * block + 1] == most);
    EXPECT(found[4 * block + 2] == sum && found[4 * block + 3] == kThreads);
  }
  in_warp<<<1, 64>>>(in.data, out.data);
  const auto warp = out.get();
  EXPECT(warp[0] == std::accumulate(host.begin(), host.begin() + 32, 0));
  EXPECT(warp[1] == std::accumulate(host.begin() + 32, host.begin() + 64, 0));
  EXPECT(warp[2 + 13] == std::accumulate(host.begin() + 8, host.begin() + 14, 0));
  EXPECT(warp[66 + 8] == 7);
  EXPECT(warp[66 + 10] == std::max({7, host[8], host[9]}));
  std::vector<float> keys(192);
  std::vector<int> values(192);
  for (int i = 0; i < 192; i++) keys[i] = host[i] % 10 * 0.5f, values[i] = i;
  Device<float> k(keys);
  Device<int> v(values);
  sort_block<<<1, 64>>>(k.data, v.data);
  std::stable_sort(values.begin(), values.end(), [&](int a, int b) { return keys[a] > keys[b]; });
  EXPECT(v.get() == values);
}

static void whole_device(int n) {
  const auto host = numbers(n);
  Device<int> in(host), out(n), one(1);
  twice([&](void* t, size_t& b) { return cub::DeviceReduce::Sum(t, b, in.data, one.data, n); });
  EXPECT(one.get()[0] == std::accumulate(host.begin(), host.end(), 0));
  twice([&](void* t, size_t& b) { return cub::DeviceReduce::Min(t, b, in.data, one.data, n); });
  EXPECT(one.get()[0] == (n ? *std::min_element(host.begin(), host.end()) : 0x7fffffff));
  twice([&](void* t, size_t& b) {
    cub::CountingInputIterator<int> count(1);
    return cub::DeviceReduce::Reduce(t, b, count, one.data, n, Product(), 1);
  });
  long long product = 1;
  for (int i = 1; i <= n; i++) product = product * i % 1009;
  EXPECT(one.get()[0] == product);
  if (n) {
    Device<cub::KeyValuePair<int, int>> pair(1);
    twice(
        [&](void* t, size_t& b) { return cub::DeviceReduce::ArgMax(t, b, in.data, pair.data, n); });
    EXPECT(pair.get()[0].key == std::max_element(host.begin(), host.end()) - host.begin());
  }
  auto want = host;
  twice([&](void* t, size_t& b) {
    return cub::DeviceScan::InclusiveSum(t, b, in.data, out.data, n);
  });
  std::partial_sum(host.begin(), host.end(), want.begin());
  EXPECT(out.get() == want);
  twice([&](void* t, size_t& b) {
    return cub::DeviceScan::ExclusiveScan(t, b, in.data, out.data, cub::Max(), -5, n);
  });
  std::exclusive_scan(host.begin(), host.end(), want.begin(), -5,
                      [](int a, int b) { return std::max(a, b); });
  EXPECT(out.get() == want);
  Device<int> chosen(1);
  twice([&](void* t, size_t& b) {
    return cub::DeviceSelect::If(t, b, in.data, out.data, chosen.data, n, IsOdd());
  });
  want.clear();
  std::copy_if(host.begin(), host.end(), std::back_inserter(want), IsOdd());
  EXPECT(chosen.get()[0] == static_cast<int>(want.size()) && out.get(want.size()) == want);
  twice([&](void* t, size_t& b) {
    return cub::DeviceRadixSort::SortKeys(t, b, in.data, out.data, n);
  });
  want = host;
  std::sort(want.begin(), want.end());
  EXPECT(out.get() == want && in.get() == host);
  Device<int> sorted(want);
  twice([&](void* t, size_t& b) {
    return cub::DeviceSelect::Unique(t, b, sorted.data, out.data, chosen.data, n);
  });
  want.erase(std::unique(want.begin(), want.end()), want.end());
  EXPECT(chosen.get()[0] == static_cast<int>(want.size()) && out.get(want.size()) == want);
}

static void pairs() {
  const int n = 5000;
  const auto host = numbers(n);
  std::vector<unsigned char> keys(n);
  std::vector<int> order(n);
  for (int i = 0; i < n; i++) keys[i] = static_cast<unsigned char>(host[i]), order[i] = i;
  Device<unsigned char> k(keys), k_out(n);
  Device<int> v(order), v_out(n), counts(8);
  twice([&](void* t, size_t& b) {
    return cub::DeviceRadixSort::SortPairsDescending(t, b, k.data, k_out.data, v.data, v_out.data,
                                                     n);
  });
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return keys[a] > keys[b]; });
  EXPECT(v_out.get() == order);
  Device<int> a(host), b(n);
  cub::DoubleBuffer<int> both(a.data, b.data);
  twice([&](void* t, size_t& bytes) {
    return cub::DeviceRadixSort::SortKeys(t, bytes, both, n, 0, 12);
  });
  auto want = host;
  std::stable_sort(want.begin(), want.end(), [](int x, int y) { return (x & 4095) < (y & 4095); });
  std::vector<int> got(n);
  CUDA(cudaMemcpy(got.data(), both.Current(), n * sizeof(int), cudaMemcpyDeviceToHost));
  EXPECT(got == want);
  Device<int> unsorted(host);
  twice([&](void* t, size_t& bytes) {
    return cub::DeviceMergeSort::SortKeys(t, bytes, unsorted.data, n,
                                          [] __device__(int x, int y) { return x > y; });
  });
  want = host;
  std::sort(want.begin(), want.end(), std::greater<>());
  EXPECT(unsorted.get() == want);
  Device<int> bins(8);
  twice([&](void* t, size_t& bytes) {
    return cub::DeviceHistogram::HistogramEven(t, bytes, a.data, bins.data, 9, -800, 800, n);
  });
  std::vector<int> histogram(8);
  for (int x : a.get()) {
    if (x >= -800 && x < 800) histogram[(x + 800) / 200]++;
  }
  EXPECT(bins.get() == histogram);
}

int main() {
  blocks_and_warps();
  for (int n : {1, 300, 2049, 9000}) whole_device(n);
  pairs();
  return failures != 0;
}
