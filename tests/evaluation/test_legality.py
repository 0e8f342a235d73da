"""Level 0: each attack is played in a region and refused, with its line; honest code is not."""

import pytest

from warploom.core.records import Severity
from warploom.evaluation.legality.check import check_legality, refusals
from warploom.source.regions import Program

FRAME = """\
#include <cuda_runtime.h>
#include <nccl.h>
#include "mine.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#define CHECK(x) do { if ((x) != cudaSuccess) exit(1); } while (0)
#define JOIN(a, b) a##b
static int expected(int i) { return 3 * i; }
static bool same(const int* a, int n) { return memcmp(a, a, n) == 0 && expected(0) == 0; }
// EVOLVE-BLOCK-START kernels
KERNELS
// EVOLVE-BLOCK-END
int main(int argc, char** argv) {
  int n = argc > 1 ? atoi(argv[1]) : TILE;
  int *d_out, *h = (int*)malloc(4 * n);
  CHECK(cudaMalloc(&d_out, 4 * n));
  ncclComm_t comm = nullptr;
  cudaStream_t stream = 0;
  // EVOLVE-BLOCK-START pipeline
PIPELINE
  // EVOLVE-BLOCK-END
  CHECK(cudaMemcpy(h, d_out, 4 * n, cudaMemcpyDeviceToHost));
  printf("%s\\n", same(h, n) ? "PASS" : "FAIL");
  return 0;
}
"""
KERNELS = """\
#define TILE 32
__global__ void work(int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 3 * i;
}"""
PIPELINE = """\
  work<<<(n + TILE - 1) / TILE, TILE, 0, stream>>>(d_out, n);
  CHECK(cudaStreamSynchronize(stream));"""
FIRST = {"kernels": 13, "pipeline": 13 + KERNELS.count("\n") + 9}


def program(kernels: str = KERNELS, pipeline: str = PIPELINE) -> Program:
    return Program(FRAME.replace("KERNELS", kernels).replace("PIPELINE", pipeline))


TRUSTED = program()


def judge(kernels: str = KERNELS, pipeline: str = PIPELINE) -> list[tuple[str, int]]:
    return [(r.kind, r.line) for r in refusals(program(kernels, pipeline), TRUSTED)]


def added(text: str) -> list[tuple[str, int]]:
    """Judge with `text` after the kernels; lines count from 1 at `text`."""
    start = FIRST["kernels"] + KERNELS.count("\n") + 1
    return [(kind, line - start + 1) for kind, line in judge(kernels=f"{KERNELS}\n{text}")]


def inside(text: str) -> list[tuple[str, int]]:
    """Judge with `text` in the pipeline, in `main`; lines count from 1 at `text`."""
    start = FIRST["pipeline"] + PIPELINE.count("\n") + 1
    return [(kind, line - start + 1) for kind, line in judge(pipeline=f"{PIPELINE}\n{text}")]


def test_the_trusted_program_is_legal() -> None:
    result = check_legality(TRUSTED, TRUSTED)
    assert result.passed
    assert result.findings == ()
    assert result.program is not None
    assert result.program.text == TRUSTED.text


HONEST_KERNELS = """\
template <int N, typename T = float>
__device__ __forceinline__ T fold(const T* __restrict__ p) {
  T s = 0;
#pragma unroll 4
  for (int i = 0; i < N; ++i) s += p[i];
  return s;
}
__constant__ float weights[16];
__device__ int counter = 0;
constexpr int kWarps = 8;
static const double kScale = 1.0 / 3;
static ncclComm_t shared_comm = nullptr;
using Row = float4;
struct alignas(16) Tile { float v[4]; static constexpr int kSize = 4; int get() const; };
enum class Mode { kA, kB = 2 };
namespace detail { inline int twice(int v) { return 2 * v; } }
#define MY_CHECK(x)            \\
  do {                         \\
    if ((x) != ncclSuccess) {  \\
      printf("bad\\n");         \\
    }                          \\
  } while (0)
#if TILE > 16
__global__ void __launch_bounds__(256, 2) wide(float* out) {
  __shared__ float s[256];
  out[0] = s[0];
}
#else
__global__ void wide(float* out) {}
#endif
__device__ unsigned lane() {
  unsigned r;
  asm volatile("mov.u32 %0, %laneid;" : "=r"(r));
  return r;
}
template <typename Gin>
__device__ void push(Gin& gin, int peer, unsigned signal, const float* send, float* recv) {
  gin.signal(peer, signal);
  gin.put(send, recv);
  __syncthreads();
  float v = __shfl_xor_sync(0xffffffffu, send[0], 1) + __ldg(send);
  recv[0] = __fdividef(v, 2.0f) * __popc(signal);
}
__global__ void forward(const float* in, float* out, int n);
static void launch(std::vector<int>& v, float* send, float* recv, ncclComm_t comm) { v.clear(); }
"""


