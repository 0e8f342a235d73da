"""CUDA text becomes C++ with the same lines and the same meaning."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from overlays import compiled, output, rewritten, text_of

from warploom.emulator.rewriting.unsupported import MARK, is_api_header, is_api_name
from warploom.emulator.tokens import tokenize

LAUNCHES = r"""
#include <utility>
namespace ns { namespace in {
__global__ void k(int* p, int v) { p[blockIdx.x * blockDim.x + threadIdx.x] += v; }
template <class T, int N> __global__ void t(T* p, T* q) { p[0] += N; if (q) abort(); }
} }
template <class T> __global__ void deduced(T* p, T v) { *p += v; }
#define LAUNCH(kernel, g, ...) do { kernel<<<g, 1>>>(__VA_ARGS__); } while (0)
#define PASTE(n) ns::in::k<<<1, \
    2>>>(p, n)
#define CHECK(x) do { if ((x) != 0) exit(3); } while (0)
typedef void (*Kernel)(int*, int);
struct Holder { Kernel f; Kernel many[2]; void go(int* p) { f<<<1, 1>>>(p, 1);
  this->f<<<1, 1>>>(p, 1);
  many[1]<<<1,1>>>(p, 1); } };
template <int N, class F> void through(F f, int* p) {
  f<<<1, N>>>(p, 1);
  ns::in::t<int, N * 2><<<1, 1>>>(p, NULL);
  auto lambda = [&] { ns::in::t<int, (N > 1 ? 3 : 4)> <<<dim3(1), dim3(1)>>> (p, NULL); };
  lambda();
}
void by_parameter(Kernel f, int* p) { (*f)<<<1, 1>>>(p, 1); (f)<<<1, 1>>>(p, 1); }
int main() {
  int p[64] = {}; cudaStream_t stream = (cudaStream_t)8; int grid = 2;
  ns::in::k<<<grid, 2>>>(p, 1);
  ::ns::in::k<<<dim3(grid, 1), dim3(2), 16 * sizeof(int), stream>>>(p,
      /* comment */ 1);
  if (grid) ns::in::k<<<1, 1, 0, NULL>>>(p, 1); else ns::in::k<<<1, 1>>>(p, 100);
  LAUNCH(ns::in::k, 1, p, 1);
  PASTE(1);
  through<2>(ns::in::k, p);
  by_parameter(ns::in::k, p);
  Holder h{ns::in::k, {ns::in::k, ns::in::k}}; h.go(p);
  Kernel local = grid ? ns::in::k : nullptr;
  local
    <<<1, // blocks
       1
    >>>(p, 1);
  (grid ? ns::in::k : local)<<<1, 1>>>(p, 1);
  deduced<<<1, 1>>>(p + 60, 5);
  double d = 0; deduced<double><<<1, 1>>>(&d, 2.5);
  const char* s = "k<<<1,1>>>(p)"; /* k<<<1,1>>>(p); */ // k<<<1,1>>>(p);
  printf("\n%d %d %d %d line %d %g %s\n", p[0], p[1], p[2], p[60], __LINE__, d, s);
}
"""


def test_launches_of_every_form_run(tmp_path: Path):
    line = LAUNCHES[: LAUNCHES.index("line %d")].count("\n") + 1
    first, last = output(tmp_path, LAUNCHES).strip().split("\n")
    assert last == f"20 4 2 5 line {line} 2.5 k<<<1,1>>>(p)"
    assert first.startswith("[ns::in::k g2 b2 s0 st0][::ns::in::k g2 b2 s64 st1]")
    # A macro's parameter shows the kernel that it was called with.
    assert first.count("[ns::in::k g1 b1 s0 st0]") == 2 and "[kernel " not in first
    assert "[deduced<double> " in first and "[many[1] " in first


SHARED = r"""
extern __shared__ __align__(16) unsigned char outer[];
__shared__ int file_scope[4];
namespace cub_like { template <class T, int N> struct Reduce { struct TempStorage { T t[N]; }; }; }
__device__ int helper() { outer[1] = 7; file_scope[2] = 5; return outer[1]; }
__host__ int host_helper() { int outer = 3; return outer; }
template <class T, int N> __global__ void k(T* out) {
  __shared__ float s[256], t;
  static __shared__ T tile[N][N + 1];
  volatile __shared__ int counter;
  __shared__ volatile unsigned long long u, *pu;
  __shared__ typename cub_like::Reduce<T, N>::TempStorage storage;
  __shared__ union { float f; unsigned bits; } both;
  __shared__ __align__(64) char aligned_one[3], second;
  __shared__ alignas(sizeof(double) * 4) float
      lines[2];
  float __shared__ after[2];
  __shared__ int (*pointer)[4];
  extern __shared__ T dynamic[];
  if (threadIdx.x == 0) { counter = 0; t = 0; both.f = 1.0f; pointer = &file_scope; }
  s[threadIdx.x] = threadIdx.x; counter = counter + 1; dynamic[threadIdx.x] = 1;
  t += s[threadIdx.x];
  tile[1][N] = 9; storage.t[0] = 2; after[1] = 4; u = 1; pu = &u;
  static_assert(sizeof(s) == 1024 && sizeof(tile) == N * (N + 1) * sizeof(T), "");
  auto by_reference = [&] { s[0] = 11; };
  if (threadIdx.x == blockDim.x - 1) {
    by_reference();
    out[0] = counter; out[1] = t; out[2] = s[0]; out[3] = tile[1][N]; out[4] = both.bits >> 20;
    out[5] = helper(); out[6] = (*pointer)[2] + file_scope[2];
    out[7] = ((size_t)aligned_one % 64) == 0;
  }
}
template <class T> __global__ void other(T* out) { __shared__ int s; out[blockIdx.x] = s++; }
#define BUFFER(T, name, n) __shared__ T name[n]
__global__ void macro(int* out) { BUFFER(int, a, 2); BUFFER(float, b, 3);
  a[1] = 1; b[2] = 2; out[0] = a[1] + b[2]; }
