// Thrust against the host's library: vectors, iterators and algorithms, here and there.
#include <thrust/copy.h>
#include <thrust/count.h>
#include <thrust/device_ptr.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/extrema.h>
#include <thrust/fill.h>
#include <thrust/functional.h>
#include <thrust/gather.h>
#include <thrust/host_vector.h>
#include <thrust/inner_product.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/reduce.h>
#include <thrust/remove.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <thrust/transform_reduce.h>
#include <thrust/unique.h>

#include <cmath>
#include <list>
#include <numeric>

#include "expect.h"

struct Saxpy {
  float a;
  __host__ __device__ float operator()(const float& x, const float& y) const { return a * x + y; }
};
struct Square {
  __host__ __device__ int operator()(int x) const { return x * x; }
};
struct IsEven {
  __host__ __device__ bool operator()(int x) const { return x % 2 == 0; }
};
struct Weighted {
  __host__ __device__ float operator()(const thrust::tuple<int, float>& t) const {
    return thrust::get<0>(t) * thrust::get<1>(t);
  }
};
struct Point {
  int x, y;
};
struct ByY {
  __host__ __device__ bool operator()(const Point& a, const Point& b) const { return a.y < b.y; }
};

static thrust::host_vector<int> numbers(int n) {
  thrust::host_vector<int> out(n);
  unsigned state = 99;
  for (int i = 0; i < n; i++) {
    state = state * 1664525u + 1013904223u;
    out[i] = static_cast<int>(state >> 8) % 401 - 200;
  }
  return out;
}
template <class T>
bool same(const thrust::device_vector<T>& a, const std::vector<T>& b) {
  return thrust::host_vector<T>(a) == thrust::host_vector<T>(b);
}

static void vectors() {
  thrust::device_vector<int> d(4, 7);
  d[1] = 9;
  d[2] += d[1];
  d.push_back(3);
  EXPECT(same(d, {7, 9, 16, 7, 3}) && d.size() == 5 && d.back() == 3);
  thrust::host_vector<int> h = d;
  h[0] = 1;
  d = h;
  EXPECT(static_cast<int>(d[0]) == 1);
  const std::list<int> list = {5, 6};
  thrust::device_vector<float> f(list.begin(), list.end());
  EXPECT(same(f, {5.0f, 6.0f}));
  f.resize(3);
  EXPECT(same(f, {5.0f, 6.0f, 0.0f}));
  int* raw = thrust::raw_pointer_cast(d.data());
  EXPECT(raw == thrust::raw_pointer_cast(&d[0]));
  thrust::device_ptr<int> p(raw);
  p[3] = 70;
  EXPECT(p[3] == 70 && thrust::reduce(p, p + 5) == 1 + 9 + 16 + 70 + 3);
  d.erase(d.begin() + 1);
  EXPECT(same(d, {1, 16, 70, 3}));
  std::vector<int> out(4);
  thrust::copy(d.begin(), d.end(), out.begin());
  EXPECT(out[2] == 70);
}

static void algorithms(int n) {
  const auto host = numbers(n);
  thrust::device_vector<int> d = host, out(n);
  EXPECT(thrust::reduce(d.begin(), d.end()) == std::accumulate(host.begin(), host.end(), 0));
  EXPECT(thrust::reduce(d.begin(), d.end(), -1000, thrust::maximum<int>()) ==
         *std::max_element(host.begin(), host.end()));
  EXPECT(thrust::count_if(d.begin(), d.end(), IsEven()) ==
         std::count_if(host.begin(), host.end(), IsEven()));
  EXPECT(thrust::min_element(d.begin(), d.end()) - d.begin() ==
         std::min_element(host.begin(), host.end()) - host.begin());
  EXPECT(thrust::max_element(d.begin(), d.end()) - d.begin() ==
         std::max_element(host.begin(), host.end()) - host.begin());
  EXPECT(thrust::transform_reduce(d.begin(), d.end(), Square(), 0ll, thrust::plus<long long>()) ==
         std::inner_product(host.begin(), host.end(), host.begin(), 0ll));
  EXPECT(thrust::inner_product(d.begin(), d.end(), d.begin(), 0ll) ==
         std::inner_product(host.begin(), host.end(), host.begin(), 0ll));
  std::vector<int> want(n);
  thrust::inclusive_scan(d.begin(), d.end(), out.begin());
  std::partial_sum(host.begin(), host.end(), want.begin());
  EXPECT(same(out, want));
  thrust::exclusive_scan(d.begin(), d.end(), d.begin(), 10);
  std::exclusive_scan(host.begin(), host.end(), want.begin(), 10);
  EXPECT(same(d, want));
  d = host;
  thrust::transform(d.begin(), d.end(), out.begin(), thrust::negate<int>());
  EXPECT(static_cast<int>(out[n - 1]) == -host[n - 1]);
  const auto end = thrust::copy_if(d.begin(), d.end(), out.begin(), IsEven());
  want.clear();
  std::copy_if(host.begin(), host.end(), std::back_inserter(want), IsEven());
  out.resize(end - out.begin());
  EXPECT(same(out, want));
  d.erase(thrust::remove_if(d.begin(), d.end(), IsEven()), d.end());
  EXPECT(d.size() + want.size() == static_cast<size_t>(n));
  d = host;
  thrust::sort(d.begin(), d.end());
  want.assign(host.begin(), host.end());
  std::sort(want.begin(), want.end());
  EXPECT(same(d, want));
  d.erase(thrust::unique(d.begin(), d.end()), d.end());
  want.erase(std::unique(want.begin(), want.end()), want.end());
  EXPECT(same(d, want));
}

