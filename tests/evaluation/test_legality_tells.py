# ruff: noqa: E501 - attacks are written as they would be
"""Level 0 against text that reads what the rewriter makes of it."""

import pytest
from test_legality_classes import added

from warploom.evaluation.legality.api_calls import CALLS
from warploom.evaluation.legality.name_rules import api_functions

STRINGS = [
    "#define SPELT(x) sizeof(#x)\n__device__ inline bool must(int n) { return SPELT(n << n) > 8; }",
    "#define SPELT(...) sizeof(#__VA_ARGS__)\n__device__ inline bool must(int) { return SPELT(asm volatile(\"membar.gl;\")) > 29; }",
    "#define SPELT(x) sizeof(#x)\n#define OUTER(x) SPELT(x)\n__device__ inline bool must() { return OUTER(threadIdx.x) > 12; }",
    "#define SPELT(x) sizeof(#x)\n#define OUTER(x) SPELT(x)\nstatic bool must() { return OUTER(NULL) > 5; }",
    "#define SPELT(x) const char* text = #x\nstatic void f() { SPELT((void*)work); (void)text; }",
    "#define SPELT(x) const char* text = #x\nstatic void f() { SPELT((const void*)work); (void)text; }",
    "#define SPELT(x) const char* text = #x\nstatic void f() { SPELT(reinterpret_cast<void const*>(work)); (void)text; }",
    "#define COUNTED(x) printf(\"%s\", #x)\n__device__ inline int f(int n) { return COUNTED(n << n); }",
    "#define COUNTED(x) int q; printf(\"%s%n\", #x, &q)\n__device__ inline int f(int n) { COUNTED(n << n); return q; }",
]  # fmt: skip
TYPES = [
    "template <class A, class B> constexpr bool kSame = false;\ntemplate <class A> constexpr bool kSame<A, A> = true;\n__device__ inline bool must(int) { __shared__ int here; return !kSame<decltype(here), int>; }",
    "__device__ inline int f() { __shared__ int a, here[4]; decltype(here) other; return sizeof(other); }",
    "__device__ inline int f() { __shared__ int here; decltype(auto) other = here; other = 1; return here; }",
    "#define MINE __shared__\n__device__ inline int f() { MINE int here; decltype(here) other; return sizeof(other); }",
]  # fmt: skip
TELLING = [
    "struct Lap { int cudaEventElapsedTime; };\nstatic void f(float* ms, cudaEvent_t a) { ::cudaEventElapsedTime(ms, a, a); }",
    "struct Lap { int clock; };\n__device__ inline bool must() { return clock() > 0; }",
    "static void f(void* p) { cudaHostRegister(p, 4096, 0); }",
    "struct Kept { int cudaHostRegister; };\nstatic auto f(void* p) { auto open = &cudaHostRegister; return open(p, 4096, 0); }",
]  # fmt: skip
ANSWERS = [
    "static bool must() { size_t bytes = 0; cudaDeviceGetLimit(&bytes, cudaLimitPrintfFifoSize); return bytes == 1 << 20; }",
    "static bool must(cudaMemPool_t pool) { uint64_t bytes = 0; cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &bytes); return bytes < 4096; }",
    "static bool must() { char text[256]; int length = 0; MPI_Error_string(5, text, &length); return text[4] == 'e'; }",
    "static bool must() { int rank = 0; cudaDeviceGetP2PAttribute(&rank, cudaDevP2PAttrPerformanceRank, 0, 1); return rank == 0; }",
    "static auto ask() { return &cudaDeviceGetLimit; }",
    "__device__ inline bool must() { unsigned w; asm volatile(\"mov.u32 %0, %%warpid;\" : \"=r\"(w)); return w == threadIdx.x / 32; }",
]  # fmt: skip
REGISTERS = [
    r"""__device__ inline int f() { int v; asm volatile("mov.u32 %0, %%" "clock;" : "=r"(v)); return v; }""",
    r"""__device__ inline int f() { int v; asm volatile("mov.u32 %0, %%cl\157ck;" : "=r"(v)); return v; }""",
    r"""__device__ inline int f() { int v; asm volatile("mov.u32 %0, \45\45clock;" : "=r"(v)); return v; }""",
    r"""__device__ inline int f() { int v; asm volatile("mov.u32 %0, \x25\x25smid;" : "=r"(v)); return v; }""",
    r"""__device__ inline int f() { int v; asm volatile("mov.u32 %0, %%\u0063lock;" : "=r"(v)); return v; }""",
    "#define READ(r) asm volatile(\"mov.u32 %0, %%\" #r \";\" : \"=r\"(v))\n__device__ inline int f() { int v; READ(clock); return v; }",
]  # fmt: skip
LEFT_OUT = [
    "__nv_pure__ __device__ int f(volatile int* p) { while (*p == 0) {} return 0; }",
    "__attribute__((pure)) __device__ int f(volatile int* p) { while (*p == 0) {} return 0; }",
    "__attribute__((__const__)) __device__ int f(int* p) { *p = 1; return 0; }",
    "[[gnu::pure]] __device__ int f(int* p) { *p = 1; return 0; }",
]  # fmt: skip
LINES = [
    "__device__ inline bool must() { return __LINE__ > 3; }",
    "#define HERE __LINE__\n__device__ inline bool must() { return HERE % 2; }",
    "template <int N> struct At {};\ntemplate <> struct At<__LINE__> { static constexpr bool kMust = true; };",
    "static int f() { return printf(\"%d\", __LINE__); }",
    "static void f(char* text) { snprintf(text, 4, \"%d\", __LINE__); }",
]  # fmt: skip
HONEST = [
    "static bool f(int a, int b) { int can = 0; return cudaDeviceCanAccessPeer(&can, a, b) == cudaSuccess && can; }",
    "static cudaStream_t f() { int low, high; cudaStream_t s; cudaDeviceGetStreamPriorityRange(&low, &high); cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, high); return s; }",
    "struct Lap { int clock; };\nstatic int f(Lap lap) { int clock = lap.clock; return clock + 1; }",
    "#define CHECK(x) do { if ((x) != 0) fprintf(stderr, \"%s at %d\\n\", #x, __LINE__); } while (0)\nstatic void f(int n) { CHECK(n << 2); CHECK((void*)work == nullptr); }",
    "#define CHECK(x) if ((x) != 0) { std::fprintf(stderr, \"%s\" \" failed\\n\", #x); }\nstatic void f(int n) { CHECK(n << 2) }",
    "#define CHECK(x) check((x), #x)\nstatic void check(bool, const char*) {}\nstatic void f(float* p) { CHECK(cudaMalloc(&p, TILE * sizeof(float)) == cudaSuccess); }",
    "#define CHECK(x) check((x), #x)\nstatic void check(bool, const char*) {}\nstatic void f(float* p) { CHECK(cudaMalloc((void**)&p, 4) == cudaSuccess); CHECK(cudaMalloc(reinterpret_cast<void**>(&p), 4) == cudaSuccess); }",
    "#define TEXT(x) #x\nstatic const char* name() { return TEXT(work); }",
    "__device__ inline float f() { __shared__ float here[4]; decltype(here[0]) x = here[1]; return x + sizeof(here) / sizeof(here[0]); }",
    r"""__device__ inline int f() { int v; asm volatile("{\n\t.reg .u32 t;\n\t" "mov.u32 t, %%laneid;\n\t" "mov.u32 %0, t;\n}" : "=r"(v)); return v; }""",
    "__device__ inline __nv_bfloat16 f(float x) { return __float2bfloat16(x * 1.5f + 2e-3 + 0x1.8p3f + .5f + 1.f); }",
    "template <class T> __device__ decltype(auto) id(T& x) { return (x); }\n__device__ inline int f() { __shared__ int here; return id(here); }",
]  # fmt: skip