__global__ void dynamic2(float* out) {
  label: extern __shared__ float rows[][4]; rows[2][1] = 3; out[0] = rows[2][1]; }
int main() {
  int o[8]; k<int, 3><<<1, 8, 64>>>(o);
  printf("\n"); for (int v : o) printf("%d ", v);
  int i[2]; float f[2]; other<<<2, 1>>>(i); other<<<2, 1>>>(f);
  macro<<<1, 1>>>(o); dynamic2<<<1, 1>>>(f + 1);
  printf("\n%d %d %d %d %g line %d", i[0], i[1], o[0], host_helper(), f[1], __LINE__);
}
"""


def test_shared_variables_of_every_form_work(tmp_path: Path):
    lines = output(tmp_path, SHARED).split("\n")
    assert lines[1].startswith("8 28 11 9 1016 7 10 ")
    # Each template instantiation and each block has its own.
    number = SHARED[: SHARED.index("line %d")].count("\n") + 1
    assert lines[2] == f"0 0 3 3 3 line {number}"


def test_lines_and_columns_before_an_edit_stay(tmp_path: Path):
    for code in (LAUNCHES, SHARED):
        text = text_of(rewritten(tmp_path, code)).split("\n", 1)[1]
        assert text.count("\n") == code.count("\n")
        for old, new in zip(code.split("\n"), text.split("\n"), strict=True):
            if not re.search("<<<|>>>|__shared__|outer|local$|^ *lines", old):
                assert old in re.sub(r" ::warploom::check_parameters<.*?>\(\);", "", new)


def test_an_initialized_shared_variable_is_left_to_the_compiler(tmp_path: Path):
    assert "__shared__ int x = 3;" in text_of(
        rewritten(tmp_path, "__global__ void k() { __shared__ int x = 3; }")
    )


PTX = r"""
__device__ unsigned lane() { unsigned r; asm volatile("redux.sync.add.u32 %0, 1, ~0;" : "=r"(r));
  return r; }
