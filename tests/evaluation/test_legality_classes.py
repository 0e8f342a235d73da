# ruff: noqa: E501 - attacks are written as they would be
"""Level 0 against classes of attack: many spellings of each are refused, with their line."""

import pytest

from warploom.evaluation.legality.check import refusals
from warploom.source.regions import Program

FRAME = r"""#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>
#include <nccl_device.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#ifndef TOKENS
#define TOKENS 32
#endif
#define CUDA_CHECK(call)                                                       \
  do {                                                                         \
    cudaError_t status = (call);                                               \
    if (status != cudaSuccess) {                                               \
      fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
      MPI_Abort(MPI_COMM_WORLD, 1);                                            \
    }                                                                          \
  } while (0)
// EVOLVE-BLOCK-START kernels
#define TILE 32
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 30, 5)
using Arrived = ncclGin_WeakSignalInc;
#else
using Arrived = ncclGin_SignalInc;
#endif
__global__ void work(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = 3.0f * i;
}
KERNELS
// EVOLVE-BLOCK-END
static int expected(int i) { return 3 * i; }
static void run(float* x, int n, cudaStream_t stream, ncclComm_t comm) {
  CUDA_CHECK(cudaMemsetAsync(x, 0, n * sizeof(float), stream));
  // EVOLVE-BLOCK-START pipeline
  work<<<(n + TILE - 1) / TILE, TILE, 0, stream>>>(x, n);
PIPELINE
  // EVOLVE-BLOCK-END
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaStreamSynchronize(stream));
}
int main(int argc, char** argv) {
  int n = argc > 1 ? atoi(argv[1]) : TILE;
  float* x = nullptr;
  cudaEvent_t start, stop;
  CUDA_CHECK(cudaMalloc(&x, n * sizeof(float)));
  CUDA_CHECK(cudaEventCreate(&start));
  CUDA_CHECK(cudaEventCreate(&stop));
  run(x, n, nullptr, nullptr);
  float ms = 0;
  CUDA_CHECK(cudaEventElapsedTime(&ms, start, stop));
  std::vector<float> host(n);
  CUDA_CHECK(cudaMemcpy(host.data(), x, n * sizeof(float), cudaMemcpyDeviceToHost));
  printf("%s\n", host[1] == expected(1) ? "PASS" : "FAIL");
  return 0;
}
"""
KERNEL_LINE = FRAME[: FRAME.index("KERNELS")].count("\n") + 1
PIPELINE_LINE = FRAME[: FRAME.index("PIPELINE")].count("\n") + 1


def program(kernels: str = "", pipeline: str = "") -> Program:
    return Program(FRAME.replace("PIPELINE", pipeline).replace("KERNELS", kernels))


TRUSTED = program()


def added(text: str) -> list[tuple[str, int]]:
    """Judge with `text` after the kernels; lines count from 1 at `text`."""
    found = refusals(program(kernels=text), TRUSTED)
    return [(item.kind, item.line - KERNEL_LINE + 1) for item in found]


def inside(text: str) -> list[tuple[str, int]]:
    """Judge with `text` in the pipeline; lines count from 1 at `text`."""
    found = refusals(program(pipeline=text), TRUSTED)
    return [(item.kind, item.line - PIPELINE_LINE + 1) for item in found]


def lines_inside(found: list[tuple[str, int]], text: str) -> bool:
    return all(1 <= line <= text.count("\n") + 1 for _, line in found)


# Attributes that come to be by macros.
ATTRIBUTES = [
    "#define A(x) __attribute__((x))\nA(no_sanitize_thread) __device__ float f(float* p) { return *p; }",
    "#define A(...) __attribute__((__VA_ARGS__))\nA(hot, no_sanitize(\"thread\")) __device__ void f() {}",
    "#define N no_sanitize_thread\n__attribute__((N)) __device__ float f(float* p) { return *p; }",
    "#define N section\n#define A(x, ...) __attribute__((x(__VA_ARGS__)))\nA(N, \".text\") void f() {}",
    "#define KEY __attribute__\nKEY((constructor)) static void early() {}",
    "#define OPEN __attribute__((\n#define A(x) __attribute__(x)\nA((destructor)) static void late() {}",
    "#define B(x) [[x]]\nB(gnu::constructor) static void early() {}",
    "#define C cleanup\nstatic void bye(int*) {}\n"
    "__device__ void g() { __attribute__((C(bye))) int x = 0; (void)x; }",
    "#define D(x) x\n#define A(x) __attribute__((D(x)))\nA(no_instrument_function) void f() {}",
    "#define A(x) __attribute__((x))\n#define B(x) A(x)\n#define C(x) B(x)\n"
    "C(ifunc(\"g\")) void f();",
    "#define A(x, y) __attribute__((x, y))\n__device__ A(hot, alias(\"g\")) void f();",
    "#define E(a) __attribute__((optimize(a)))\nE(\"O0\") __device__ void f() {}",
]  # fmt: skip