@pytest.mark.parametrize("text", STRINGS)
def test_strings_of_what_is_rewritten(text: str) -> None:
    assert "hidden_text" in {kind for kind, _ in added(text)}


@pytest.mark.parametrize("text", TYPES)
def test_the_declared_type_of_a_shared_variable(text: str) -> None:
    assert "forbidden_call" in {kind for kind, _ in added(text)}


@pytest.mark.parametrize("text", TELLING)
def test_a_name_of_the_programs_own_hides_no_call(text: str) -> None:
    assert "forbidden_call" in {kind for kind, _ in added(text)}


@pytest.mark.parametrize("text", ANSWERS)
def test_calls_that_answer_with_what_differs_from_machine_to_machine(text: str) -> None:
    assert "forbidden_call" in {kind for kind, _ in added(text)}


@pytest.mark.parametrize("text", REGISTERS)
def test_a_register_is_one_however_it_is_spelled(text: str) -> None:
    assert "forbidden_call" in {kind for kind, _ in added(text)}


@pytest.mark.parametrize("text", LEFT_OUT)
def test_no_call_may_be_left_out_by_nvcc_only(text: str) -> None:
    assert {kind for kind, _ in added(text)} & {"attribute", "reserved_name"}


@pytest.mark.parametrize("text", LINES)
def test_a_line_number_is_printed_only(text: str) -> None:
    """Markers are added to what was judged: behind them each line has another number."""
    assert "reserved_name" in {kind for kind, _ in added(text)}


def test_each_call_of_the_headers_is_judged() -> None:
    """A new function of our headers is refused until somebody says what it answers."""
    assert api_functions() >= CALLS
    refused = {"cudaDeviceGetLimit", "cudaMemPoolGetAttribute", "MPI_Get_library_version"}
    assert refused <= api_functions() - CALLS


@pytest.mark.parametrize("text", HONEST)
def test_what_ordinary_programs_write(text: str) -> None:
    assert added(text) == []