template <class T> __device__ void unused(T v) { asm("cp.async.commit_group;"); }
static __device__ void also_unused() { asm volatile("exit;"); }
__global__ void k(int* p) { *p = 1; asm volatile("" ::: "memory");
#if USE
  *p = lane();
#endif
}
int main() { int v; unsigned lo, hi; asm volatile("rdtsc" : "=a"(lo), "=d"(hi)); k<<<1, 1>>>(&v); }
"""


def test_ptx_fails_the_compile_with_its_text_and_line(tmp_path: Path):
    done = compiled(
        tmp_path,
        rewritten(
            tmp_path, PTX.replace("__device__ unsigned", "static unsigned").replace("USE", "1")
        ),
    )
    assert done.returncode != 0
    assert re.search(rf"prog\.cu:2:\d+: error: .*{MARK} inline PTX: redux\.sync\.add", done.stderr)


def test_ptx_that_is_not_compiled_and_host_assembly_do_no_harm(tmp_path: Path):
    code = PTX.replace("__device__ unsigned", "static inline unsigned").replace("USE", "0")
    done = compiled(tmp_path, rewritten(tmp_path, code))
    assert done.returncode == 0, done.stderr


def test_a_launch_in_device_code_is_refused(tmp_path: Path):
    code = """
__global__ void child() {}
__global__ void parent() { child<<<1, 1>>>(); }
int main() { parent<<<1, 1>>>(); }
"""
    done = compiled(tmp_path, rewritten(tmp_path, code))
    assert re.search(rf"prog\.cu:3:\d+: error: .*{MARK} .*dynamic parallelism", done.stderr)


@pytest.mark.parametrize(
    "name",
    ["cudaGraphLaunch", "cuLaunchKernel", "ncclFoo", "MPI_Alltoallw",
     "__shfl_sync", "cub::BlockScan",
     "thrust::device_vector", "nvtxRangePush", "tex2D", "cublasSgemm", "atomicAdd_block", "float4"],
)  # fmt: skip
def test_api_names(name: str):
    assert is_api_name(name)


@pytest.mark.parametrize(
    "name", ["count", "customKernel", "current", "my_function", "cursor", "MPIX"]
)
def test_names_of_the_user(name: str):
    assert not is_api_name(name)


def test_api_headers():
    for name in (
        "cub/cub.cuh",
        "cublas_v2.h",
        "mma.h",
        "nvToolsExt.h",
        "cuda/barrier",
        "cuda_fp8.h",
    ):
        assert is_api_header(name), name
    for name in ("util.h", "common/timer.h", "custom_ops/attention.h", "nice.h"):
        assert not is_api_header(name), name


@given(st.text(alphabet="ab<>(){}[];:,#\"'/*\\\n _=&k1 ", max_size=80))
def test_any_text_keeps_its_lines(code: str):
    stream = tokenize(code.encode())
    assert all(code.encode()[t.start : t.end] == t.text for t in stream.tokens)


@given(st.lists(st.sampled_from(
    ["k", "<<<", ">>>", "(", ")", "1", ",", ";", "\n", "__shared__", "int", "[", "]", "extern",
     "#define", "asm", '"mov.u32 %0, 1;"', "{", "}", "<", ">", "::", "\\\n", "__global__", "void",
     " ", "NULL"]),
    max_size=40))  # fmt: skip
def test_no_text_breaks_the_rewrite_or_loses_a_line(
    tmp_path_factory: pytest.TempPathFactory, parts
):
    folder = tmp_path_factory.getbasetemp()
    code = "int x;" + "".join(parts)
    text = text_of(rewritten(folder, code, "fuzz.cu"))
    assert text.count("\n") == code.count("\n") + 1


def test_a_launch_within_the_configuration_of_another_is_one_launch(tmp_path: Path):
    text = text_of(rewritten(tmp_path, "int x;k<<<k<<<>>>(", "fuzz.cu"))
    assert text.count("launch_plain") == 1


def test_a_return_without_a_value_is_one_of_zero(tmp_path: Path):
    text = """#include <cstdio>
__global__ void k(int* p) { if (!p) return; *p = 1; }
unsigned long seven(bool sure) { if (!sure) return; return 7; }
float* none(bool now) { auto quiet = [&] { if (now) return; }; quiet(); return nullptr; }
int main(int count, char**) {
  if (count > 1) { return /* usage */; }
  k<<<1, 1>>>(nullptr);
  if (seven(false) || seven(true) != 7 || none(true)) return 1;
  return;
}
"""
    overlay = rewritten(tmp_path, text)
    assert text_of(overlay).count("return {}") == 3
    done = compiled(tmp_path, overlay)
    assert done.returncode == 0, done.stderr
    assert text_of(rewritten(tmp_path, text, "prog.cpp")).count("return {}") == 0