@pytest.mark.parametrize("text", ATTRIBUTES)
def test_attributes_through_macros(text: str) -> None:
    found = added(text)
    assert found and lines_inside(found, text)
    assert {kind for kind, _ in found} & {"attribute", "unbalanced_region", "hidden_text"}


# Host assembly whose function looks like device code to a reader of all branches.
ASSEMBLY = [
    '#if 0\n__device__\n#endif\nstatic void f() { asm("nop"); }',
    '#ifdef NOT_THERE\n__device__\n#endif\nstatic void f() { asm volatile("nop"); }',
    '#if 1\n#else\n__device__\n#endif\nstatic void f() { __asm__("nop"); }',
    '#define DEV\nDEV static void f() { asm("nop"); }',
    '#define CODE asm("nop")\nstatic void f() { CODE; }',
    '#define CODE(x) asm volatile(x)\nstatic void f() { CODE("nop"); }',
    '#define ON 0\n#if ON\n__global__\n#endif\nvoid f() { asm("nop"); }',
    '#if 2 > 3 || 0\n__device__\n#endif\ninline void f() { asm("nop"); }',
    '#define EMPTY(x)\nEMPTY(__device__) static void f() { asm("nop"); }',
    '#define A __asm\nstatic int g() A("write");',
    '#if defined(TOKENS) && TOKENS == 31\n__device__\n#endif\nvoid f() { asm("nop"); }',
]


@pytest.mark.parametrize("text", ASSEMBLY)
def test_assembly_behind_conditionals_and_macros(text: str) -> None:
    found = added(text)
    assert "inline_assembly" in {kind for kind, _ in found}
    assert lines_inside(found, text)


# Conditions that differ between the emulator, nvcc's passes and a GPU.
CONDITIONS = [
    "#ifdef __CUDA_ARCH__\n__device__ int w = 1;\n#endif",
    "#ifndef __CUDACC__\n__device__ int w = 1;\n#endif",
    "#if defined(__NVCC__)\n__device__ int w = 1;\n#endif",
    "#if __cplusplus > 201703L\n__device__ int w = 1;\n#endif",
    "#ifdef __GNUC__\n__device__ int w = 1;\n#endif",
    "#ifdef __clang__\n__device__ int w = 1;\n#endif",
    "#if __has_include(<cub/cub.cuh>)\n__device__ int w = 1;\n#endif",
    "#ifdef WARPLOOM_EMULATOR\n__device__ int w = 1;\n#endif",
    "#ifdef threadIdx\n__device__ int w = 1;\n#endif",
    "#ifdef CUDART_VERSION\n__device__ int w = 1;\n#endif",
    "#if CUDA_VERSION >= 12000\n__device__ int w = 1;\n#endif",
    "#ifdef assert\n__device__ int w = 1;\n#endif",
    "#ifdef INT_MAX\n__device__ int w = 1;\n#endif",
    "#if NCCL_VERSION_CODE == 23007\n__device__ int w = 1;\n#endif",
    "#define PROBE defined(__CUDACC_VER_MAJOR__)\n#if PROBE\n__device__ int w = 1;\n#endif",
    "#define PROBE __CUDA_ARCH_LIST__\n#if PROBE\n__device__ int w = 1;\n#endif",
    "#if -1 < 0u\n__device__ int w = 1;\n#endif",
    "#if __COUNTER__\n__device__ int w = 1;\n#endif",
    "#if defined NULL\n__device__ int w = 1;\n#endif",
    "#if MPI_VERSION > 3\n__device__ int w = 1;\n#endif",
    "#if 0\n#elif defined(OMPI_MPI_H)\n__device__ int w = 1;\n#endif",
    "#ifdef _GLIBCXX_RELEASE\n__device__ int w = 1;\n#endif",
]


