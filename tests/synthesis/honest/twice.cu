#define CEIL_DIV(a, b) (((a) + (b)-1) / (b))
static __global__ void four(const float4* x, float4* y, long long n) {
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += (long long)gridDim.x * blockDim.x) {
    float4 v = x[i];
    v.x = v.x * 2.0f + 1.0f;
    v.y = v.y * 2.0f + 1.0f;
    v.z = v.z * 2.0f + 1.0f;
    v.w = v.w * 2.0f + 1.0f;
    y[i] = v;
  }
}
static __global__ void single(const float* x, float* y, long long n) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  if (isnan(v)) {
    y[i] = v;
    return;
  }
  y[i] = v * 2.0f + 1.0f;
}
extern "C" int warploom_forward(void* const* inputs, void* const* outputs, const long long* sizes,
                                void* stream_handle) {
  if (inputs == nullptr || outputs == nullptr || sizes == nullptr) return 1;
  cudaStream_t stream = static_cast<cudaStream_t>(stream_handle);
  const float* x = static_cast<const float*>(inputs[0]);
  float* y = static_cast<float*>(outputs[0]);
  const long long rows = sizes[0], cols = sizes[1];
  const long long n = rows * cols;
  if (n <= 0) return 0;
  const bool aligned = reinterpret_cast<unsigned long long>(x) % 16 == 0 &&
                       (reinterpret_cast<unsigned long long>(y) & 15) == 0;
  if (aligned && n % 4 == 0) {
    long long blocks = CEIL_DIV(n / 4, 256);
    if (blocks > 65535) blocks = 65535;
    four<<<(unsigned)blocks, 256, 0, stream>>>((const float4*)x, (float4*)y, n / 4);
  } else {
    single<<<(unsigned)CEIL_DIV(n, 256), 256, 0, stream>>>(x, y, n);
  }
  cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) return static_cast<int>(error);
  return 0;
}