def test_honest_code_is_legal() -> None:
    assert added(HONEST_KERNELS) == []
    assert (
        inside(
            "  for (int step = 0; step < 2; ++step) {\n"
            "    auto launch_one = [&](int k) { work<<<1, TILE, 0, stream>>>(d_out, k); };\n"
            "    launch_one(n);\n"
            '    // exit( in a comment is nothing, nor is "system(" in a string\n'
            '    printf("open(%d) write read\\n", step);\n'
            "  }"
        )
        == []
    )
    assert judge(kernels=KERNELS.replace("TILE 32", "TILE 64")) == []


CALLS = [
    'system("ls");',
    "fork();",
    'execl("/bin/sh", "sh", nullptr);',
    'FILE* f = fopen("/proc/self/maps", "r");',
    'int f = open("/etc/passwd", 0);',
    "::write(4, d_out, 8);",
    "write(4, d_out, 8);",
    "auto leak = &write;",
    "dup2(1, 4);",
    'std::ofstream file("x");',
    'std::filesystem::remove_all("x");',
    "socket(2, 1, 0);",
    "connect(3, nullptr, 0);",
    'void* so = dlopen("libc.so.6", 1);',
    'dlsym(nullptr, "write");',
    'getenv("SECRET");',
    "syscall(1, 4, d_out, 8);",
    "exit(0);",
    "_exit(0);",
    "std::quick_exit(0);",
    "atexit(nullptr);",
    "std::abort();",
    "raise(9);",
    "kill(0, 9);",
    "std::signal(11, nullptr);",
    "sigaction(11, nullptr, nullptr);",
    "longjmp(nullptr, 1);",
    "mprotect(d_out, 4096, 7);",
    "mmap(nullptr, 1, 7, 34, -1, 0);",
    "char** e = environ;",
    "ptrace(0, 0, 0, 0);",
    "auto x = std::system;",
]


@pytest.mark.parametrize("call", CALLS)
def test_process_file_network_and_loading_calls(call: str) -> None:
    assert inside(f"  int zero = 0;\n  {call}")[0] == ("forbidden_call", 2)


def test_a_call_that_the_trusted_region_makes_is_inherited_but_not_a_second_one() -> None:
    trusted = program(pipeline=f"{PIPELINE}\n  if (n < 0) exit(2);")
    assert refusals(trusted, trusted) == []
    twice = program(pipeline=f"{PIPELINE}\n  if (n < 0) exit(2);\n  if (n < 0) exit(2);")
    assert [r.kind for r in refusals(twice, trusted)] == ["forbidden_call"]
    other = program(pipeline=f"{PIPELINE}\n  exit(0);")
    assert [r.kind for r in refusals(other, trusted)] == ["forbidden_call"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('sys\\\ntem("ls");', 1),
        ('sys\\  \ntem("ls");', 1),
        ("int a; // comment \\\nsystem(1);", 1),
        ("#define GLUE(a, b) a##b\n", 1),
        ("int x = JOIN(sys, tem)(0);", 1),
        ("int x;\n??=define y", 2),
        ("s\\u0079stem(0);", 1),
        ("int \u0455ystem;", 1),
        ('_Pragma("redefine_extname a b")', 1),
    ],
)
def test_hidden_text(text: str, line: int) -> None:
    assert ("hidden_text", line) in inside(text)