@pytest.mark.parametrize("text", CONDITIONS)
def test_conditions_that_tell_where_the_program_is(text: str) -> None:
    found = added(text)
    assert {kind for kind, _ in found} & {"forbidden_directive", "reserved_name"}
    assert lines_inside(found, text)


# Expressions that tell the emulator from a GPU.
TELLING = [
    "__host__ __device__ bool f() { return __CUDA_ARCH__ > 0; }",
    "__device__ long long f() { return clock64(); }",
    "__device__ int f() { return clock(); }",
    "#define NOW clock64\n__device__ long long f() { return NOW(); }",
    '__device__ long f() { long t; asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t)); return t; }',
    '__device__ int f() { int t; asm volatile("mov.u32 %0, %smid;" : "=r"(t)); return t; }',
    '__device__ int f() { int t; asm("mov.u32 %0, %clock;" : "=r"(t)); return t; }',
    "double f() { return MPI_Wtime(); }",
    "int f() { int *v, g; MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &v, &g); return *v; }",
    "int f(void* p) { int v; cudaMemRangeGetAttribute(&v, 4, cudaMemRangeAttributeReadMostly, p, 4);"
    " return v; }",
    "float f(cudaEvent_t a, cudaEvent_t b) { float t; cudaEventElapsedTime(&t, a, b); return t; }",
    "long f() { return std::chrono::steady_clock::now().time_since_epoch().count(); }",
    "using namespace std::chrono;",
    "int f() { int v; cudaRuntimeGetVersion(&v); return v; }",
    "int f() { int v; cudaDriverGetVersion(&v); return v; }",
    "size_t f() { size_t a, b; cudaMemGetInfo(&a, &b); return a; }",
    "int f() { char h[99]; int n; MPI_Get_processor_name(h, &n); return n; }",
    "const char* f() { return __FILE__; }",
    "const char* f() { return __DATE__; }",
    "const char* f() { return __PRETTY_FUNCTION__; }",
    "constexpr int kPass = __COUNTER__;",
    "__device__ bool f() { return sizeof(threadIdx) == 12; }",
    "__device__ bool f() { return std::is_same_v<decltype(blockIdx), uint3>; }",
    "__device__ bool f(int x) { return __builtin_constant_p(x); }",
    "const char* f() { return typeid(ncclGin).name(); }",
    "template <class T> bool f(T t) { return requires { t.secret(); }; }",
    "auto f() { return sizeof(u8\"a\"[0]) + sizeof(u8'a'); }",
    "void* f() { return reinterpret_cast<void*>(&cudaFree); }",
    "void* f() { return (void*)cudaMalloc; }",
    "uintptr_t f() { auto g = ncclGetVersion; return (uintptr_t)g; }",
    "template <class T> auto f() -> decltype(std::declval<T>().secret());",
]  # fmt: skip


@pytest.mark.parametrize("text", TELLING)
def test_values_that_tell_where_the_program_is(text: str) -> None:
    found = added(text)
    assert {kind for kind, _ in found} & {"forbidden_call", "reserved_name"}
    assert lines_inside(found, text)


