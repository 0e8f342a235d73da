// Textures and surfaces: what they read by the rules of the programming guide, and what goes wrong.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>
#include <string>

#define OK(call)                                                                     \
  do {                                                                               \
    if (cudaError_t e = (call)) {                                                    \
      std::printf("%d: %s: %s\n", __LINE__, #call, cudaGetErrorString(e));           \
      std::exit(1);                                                                  \
    }                                                                                \
  } while (0)

static cudaTextureObject_t texture(cudaArray_t array, cudaTextureAddressMode mode,
                                   cudaTextureFilterMode filter, bool normalized,
                                   cudaTextureReadMode read = cudaReadModeElementType) {
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc how{};
  for (auto& one : how.addressMode) one = mode;
  how.filterMode = filter;
  how.readMode = read;
  how.normalizedCoords = normalized;
  how.borderColor[0] = 9;
  cudaTextureObject_t made = 0;
  OK(cudaCreateTextureObject(&made, &resource, &how, nullptr));
  return made;
}

__global__ void fetch1(cudaTextureObject_t t, const float* at, float* out) {
  out[threadIdx.x] = tex1D<float>(t, at[threadIdx.x]);
}
__global__ void fetch_linear(cudaTextureObject_t t, float* out) {
  out[threadIdx.x] = tex1Dfetch<float>(t, (int)threadIdx.x - 1);
}
__global__ void fetch_bytes(cudaTextureObject_t t, float* out) {
  const float4 color = tex2D<float4>(t, 1.5f, 0.5f);
  out[0] = color.x, out[1] = color.y, out[2] = color.z, out[3] = color.w;
}
__global__ void fetch3(cudaTextureObject_t t, float* out) {
  out[0] = tex3D<float>(t, 1.5f, 0.5f, 1.5f);
  tex3D(&out[1], t, 1.0f, 1.0f, 1.0f);
}
__global__ void fetch_layer(cudaTextureObject_t t, float* out) {
  out[threadIdx.x] = tex2DLayered<float>(t, 0.5f, 0.5f, threadIdx.x);
}
__global__ void invert(cudaSurfaceObject_t s, int columns) {
  const int x = threadIdx.x, y = threadIdx.y;
  if (x >= columns) return;
  const float value = surf2Dread<float>(s, x * 4, y);
  surf2Dwrite(-value, s, x * 4, y);
}
__global__ void late(cudaTextureObject_t t, float* out) { out[0] = tex2D<float>(t, 0.5f, 0.5f); }

static float* g_out;
static void expect(const char* what, std::initializer_list<float> wanted) {
  float got[16];
  OK(cudaGetLastError());
  OK(cudaMemcpy(got, g_out, wanted.size() * sizeof(float), cudaMemcpyDeviceToHost));
  int i = 0;
  for (float one : wanted) {
    if (got[i] != one) std::printf("%s: %d is %g, not %g\n", what, i, got[i], one);
    i++;
  }
}

static cudaArray_t floats(int width, int height, unsigned flags = 0) {
  const cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
  cudaArray_t array = nullptr;
  OK(cudaMallocArray(&array, &desc, width, height, flags));
  return array;
}

static void one_dimension() {
  cudaArray_t array = floats(4, 0);
  const float values[] = {0, 10, 20, 40};
  OK(cudaMemcpyToArray(array, 0, 0, values, sizeof values, cudaMemcpyHostToDevice));
  const float places[] = {0.5f, 2.0f, -3.0f, 7.0f}, shares[] = {0.125f, 0.5f, -0.125f, 1.375f};
  float *at, *normal;
  OK(cudaMalloc(&at, sizeof places));
  OK(cudaMemcpy(at, places, sizeof places, cudaMemcpyHostToDevice));
  OK(cudaMalloc(&normal, sizeof shares));
  OK(cudaMemcpy(normal, shares, sizeof shares, cudaMemcpyHostToDevice));
  fetch1<<<1, 4>>>(texture(array, cudaAddressModeClamp, cudaFilterModePoint, false), at, g_out);
  expect("point, clamp", {0, 20, 0, 40});
  fetch1<<<1, 4>>>(texture(array, cudaAddressModeClamp, cudaFilterModeLinear, false), at, g_out);
  expect("linear, clamp", {0, 15, 0, 40});
  fetch1<<<1, 4>>>(texture(array, cudaAddressModeBorder, cudaFilterModePoint, false), at, g_out);
  expect("point, border", {0, 20, 9, 9});
  fetch1<<<1, 4>>>(texture(array, cudaAddressModeWrap, cudaFilterModePoint, true), normal, g_out);
  expect("point, wrap", {0, 20, 40, 10});
  fetch1<<<1, 4>>>(texture(array, cudaAddressModeMirror, cudaFilterModePoint, true), normal, g_out);
  expect("point, mirror", {0, 20, 0, 20});
  OK(cudaFreeArray(array));
}

static void memory(bool too_long) {
  float* data;
  const float values[] = {1, 2, 3};
  OK(cudaMalloc(&data, sizeof values));
  OK(cudaMemcpy(data, values, sizeof values, cudaMemcpyHostToDevice));
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = data;
  resource.res.linear.desc = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
  resource.res.linear.sizeInBytes = sizeof values;
  cudaTextureDesc how{};
  cudaTextureObject_t object = 0;
  OK(cudaCreateTextureObject(&object, &resource, &how, nullptr));
  fetch_linear<<<1, 5>>>(object, g_out);
  expect("linear memory", {0, 1, 2, 3, 0});
  OK(cudaDestroyTextureObject(object));
  if (!too_long) return;
  resource.res.linear.sizeInBytes *= 2;
  cudaCreateTextureObject(&object, &resource, &how, nullptr);
}

static void more_dimensions() {
  const cudaChannelFormatDesc colors = cudaCreateChannelDesc<uchar4>();
  cudaArray_t image = nullptr;
  OK(cudaMallocArray(&image, &colors, 2, 1));
  const uchar4 pixels[] = {{0, 0, 0, 0}, {255, 0, 51, 255}};
  OK(cudaMemcpy2DToArray(image, 0, 0, pixels, 8, 8, 1, cudaMemcpyHostToDevice));
  fetch_bytes<<<1, 1>>>(texture(image, cudaAddressModeClamp, cudaFilterModePoint, false,
                                cudaReadModeNormalizedFloat), g_out);
  expect("normalized bytes", {1, 0, 0.2f, 1});

  const cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
  float cube[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  for (unsigned flags : {cudaArrayDefault, cudaArrayLayered}) {
    cudaArray_t array = nullptr;
    OK(cudaMalloc3DArray(&array, &desc, {2, 2, 2}, flags));
    cudaMemcpy3DParms copy{};
    copy.srcPtr = {cube, 8, 2, 2};
    copy.dstArray = array;
    copy.extent = {2, 2, 2};
    copy.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&copy));
    if (flags == cudaArrayLayered) {
      fetch_layer<<<1, 2>>>(texture(array, cudaAddressModeClamp, cudaFilterModePoint, false), g_out);
      expect("layers", {0, 4});
    } else {
      fetch3<<<1, 1>>>(texture(array, cudaAddressModeClamp, cudaFilterModeLinear, false), g_out);
      expect("three dimensions", {5, 3.5f});
    }
  }
}