static void sorts(int n) {
  const auto host = numbers(n);
  thrust::device_vector<int> keys = host, order(n);
  thrust::sequence(order.begin(), order.end());
  thrust::stable_sort_by_key(keys.begin(), keys.end(), order.begin(), thrust::greater<int>());
  std::vector<int> want(n);
  std::iota(want.begin(), want.end(), 0);
  std::stable_sort(want.begin(), want.end(), [&](int a, int b) { return host[a] > host[b]; });
  EXPECT(same(order, want));
  thrust::device_vector<int> gathered(n), original = host;
  thrust::gather(order.begin(), order.end(), original.begin(), gathered.begin());
  EXPECT(gathered == keys);
  std::vector<Point> points(n);
  for (int i = 0; i < n; i++) points[i] = {i, host[i] % 5};
  thrust::device_vector<Point> p = points;
  thrust::sort(p.begin(), p.end(), ByY());
  std::stable_sort(points.begin(), points.end(), ByY());
  const thrust::host_vector<Point> got = p;
  for (int i = 0; i < n; i++) EXPECT(got[i].x == points[i].x);
  // Two vectors of values at once
  thrust::device_vector<int> k = host, a(n), b(n);
  thrust::sequence(a.begin(), a.end());
  thrust::sequence(b.begin(), b.end(), 0, 2);
  thrust::sort_by_key(k.begin(), k.end(),
                      thrust::make_zip_iterator(thrust::make_tuple(a.begin(), b.begin())));
  thrust::transform(a.begin(), a.end(), a.begin(), a.begin(), thrust::plus<int>());
  EXPECT(a == b);
  thrust::device_vector<int> run_keys(n), sums(n);
  const auto ends = thrust::reduce_by_key(k.begin(), k.end(), thrust::make_constant_iterator(1),
                                          run_keys.begin(), sums.begin());
  EXPECT(thrust::reduce(sums.begin(), ends.second) == n);
}

static void iterators_and_policies() {
  const int n = 1000;
  thrust::device_vector<float> x(n), y(n, 1.0f);
  thrust::sequence(x.begin(), x.end());
  thrust::transform(x.begin(), x.end(), y.begin(), y.begin(), Saxpy{2});
  EXPECT(static_cast<float>(y[10]) == 21);
  const auto zip =
      thrust::make_zip_iterator(thrust::make_tuple(thrust::counting_iterator<int>(0), y.begin()));
  const float sum = thrust::transform_reduce(zip, zip + 3, Weighted(), 0.0f, thrust::plus<float>());
  EXPECT(sum == 0 * 1 + 1 * 3 + 2 * 5);
  const auto squares = thrust::make_transform_iterator(thrust::make_counting_iterator(1), Square());
  EXPECT(thrust::reduce(thrust::device, squares, squares + 4) == 30);
  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));
  int *raw, host[4] = {3, 1, 2, 0};
  CUDA(cudaMalloc(&raw, sizeof host));
  CUDA(cudaMemcpy(raw, host, sizeof host, cudaMemcpyHostToDevice));
  thrust::sort(thrust::cuda::par.on(stream), raw, raw + 4);
  thrust::for_each(thrust::device, raw, raw + 4, [] __device__(int& value) { value *= 10; });
  CUDA(cudaMemcpy(host, raw, sizeof host, cudaMemcpyDeviceToHost));
  EXPECT(host[0] == 0 && host[3] == 30);
  thrust::sort(thrust::host, host, host + 4, thrust::greater<int>());
  EXPECT(host[0] == 30 && thrust::reduce(host, host + 4) == 60);
  thrust::fill(thrust::cuda::par.on(stream), raw, raw + 4, 5);
  thrust::device_ptr<int> p = thrust::device_pointer_cast(raw);
  EXPECT(thrust::count(p, p + 4, 5) == 4);
  CUDA(cudaFree(raw));
}

__global__ void in_a_kernel(int* data, int n, int* sum) {
  thrust::sort(thrust::seq, data, data + n);
  *sum = thrust::reduce(thrust::seq, data, data + n);
}

int main() {
  vectors();
  for (int n : {1, 100, 5000}) algorithms(n);
  sorts(3000);
  iterators_and_policies();
  thrust::device_vector<int> d = numbers(20), sum(1);
  in_a_kernel<<<1, 1>>>(thrust::raw_pointer_cast(d.data()), 20, thrust::raw_pointer_cast(&sum[0]));
  CUDA(cudaDeviceSynchronize());
  EXPECT(thrust::is_sorted(d.begin(), d.end()) && thrust::reduce(d.begin(), d.end()) == sum[0]);
  return failures != 0;
}