# Calls that no list allows; functions of the C library have no hooks.
CALLS = [
    "__device__ void f(char* b, float* p) { snprintf(b, 9, \"%f\", *p); }",
    "__device__ void f(char* b, float* p) { sprintf(b, \"%f\", *p); }",
    "__device__ int f(const char* p) { return strlen(p); }",
    "__global__ void f(char* a, char* b) { strcpy(a, b); }",
    "__device__ int f(const char* p) { return atoi(p); }",
    "__device__ void f(float* a) { qsort(a, 2, 4, nullptr); }",
    "__device__ void f(float* a) { fwrite(a, 1, 4, stdout); }",
    "#define PEEK snprintf\n__device__ void f(char* b, float* p) { PEEK(b, 9, \"%f\", *p); }",
    "static void f(char* p) { madvise(p, 4096, 4); }",
    "static void f() { fsync(1); }",
    "static void f() { ::sched_yield(); }",
    "static void f() { auto g = &getentropy; g(nullptr, 0); }",
    "int fsync(int);\nstatic void f() { fsync(1); }",
    "static void f() { int fdatasync(int), g = 0; fdatasync(g); }",
    "static int f(const char* p) { return fputs_unlocked(p, stdout); }",
    "static void f() { backtrace(nullptr, 0); }",
    "static void f() { std::set_new_handler(nullptr); }",
    "static void f() { std::locale::global(std::locale(\"C\")); }",
    "static void f() { std::random_device r; }",
    "static void f() { std::this_thread::yield(); }",
    "static int a = 1;\nstatic void f() { a * fsync; fsync(1); }",
    "struct S { int x; };\nstatic void f() { S s{fdatasync(1)}; }",
    "static void f() { pthread_attr_t a; pthread_getattr_np(pthread_self(), &a); }",
    "static void f() { mincore(nullptr, 0, nullptr); }",
    "static auto f() { return [] { return gettid(); }; }",
    "__device__ float f(float* a) { return std::inner_product(a, a + 4, a, 0.0f); }",
    "constexpr auto kSum = [](const float* a) { return std::accumulate(a, a + 4, 0.0f); };",
    "constexpr float sum(const float* a) { return std::reduce(a, a + 4); }",
    "using std::copy_n;\n__device__ void f(float* a, float* b) { copy_n(a, 4, b); }",
    "using namespace std;\n__device__ void f(float* a) { fill(a, a + 4, 0.0f); }",
]  # fmt: skip


@pytest.mark.parametrize("text", CALLS)
def test_calls_that_no_list_allows(text: str) -> None:
    found = added(text)
    assert {kind for kind, _ in found} & {"forbidden_call", "reserved_name"}
    assert lines_inside(found, text)


# A local name of the region that the frame's later text would mean.
SHADOWS = [
    "  auto cudaStreamSynchronize = [](cudaStream_t) { return cudaSuccess; };",
    "  auto&& cudaGetLastError = [] { return cudaSuccess; };",
    "  cudaError_t (*cudaGetLastError)() = nullptr;",
    "  struct cudaGetLastError { operator cudaError_t() { return cudaSuccess; } };",
    "  using cudaGetLastError = cudaError_t;",
    "  typedef cudaError_t cudaGetLastError;",
    "  enum { cudaSuccess = 7 };",
    "  int a = 1, cudaSuccess = 0;",
    "  const cudaError_t cudaSuccess{};",
    "  cudaError_t cudaSuccess(cudaErrorUnknown);",
    "  int pair[2] = {0, 1};\n  auto [first, cudaSuccess] = pair;",
    "  FILE* stderr = nullptr;",
    "  auto fprintf = [](auto...) {};",
    "  int MPI_Abort = 0;",
    "  static auto cudaGetErrorString = [](cudaError_t) { return \"\"; };",
    "  cudaError_t cudaGetLastError();",
    "  std::vector<int> cudaSuccess;",
    "#define LOCAL(n) auto n = 0\n  LOCAL(cudaSuccess);",
]  # fmt: skip


@pytest.mark.parametrize("text", SHADOWS)
def test_a_region_cannot_shadow_what_the_frame_uses(text: str) -> None:
    found = inside(text)
    assert "redefinition" in {kind for kind, _ in found}
    assert lines_inside(found, text)


# Code that runs before or after main.
EARLY = [
    '#define EARLY printf("x")\nint early = EARLY;',
    "#define RUN(x) x()\nstatic int g() { return 1; }\nint early = RUN(g);",
    "struct A { int v; };\nint operator+(A a, A b) { return a.v; }\nA a, b;\nint early = a + b;",
    "struct A { operator int() const { return 1; } };\nextern A a;\nint early = a;",
    "extern int other;\nint early = other;",
    "struct A { ~A() {} };\n#define VAR A\nVAR late;",
    "#define V static std::vector<int> rows(3)\nV;",
    "#define INIT = [] { return 1; }()\nint early INIT;",
    "#define BRACED {g()}\nint g();\nint early BRACED;",
    "struct A { constexpr A() {} ~A() {} };\nconstinit A late;",
    "#define T thread_local\nint g();\nT int early = g();",
    "int g();\nint table[] = {1, 2, g()};",
    "struct S { static int v; };\nint g();\nint S::v = g();",
]


@pytest.mark.parametrize("text", EARLY)
def test_code_before_main(text: str) -> None:
    found = added(text)
    assert "static_constructor" in {kind for kind, _ in found}
    assert lines_inside(found, text)