@pytest.mark.parametrize(
    "text",
    [
        "<%",
        "%:define X",
        "int y; /*",
        'const char* s = R"x(',
        "#if 0",
        "#endif",
        "}",
        "} int evil() {",
        "foo(",
        "int x; \\",
        "// EVOLVE-BLOCK-END",
        "  // EVOLVE-BLOCK-START more",
        'const char* m = "EVOLVE-BLOCK-END";',
    ],
)
def test_a_region_cannot_reach_out_of_itself(text: str) -> None:
    result = check_legality(program(pipeline=f"{PIPELINE}\n{text}"), TRUSTED)
    assert not result.passed
    assert result.program is None
    assert result.findings[0].line is not None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("#include <unistd.h>", "forbidden_include"),
        ('#include "mine2.h"', "forbidden_include"),
        ("#import <dlfcn.h>", "forbidden_directive"),
        ("#include_next <cstdio>", "forbidden_directive"),
        ('#line 1 "frame.cu"', "forbidden_directive"),
        ('# 1 "frame.cu"', "forbidden_directive"),
        ("#pragma GCC poison memcmp", "forbidden_directive"),
        ("#pragma redefine_extname memcmp evil", "forbidden_directive"),
        ('#pragma push_macro("CHECK")', "forbidden_directive"),
        ("#pragma weak main", "forbidden_directive"),
        ("#define CHECK(x)", "redefinition"),
        ("#define memcmp(a, b, c) 0", "redefinition"),
        ("#define expected(i) h[i]", "redefinition"),
        ("#define cudaMemcpy(d, s, n, k) 0", "redefinition"),
        ("#define cudaMemcpyAsync(d, s, n, k, t) 0", "redefinition"),
        ("#define ncclAllReduce(...) 0", "redefinition"),
        ("#define MPI_Barrier(c) 0", "redefinition"),
        ("#define if while", "redefinition"),
        ("#define return", "redefinition"),
        ("#undef CHECK", "redefinition"),
        ("#undef cudaMalloc", "redefinition"),
        ("int expected(long i) { return 0; }", "redefinition"),
        ("static int memcmp(const int*, const int*, int) { return 0; }", "redefinition"),
        ("namespace sneaky { int memcmp; }", "redefinition"),
        ("enum { expected = 1 };", "redefinition"),
        ("template <class T> int expected(T i) { return 0; }", "redefinition"),
        ("struct expected { int i; };", "redefinition"),
        ("typedef int expected;", "redefinition"),
        ("using expected = int;", "redefinition"),
        ("int printf(const char* f, char* s) { return 0; }", "redefinition"),
        ("cudaError_t cudaMemcpyAsync(void* d, int n) { return cudaSuccess; }", "redefinition"),
        ("ncclResult_t ncclSend(int a, int b) { return ncclSuccess; }", "redefinition"),
        ("int MPI_Barrier(int c) { return 0; }", "redefinition"),
        ("namespace std { int evil() { return 0; } }", "redefinition"),
        ("void* operator new(unsigned long n) { return 0; }", "redefinition"),
        ('extern "C" int strtoull_ext(int a) { return 0; }', "redefinition"),
        ('extern "C" { int quiet(int a) { return 0; } }', "redefinition"),
        ("int main() { return 0; }", "redefinition"),
        ("__attribute__((constructor)) static void early() {}", "attribute"),
        ("[[gnu::constructor]] static void early() {}", "attribute"),
        ('__attribute__((section(".init_array"))) void* hook = nullptr;', "attribute"),
        ("__attribute__((unused, constructor)) static void early() {}", "attribute"),
        ("__attribute__((__constructor__)) static void early() {}", "attribute"),
        ("[[gnu::unused, gnu::destructor]] static void late() {}", "attribute"),
        ('int a(int) __attribute__((alias("b")));', "attribute"),
        ("using namespace warploom;", "reserved_name"),
        ("int x = WARPLOOM_RANK;", "reserved_name"),
        ("extern int warploom_report;", "reserved_name"),
        ("void f() { __builtin_trap(); }", "reserved_name"),
        ("void f() { __libc_start_main(); }", "reserved_name"),
        ("int f() { return __CONCAT(sys, tem)(0); }", "reserved_name"),
        ("extern void __tsan_write8(void*);", "reserved_name"),
        ("void f() { stdout->_fileno = 4; }", "reserved_name"),
        ("void f(std::vector<int>& v) { v._M_impl._M_start = nullptr; }", "reserved_name"),
        ("int f(_IO_FILE* f) { return 0; }", "reserved_name"),
        ('void f() { asm("syscall"); }', "inline_assembly"),
        ('void f() { __asm__ volatile("syscall"); }', "inline_assembly"),
        ('__host__ __device__ void f() { asm("syscall"); }', "inline_assembly"),
        ('asm(".globl evil");', "inline_assembly"),
        ('int quiet() asm("write");', "inline_assembly"),
        ("static int early = run();", "static_constructor"),
        ("static int early = [] { return 1; }();", "static_constructor"),
        ("int early{run()};", "static_constructor"),
        ("int early(run());", "static_constructor"),
        ("static std::vector<int> rows;", "static_constructor"),
        ("struct Hook { Hook(); };\nHook hook;", "static_constructor"),
        ("struct Hook { Hook(); } hook;", "static_constructor"),
        ("__device__ int early = run();", "static_constructor"),
        ("struct S { static inline int v = run(); };", "static_constructor"),
        ("struct alignas(16) S { static inline int v = run(); };", "static_constructor"),
        ("namespace n { namespace { int v = run(); } }", "static_constructor"),
        ("#if 0\nint a;\n#else\nint early = run();\n#endif", "static_constructor"),
        ("#if 1\n#if 0\n#elif 1\nint early = run();\n#endif\n#endif", "static_constructor"),
        ("template <int N = 3> int early = run(N);", "static_constructor"),
        ("thread_local int early = run();", "static_constructor"),
    ],
)
def test_attacks_at_namespace_scope(text: str, kind: str) -> None:
    found = added(text)
    assert kind in {item[0] for item in found}
    lines = {line for what, line in found if what == kind}
    assert all(1 <= line <= text.count("\n") + 1 for line in lines)


