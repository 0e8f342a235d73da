// What thrust::adjacent_difference computes, in all of its forms; an argument leads past an end.
#include <thrust/adjacent_difference.h>
#include <thrust/device_vector.h>
#include <thrust/functional.h>
#include <thrust/host_vector.h>

#include <cstdio>
#include <cstring>
#include <vector>

static void expect(const char* what, const std::vector<int>& got, const std::vector<int>& want) {
  if (got != want) std::printf("%s is wrong\n", what);
}

static std::vector<int> on_host(const thrust::device_vector<int>& values) {
  std::vector<int> host(values.size());
  thrust::copy(values.begin(), values.end(), host.begin());
  return host;
}

int main(int argc, char** argv) {
  const std::vector<int> host{3, 5, 4, 4, 9};
  thrust::device_vector<int> in(host.begin(), host.end()), out(5, -1);
  if (argc > 1 && !std::strcmp(argv[1], "small")) out = thrust::device_vector<int>(3);
  auto end = thrust::adjacent_difference(in.begin(), in.end(), out.begin());
  if (end != out.begin() + 5) std::printf("the end is wrong\n");
  if (argc > 1) return 0;
  expect("minus", on_host(out), {3, 2, -1, 0, 5});
  thrust::adjacent_difference(thrust::device, in.begin(), in.end(), out.begin(),
                              thrust::plus<int>());
  expect("plus", on_host(out), {3, 8, 9, 8, 13});
  thrust::adjacent_difference(in.begin(), in.end(), out.begin(), thrust::not_equal_to<int>());
  expect("not equal", on_host(out), {3, 1, 1, 0, 1});
  thrust::adjacent_difference(in.begin(), in.begin(), out.begin());
  expect("nothing", on_host(out), {3, 1, 1, 0, 1});
  thrust::adjacent_difference(in.begin(), in.end(), in.begin());
  expect("in place", on_host(in), {3, 2, -1, 0, 5});
  std::vector<int> plain(5);
  thrust::adjacent_difference(thrust::host, host.begin(), host.end(), plain.begin());
  expect("host", plain, {3, 2, -1, 0, 5});
  return 0;
}