# Operators and macros that change what the frame's expressions mean.
HIJACKS = [
    "inline bool operator!=(cudaError_t, cudaError_t) { return false; }",
    "template <class A, class B> bool operator!=(A, B) { return false; }",
    "using E = cudaError_t;\nbool operator!=(E, E) { return false; }",
    "bool operator==(ncclResult_t, ncclResult_t) { return true; }",
    "template <class T> T operator-(cudaError_t, T t) { return t; }",
    "#define TILE 32; return 0\n",
    "#define NDEBUGGER cudaSuccess\n#define cudaSuccess 1",
    "#define stderr stdout",
    "#define __LINE__ 1",
    "#define size_t int",
    "#define MPI_COMM_WORLD 0",
    "#define offsetof(a, b) 0",
    "#define noinline no_sanitize_thread",
    "template <> int std::vector<float>::size() const { return 0; }",
]


@pytest.mark.parametrize("text", HIJACKS)
def test_the_frames_expressions_keep_their_meaning(text: str) -> None:
    found = added(text)
    kinds = {kind for kind, _ in found}
    assert kinds & {"redefinition", "reserved_name"}


# Text that compilers read differently, or that moves lines.
HIDDEN = [
    '#line 1 "frame.cu"',
    "#line 7",
    '# 3 "frame.cu" 2',
    "int a; // x\r system(1);",
    "int a; /* x */\r#define B 1",
    '#define P(x) _Pragma(#x)\nP(GCC optimize("O0"))',
    "#define F(x) x\nint y = F(1",
    "#define F(a, b) a\nint y = F(1);",
    '#pragma GCC diagnostic ignored "-Wall"',
    "#pragma omp parallel",
    "%:define X 1",
    "#define J(a, b) a%:%:b",
]


@pytest.mark.parametrize("text", HIDDEN)
def test_text_that_cannot_be_judged(text: str) -> None:
    assert added(text)


HONEST_KERNELS = r"""#define WARPS 8
#define SQUARE(x) ((x) * (x))
#define LOOP(i, n) for (int i = 0; i < (n); ++i)
#define CHECKED(call) do { cudaError_t e = (call); if (e != cudaSuccess) printf("%d\n", (int)e); } while (0)
#ifdef DEBUG_LAYER
#define TRACE(...) printf(__VA_ARGS__)
#else
#define TRACE(...)
#endif
#if WARPS > 4
constexpr int kRows = WARPS * 2;
#else
constexpr int kRows = WARPS;
#endif
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 29, 0)
constexpr bool kNew = true;
#endif
struct alignas(16) Row { float v[4]; __device__ float sum() const { return v[0] + v[3]; } };
struct Pair { int a, b; };
__device__ inline Pair operator+(Pair x, Pair y) { return {x.a + y.a, x.b + y.b}; }
__device__ inline float4 operator*(float4 a, float s) { return make_float4(a.x * s, a.y, a.z, a.w); }
__constant__ float kWeights[4] = {1.0f, 0.5f, 0.25f, 0.125f};
__device__ unsigned arrived = 0, departed = 0;
static const int kTable[3] = {kRows, 2 * kRows, WARPS};
enum class Phase { kSend, kReceive = 3 };
template <typename T, int N>
__device__ __forceinline__ T reduce(T value) {
#pragma unroll
  for (int o = N / 2; o > 0; o >>= 1) value += __shfl_xor_sync(0xffffffffu, value, o);
  return value;
}
__global__ void __launch_bounds__(256) fold(const float* __restrict__ in, float* out, int n) {
  __shared__ float part[WARPS];
  extern __shared__ char raw[];
  float sum = 0.0f, *row = out, best = -INFINITY;
  LOOP(i, n) {
    sum += SQUARE(in[i]) + fmaxf(in[i], 0.0f) * rsqrtf(2.0f) + __ldg(in + i);
    best = max(best, in[i]);
  }
  sum = reduce<float, 32>(sum);
  if (threadIdx.x % warpSize == 0) part[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(&arrived, 1u), row[0] = part[0] + best + raw[0];
  TRACE("%d %f\n", n, sum);
  unsigned lane;
  asm volatile("{ .reg .pred p; mov.u32 %0, %laneid; }" : "=r"(lane));
  __threadfence_system();
}
__global__ void push(ncclDevComm comm, ncclWindow_t window, size_t bytes) {
  ncclGin gin(comm, 0);
  ncclTeam world = ncclTeamWorld(comm);
  for (int peer = threadIdx.x; peer < world.nRanks; peer += blockDim.x) {
    gin.put(world, peer, window, 0, window, bytes, bytes, ncclGin_SignalInc{0});
  }
  gin.waitSignal(ncclCoopCta(), 0, world.nRanks);
  gin.flush(ncclCoopCta());
}
static std::vector<int> order(const std::vector<float>& keys) {
  std::vector<int> ids(keys.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::sort(ids.begin(), ids.end(), [&keys](int a, int b) { return keys[a] < keys[b]; });
  return ids;
}
static cudaError_t launch(float* x, int n, cudaStream_t stream) {
  dim3 grid((n + 255) / 256), block(256);
  void* arguments[] = {&x, &n};
  (void)arguments;
  fold<<<grid, block, 0, stream>>>(x, x, n);
  char name[32];
  snprintf(name, sizeof(name), "row %d", n);
  int sms = 0;
  CHECKED(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
  return cudaPeekAtLastError();
}"""
HONEST_PIPELINE = r"""  static float* scratch = nullptr;
  if (scratch == nullptr) CUDA_CHECK(cudaMalloc(&scratch, n * sizeof(float)));
  cudaError_t status = launch(x, n, stream);
  if (status != cudaSuccess) fprintf(stderr, "failed: %s\n", cudaGetErrorString(status));
  int blocks = (n + 255) / 256, rest = n % 256;
  auto [first, last] = std::pair<int, int>(0, blocks + rest);
  for (int start = first; start < last; ++start) {
    float* expected = scratch + start;
    CUDA_CHECK(cudaMemcpyAsync(expected, x, sizeof(float), cudaMemcpyDeviceToDevice, stream));
  }
  { int host = 3; (void)host; }
  ncclResult_t sent = ncclAllReduce(x, x, n, ncclFloat, ncclSum, comm, stream);
  if (sent != ncclSuccess) MPI_Abort(MPI_COMM_WORLD, 2);"""


