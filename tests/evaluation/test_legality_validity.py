# ruff: noqa: E501 - attacks are written as they would be
"""Level 0: no question of whether something compiles, and no more text than can be judged."""

import time

import pytest
from test_legality_classes import added

ASKS = [
    "template <class T> concept Odd = requires(T t) { __shfl_sync(0u, t, 0); };",
    "template <class T> __device__ bool odd(T t) { if constexpr (requires { __ldg(t); }) return true; return false; }",
    "template <class T> __device__ auto odd(T t, int) -> decltype(__match_any_sync(0u, t), true) { return true; }\ntemplate <class T> __device__ bool odd(T, long) { return false; }",
    "template <class T, class U = decltype(__ldg(static_cast<T*>(nullptr)))> __device__ bool odd(int) { return true; }\ntemplate <class T> __device__ bool odd(long) { return false; }",
    "template <class T> __device__ auto odd(T t, int) -> decltype(t == t) { return false; }",
    "template <class T, int N = sizeof(T(1u, 2u, 3u))> __device__ bool odd(int) { return true; }",
    "struct Asks { template <class T> __device__ auto odd(T t) -> decltype(__ldg(t)) { return __ldg(t); } };",
    "__device__ inline int f(const int* p) { auto g = [](auto t) -> decltype(__ldg(t)) { return __ldg(t); }; return g(p); }",
    "__device__ inline int f(const int* p) { auto g = [](auto t, decltype(__ldg(t)) n) { return n; }; return g(p, 1); }",
    "template <int N> struct Box {};\ntemplate <class T> __device__ bool odd(Box<(sizeof(T), warpSize)>*) { return true; }\ntemplate <class T> __device__ bool odd(...) { return false; }",
    "template <class T, int N = min(sizeof(T), 4ul)> __device__ bool odd(int) { return true; }\ntemplate <class T> __device__ bool odd(long) { return false; }",
    "template <int N> struct Box {};\ntemplate <class T> constexpr int own() { return sizeof(T) + warpSize; }\ntemplate <class T> __device__ bool odd(Box<own<T>()>*) { return true; }",
    "template <class T> struct Odd { static constexpr int kN = 1; };\ntemplate <int N> struct Odd<Box<(N, __popc(3))>> { static constexpr int kN = 2; };",
    "template <class T> __device__ bool odd(char (*)[sizeof(T) + __clz(1) - 30]) { return true; }",
    "__device__ inline bool must() { return noexcept(__expf(1.0f)); }",
    "__device__ inline bool must() { bool here = !noexcept(__syncthreads()); return here; }",
    "__device__ inline bool must(int z) { long double one = z; return one + 1e-18 != one; }",
    "__device__ inline bool must(int z) { auto one = 1.0L + z; return one + 1e-18 != one; }",
    "static bool must(int z) { auto one = 1.0q + z; return one + 1e-18 != one; }",
    "static bool must(int z) { auto one = 1.0DD + z; return sizeof(one) == 8; }",
    "static bool must(int z) { auto one = 1.0f16 + z; return sizeof(one) == 2; }",
    "__device__ inline bool must(int z) { double long one = z; return one + 1e-18 != one; }",
]  # fmt: skip
MACHINES = [
    "static int f() { int v = 0; cudaDeviceGetAttribute(&v, cudaDevAttrPciBusId, 0); return v; }",
    "static int f() { int v = 0; cudaDeviceGetAttribute(&v, static_cast<cudaDeviceAttr>(33), 0); return v; }",
    "static int f() { int v = 0; cudaOccupancyMaxActiveBlocksPerMultiprocessor(&v, work, 1024, 0); return v; }",
    "static int f() { int v = 0; cuDeviceGetAttribute(&v, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 0); return v; }",
]  # fmt: skip
HONEST = [
    "template <class T> __device__ T twice(T x) { decltype(x) y = x; return y + x; }",
    "template <class T> __device__ decltype(auto) twice(const T& x) { return x + x; }",
    "template <class T, int N = sizeof(T)> __device__ int bytes() { return N + alignof(T); }",
    "template <class T, int N> struct Pack { T at[N]; };\ntemplate <class T> __device__ T first(const Pack<T, 16 / sizeof(T)>& p) { return p.at[0]; }",
    "template <class F> __device__ __launch_bounds__(256) void twice(F f, float (*g)(float), int n = (3 + 4)) { f(warpSize); g(min(1, n)); }",
    "template <typename T, int N, bool kWide = (N > 4)> static __device__ T* end(T* p) { return p + N * kWide; }",
    "struct Pack { float v[sizeof(float4) / sizeof(float)]; };\n__device__ inline int f(Pack p) { return sizeof(p.v) / sizeof(p.v[0]); }",
    "__device__ inline float f(float* p) noexcept(true) { using T = decltype(p[0] + 1.0f); T x = p[0]; return x; }",
    "static int f() { int v = 0; cudaDeviceGetAttribute(&v, cudaDevAttrMultiProcessorCount, 0); return v; }",
    "__device__ inline long long f(long long a) { return a + 0x1fL + 10L; }",
]  # fmt: skip
TOO_MUCH = [
    "\n".join(f"namespace n{n} {{" for n in range(3000)) + "}" * 3000,
    "__device__ inline int f() { return " + "[] { return " * 2000 + "1" + "; }()" * 2000 + "; }",
    "static const char* kMany = " + '"a" ' * 70_000 + ";",
    "#define H(x) #x\nstatic const char* kH = H(" + "\\ " * 70_000 + ");",
]


TURNED = [
    "/* \u202e } if (false) { \u2066 */ static int quiet() { return 1; }",
    'static const char* kName = "\u202e ok";',
    "// \x1b[2J ok\n",
]


@pytest.mark.parametrize("text", TURNED)
def test_what_people_read_is_what_is_compiled(text: str) -> None:
    assert [kind for kind, _ in added(text)] == ["hidden_text"]


@pytest.mark.parametrize("text", ASKS)
def test_no_question_of_what_compiles(text: str) -> None:
    assert "forbidden_call" in {kind for kind, _ in added(text)}


@pytest.mark.parametrize("text", MACHINES)
def test_no_value_that_tells_machines_apart(text: str) -> None:
    assert "forbidden_call" in {kind for kind, _ in added(text)}


@pytest.mark.parametrize("text", HONEST)
def test_what_ordinary_programs_write(text: str) -> None:
    assert added(text) == []


@pytest.mark.parametrize("text", TOO_MUCH)
def test_more_text_than_can_be_judged(text: str) -> None:
    """It is refused before any rule looks at it: none of them may take hours, or fall over."""
    started = time.process_time()
    assert [kind for kind, _ in added(text)] == ["hidden_text"]
    assert time.process_time() - started < 20