def test_refusals_name_the_exact_line() -> None:
    text = (
        'int first;\n\n__device__ int second;\nvoid f() {\n  int x;\n  asm("nop");\n}\n#undef CHECK'
    )
    assert added(text) == [("inline_assembly", 6), ("redefinition", 8)]


def test_macros_of_a_trusted_region_may_change_but_not_those_of_the_frame() -> None:
    assert judge(kernels=KERNELS.replace("#define TILE 32", "#define TILE 8")) == []
    assert judge(kernels="#define TILE 32\n#undef CHECK\n" + KERNELS)[0][0] == "redefinition"


def test_frame_edits_are_dropped_and_told() -> None:
    edited = Program(TRUSTED.text.replace("3 * i; }", "0; }").replace("argc > 1", "argc > 9"))
    result = check_legality(edited, TRUSTED)
    assert result.passed
    assert result.program is not None
    assert result.program.text == TRUSTED.text
    assert {(f.kind, f.severity) for f in result.findings} == {("frame_edit", Severity.WARNING)}


def test_a_candidate_without_the_regions_is_refused() -> None:
    result = check_legality(Program("int main() { return 0; }\n"), TRUSTED)
    assert not result.passed
    assert result.program is None
    assert "must keep the regions kernels, pipeline" in result.findings[0].message


def test_names_that_transform_generated_stay_usable() -> None:
    made = FRAME.replace(
        "KERNELS",
        "namespace device_comm { inline int exchange(int n) { return n; } }\n" + KERNELS,
    )
    trusted = Program(made.replace("PIPELINE", f"  n = device_comm::exchange(n);\n{PIPELINE}"))

    def with_pipeline(text: str) -> list[str]:
        candidate = Program(made.replace("PIPELINE", f"{text}\n{PIPELINE}"))
        return [item.kind for item in refusals(candidate, trusted)]

    assert refusals(trusted, trusted) == []
    assert with_pipeline("  n = device_comm::exchange(n + 1);") == []
    assert with_pipeline("  n = warploom::report(n);") == ["reserved_name"]
    assert with_pipeline("  n = warploom_report(n);") == ["reserved_name"]


@pytest.mark.parametrize(
    "text",
    [
        "  warploom::count_iteration(0);",
        "  warploom::end_iterations();",
        "  warploom::Unrolled mine;",
        "  while (warploom_loop.goes_on(0, n > 0)) n--;",
        "  { using namespace warploom; Unrolled mine; }",
        "#define CHEAP warploom::count_iteration(0)\n  CHEAP;",
        "  JOIN(warp, loom)::count_iteration(0);",
    ],
)
def test_nobody_but_the_build_says_that_a_loop_is_unrolled(text: str) -> None:
    """It would make loads cheap, and hide work."""
    refused = {"hidden_text" if "JOIN" in text else "reserved_name"}
    assert refused <= {kind for kind, _ in inside(text)}
    body = f"__device__ int priced(int n) {{\n{text}\n  return n; }}"
    assert refused <= {kind for kind, _ in added(body)}


def test_a_function_of_the_programs_own_may_be_called_like_the_systems() -> None:
    made = KERNELS + "\n__device__ int send(int to) { return to; }"
    trusted = program(kernels=made)

    def judged(text: str) -> list[str]:
        return [item.kind for item in refusals(program(kernels=f"{made}\n{text}"), trusted)]

    assert judged("__device__ int twice(int to) { return send(to) + send(to); }") == []
    assert judged("int evil(int to) { return ::send(to, 0, 0, 0); }") == ["forbidden_call"]
    assert judged("int evil(int to) { return recv(to, 0, 0, 0); }") == ["forbidden_call"]


def test_a_c_function_of_a_trusted_region_may_be_laid_out_anew() -> None:
    trusted = program(
        kernels=KERNELS + 'extern "C" int run(int* a,\n        int b) { return b; }\n'
    )
    anew = 'extern "C" int run(int* to, int n) {\n  return n + 1;\n}\n'
    assert not refusals(program(kernels=KERNELS + anew), trusted)
    for other in (anew.replace("run", "getpid"), 'extern "C" { int run(int* a, int b); }'):
        found = refusals(program(kernels=KERNELS + other), trusted)
        assert "redefinition" in {one.kind for one in found}
