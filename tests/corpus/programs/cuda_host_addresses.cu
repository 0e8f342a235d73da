// CORPUS run=1
// Shapes that device code makes, an operation that device code chooses, and a table that device code
// names: what has one address on the host means nothing on a GPU.
//
// DEFECT FUNCTION device_dereference_host: a kernel gets the address of a function from the host
// DEFECT STORED device_dereference_host: a variable of the device gets a function's address by copy
// DEFECT OBJECT device_dereference_host: an object with virtual functions is copied to the device
// DEFECT TABLE device_dereference_host: a kernel gets the host's address of a __device__ array
// DEFECT CONSTANT device_dereference_host: a struct holds the host's address of a constant
#include <cuda_runtime.h>

#include <cstdio>
#include <new>

#define MUST(call)                                                            \
  if ((call) != cudaSuccess) {                                                \
    std::fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(call)); \
    return 1;                                                                 \
  }

constexpr int kCount = 64;

struct Shape {
  __host__ __device__ virtual float area() const = 0;
};
struct Square : Shape {
  float side;
  __host__ __device__ explicit Square(float length) : side(length) {}
  __host__ __device__ float area() const override { return side * side; }
};
struct Scale {
  const float* factor;
  int times;
};
using Operation = float (*)(float);

__host__ __device__ float twice(float x) { return 2.0f * x; }
__device__ Operation chosen = twice;
__device__ Operation stored = twice;
__device__ float offsets[kCount];
__constant__ float factor = 3.0f;

__global__ void make(Square* squares) {
  const int i = threadIdx.x;
  new (squares + i) Square(static_cast<float>(i));
}

__global__ void measure(const Square* squares, float* areas) {
  const Shape& shape = squares[threadIdx.x];
  // EXPECT OBJECT
  areas[threadIdx.x] = shape.area();
}

__global__ void apply(Operation operation, float* areas) {
  // EXPECT FUNCTION
  areas[threadIdx.x] = operation(areas[threadIdx.x]);
}

__global__ void apply_stored(float* areas) {
  // EXPECT STORED
  areas[threadIdx.x] = stored(areas[threadIdx.x]);
}

__global__ void move(float* areas, const float* by, Scale scale) {
  areas[threadIdx.x] = areas[threadIdx.x] * *scale.factor * scale.times + by[threadIdx.x];
}

int main() {
  Square* squares;
  float* areas;
  MUST(cudaMalloc(&squares, kCount * sizeof(Square)));
  MUST(cudaMalloc(&areas, kCount * sizeof(float)));
  make<<<1, kCount>>>(squares);
#ifdef DEFECT_OBJECT
  for (int i = 0; i < kCount; ++i) {
    const Square square(static_cast<float>(i));
    MUST(cudaMemcpy(squares + i, &square, sizeof square, cudaMemcpyHostToDevice));
  }
#endif
  measure<<<1, kCount>>>(squares, areas);

#ifdef DEFECT_FUNCTION
  Operation operation = twice;
#else
  Operation operation;
  MUST(cudaMemcpyFromSymbol(&operation, chosen, sizeof operation));
#endif
  apply<<<1, kCount>>>(operation, areas);
#ifdef DEFECT_STORED
  Operation other = twice;
  MUST(cudaMemcpyToSymbol(stored, &other, sizeof other));
#endif
  apply_stored<<<1, kCount>>>(areas);

  float by[kCount];
  for (int i = 0; i < kCount; ++i) by[i] = 0.5f * static_cast<float>(i);
  MUST(cudaMemcpyToSymbol(offsets, by, sizeof by));
  void* address;
#ifdef DEFECT_TABLE
  float* table = offsets;
#else
  MUST(cudaGetSymbolAddress(&address, offsets));
  float* table = static_cast<float*>(address);
#endif
#ifdef DEFECT_CONSTANT
  const Scale scale{&factor, 1};
#else
  MUST(cudaGetSymbolAddress(&address, factor));
  const Scale scale{static_cast<float*>(address), 1};
#endif
  // EXPECT TABLE CONSTANT
  move<<<1, kCount>>>(areas, table, scale);
  MUST(cudaGetLastError());
  float result[kCount];
  MUST(cudaMemcpy(result, areas, sizeof result, cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int i = 0; i < kCount; ++i) {
    const float side = static_cast<float>(i);
    wrong += result[i] != side * side * 4.0f * 3.0f + by[i];
  }
  MUST(cudaFree(squares));
  MUST(cudaFree(areas));
  if (wrong) std::printf("%d areas are wrong\n", wrong);
  return wrong != 0;
}