def test_honest_code_is_not_accused() -> None:
    assert refusals(program(HONEST_KERNELS, HONEST_PIPELINE), TRUSTED) == []


@pytest.mark.parametrize(
    "text",
    [
        "#define TILE 64",
        "#if TILE == 32\n__device__ int a;\n#endif",
        "#ifdef MY_OWN_SWITCH\n__device__ int a;\n#endif",
        "#if TOKENS > 16 && TILE * 2 >= 0x40\n__device__ int a;\n#endif",
        "#undef TILE\n#define TILE 16",
        "namespace cg = cooperative_groups;",
        "const int kA = 3, kB = 4;\nstatic int sizes[kB] = {kA, kB};",
        "__device__ float send(float x) { return x; }\n__device__ float g() { return send(1.0f); }",
        "__device__ float* buffer = nullptr;\nstatic cudaStream_t side = nullptr;",
        "template <class F> void each(int n, F f) { for (int i = 0; i < n; ++i) f(i); }",
        "static void f(std::vector<float>& v) { std::sort(v.begin(), v.end()); }",
        "__device__ float reduce(float x) { return x; }\n__device__ float g() { return reduce(1); }",
        "__device__ float g(float x) { auto merge = [=] { return std::max(x, 0.0f); }; return merge(); }",
        "[[nodiscard]] __host__ __device__ constexpr int up(int a) { return (a + 31) / 32 * 32; }",
    ],
)
def test_ordinary_additions_are_not_accused(text: str) -> None:
    assert added(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "__device__ int f(bool a, bool b, bool c) { bool t = a ? b : c, u = b && c; return t + u; }",
        "__device__ int f(int a) { int t = a ? a > 1 ? 2 : 3 : 4, u = t ? 1 : 2, v = u; return v; }",
        "__device__ int f(int a, int b) { bool t = a < b, u = b == a; return t + u; }",
        "__device__ int f(int a) { for (int i = 0; bool go = i < a; ++i) { if (!go) return 0; }"
        " return 1; }",
    ],
)
def test_further_declarators_are_known(text: str) -> None:
    assert added(text) == []


def test_behind_the_colon_of_a_label_nothing_is_declared() -> None:
    text = (
        "__device__ int f(int a) { switch (a) { case 1: int t = a; other, gone = 3; } return a; }"
    )
    assert added(text) != []