static cudaSurfaceObject_t surface(cudaArray_t array) {
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaSurfaceObject_t made = 0;
  OK(cudaCreateSurfaceObject(&made, &resource));
  return made;
}

static void surfaces(int columns) {
  cudaArray_t array = floats(2, 2, cudaArraySurfaceLoadStore);
  const float values[] = {1, 2, 3, 4};
  float got[4];
  OK(cudaMemcpy2DToArray(array, 0, 0, values, 8, 8, 2, cudaMemcpyHostToDevice));
  invert<<<1, dim3(4, 2)>>>(surface(array), columns);
  OK(cudaGetLastError());
  OK(cudaMemcpy2DFromArray(got, 8, array, 0, 0, 8, 2, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 4; i++) {
    if (got[i] != -values[i]) std::printf("surface: %d is %g\n", i, got[i]);
  }
}

int main(int, char** argv) {
  const std::string mode = argv[1];
  OK(cudaMalloc(&g_out, 64));
  if (mode == "good") {
    one_dimension();
    memory(false);
    more_dimensions();
    surfaces(2);
  } else if (mode == "too_long") {
    memory(true);
  } else if (mode == "out_of_bounds") {
    surfaces(3);
  } else {
    cudaArray_t array = floats(2, 2);
    const cudaTextureObject_t object =
        texture(array, cudaAddressModeClamp, cudaFilterModePoint, false);
    cudaStream_t other;
    OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    float* values;
    OK(cudaMallocHost(&values, 16));
    memset(values, 0, 16);
    if (mode != "uninitialized_read") {
      OK(cudaMemcpy2DToArrayAsync(array, 0, 0, values, 8, 8, 2, cudaMemcpyHostToDevice, other));
    }
    if (mode != "data_race") OK(cudaStreamSynchronize(other));
    late<<<1, 1>>>(object, g_out);
    if (mode == "use_after_destroy") OK(cudaDestroyTextureObject(object));
    float got;
    OK(cudaMemcpy(&got, g_out, 4, cudaMemcpyDeviceToHost));
    std::printf("%g\n", got);
  }
}
