// What goes wrong around Thrust: each defect by its name.
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/sequence.h>
#include <thrust/transform.h>

#include <cstring>

struct Next {
  const int* data;
  __host__ __device__ int operator()(int i) const { return data[i + 1]; }  // 11
};

int main(int count, char** args) {
  const auto is = [&](const char* name) { return count > 1 && !std::strcmp(args[1], name); };
  constexpr int n = 600;
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  thrust::device_vector<int> a(n + 1), b(is("small") ? n - 1 : n);
  thrust::sequence(a.begin(), a.end());
  int* raw = thrust::raw_pointer_cast(b.data());
  const auto policy = thrust::cuda::par_nosync.on(stream);
  thrust::transform(policy, a.begin(), a.begin() + n, raw, thrust::negate<int>());  // 23
  if (!is("unsynced")) cudaStreamSynchronize(stream);
  const int first = b[1];  // the copy of an element is on another stream
  if (is("functor")) a.resize(n), a.shrink_to_fit();
  thrust::transform(thrust::make_counting_iterator(0), thrust::make_counting_iterator(n), b.begin(),
                    Next{thrust::raw_pointer_cast(a.data())});
  if (is("host")) return raw[0] == 0;  // 29
  cudaDeviceSynchronize();
  return first != -1 || b[1] != 2;
}
