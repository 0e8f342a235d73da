"""CUDA text becomes C++ with the same lines and the same meaning."""

import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warploom.core.errors import SourceError
from warploom.core.records import BuildSpec
from warploom.emulator.rewrite import Overlay, rewrite
from warploom.emulator.tokens import tokenize
from warploom.emulator.unsupported import MARK, is_api_header, is_api_name
from warploom.toolchain.compilers import find_compiler

# Runs each launch at once, thread after thread: enough to see that rewritten code means the same.
STUB = r"""
#pragma once
#define WARPLOOM_INLINED
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <type_traits>
#define __global__
#define __device__
#define __host__
#define __launch_bounds__(...)
#define __restrict__ __restrict
typedef struct CUstream_st* cudaStream_t;
struct dim3 { unsigned x, y, z; dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1)
  : x(a), y(b), z(c) {} };
inline dim3 threadIdx, blockIdx, blockDim, gridDim;
namespace warploom {
struct LaunchConfig { dim3 g, b; size_t sh; cudaStream_t st;
  LaunchConfig(dim3 g, dim3 b, size_t sh = 0, cudaStream_t st = nullptr)
    : g(g), b(b), sh(sh), st(st) {} };
inline std::map<const void*, void*> slots;
inline char dynamic[65536];
template <class K> struct Launch { const char* name; LaunchConfig c; K k;
  template <class... A> int operator()(A... a) const {
    printf("[%s g%u b%u s%zu st%d]", name, c.g.x, c.b.x, c.sh, c.st != nullptr);
    gridDim = c.g; blockDim = c.b;
    for (blockIdx.x = 0; blockIdx.x < c.g.x; blockIdx.x++) {
      slots.clear(); memset(dynamic, 0, sizeof dynamic);
      for (threadIdx.x = 0; threadIdx.x < c.b.x; threadIdx.x++) k(a...);
    }
    return 0;
  } };
template <class K> Launch<K> launch(const char* n, LaunchConfig c, K k) { return {n, c, k}; }
template <class T> inline char key = 0;
template <class T, class Tag> T& shared_variable(const char*) {
  void*& p = slots[&key<Tag>];
  if (!p) p = aligned_alloc(256, (sizeof(T) + 255) / 256 * 256), memset(p, 0, sizeof(T));
  return *(T*)p;
}
inline void* dynamic_shared() { return dynamic; }
}
"""


def rewritten(folder: Path, code: str, name: str = "prog.cu", **spec) -> Overlay:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(code)
    return rewrite(BuildSpec(folder / name, **spec))


def text_of(overlay: Overlay) -> str:
    return overlay.texts[overlay.units[0]].decode()


def compiled(folder: Path, overlay: Overlay) -> subprocess.CompletedProcess[str]:
    out = folder / "overlay"
    out.mkdir()
    for name, text in overlay.texts.items():
        (out / name).write_bytes(text)
    (out / "stub.h").write_text(STUB)
    command = [*find_compiler().command, "-std=c++20", "-O1", "-w", "-include", "stub.h"]
    return subprocess.run(
        [*command, *(arg for u in overlay.units for arg in ("-x", "c++", u)), "-o", "prog"],
        cwd=out, capture_output=True, text=True, check=False,
    )  # fmt: skip


def output(folder: Path, code: str, **spec) -> str:
    done = compiled(folder, rewritten(folder, code, **spec))
    assert done.returncode == 0, done.stderr
    return subprocess.run(
        [folder / "overlay" / "prog"], capture_output=True, text=True, check=True
    ).stdout


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
                assert old in new


def test_an_initialised_shared_variable_is_left_to_the_compiler(tmp_path: Path):
    assert "__shared__ int x = 3;" in text_of(
        rewritten(tmp_path, "__global__ void k() { __shared__ int x = 3; }")
    )


def test_includes_become_the_overlay(tmp_path: Path):
    (tmp_path / "inc" / "deep").mkdir(parents=True)
    (tmp_path / "inc" / "deep" / "a.cuh").write_text(
        '#pragma once\n#include "b.h"\n__global__ void k(int* p) { *p = B; }\n'
    )
    (tmp_path / "inc" / "deep" / "b.h").write_text("#define B (__LINE__ + 40)\n")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "util.h").write_text("inline const char* where() { return __FILE__; }\n")
    (tmp_path / "src" / "other.cpp").write_text('#include "util.h"\nint other() { return 2; }\n')
    code = """#include <cstdio>
#include <deep/a.cuh>
# include "util.h" // twice
#include "util.h"
#if __has_include("util.h") && !__has_include("absent.h")
int other();
#endif
int main() { int v = 0; k<<<1, 1>>>(&v); printf("\\n%d %s %s %d", v, where(), __FILE__, other()); }
"""
    (tmp_path / "src" / "util.h").write_text(
        "#pragma once\ninline const char* where() { return __FILE__; }\n"
    )
    spec = {"include_dirs": (tmp_path / "inc",), "sources": (tmp_path / "src" / "other.cpp",)}
    overlay = rewritten(tmp_path, code, "src/prog.cu", **spec)
    assert [f.name for f in overlay.files] == [
        "prog.cu", "../inc/deep/a.cuh", "../inc/deep/b.h", "util.h", "other.cpp",
    ]  # fmt: skip
    assert overlay.file_named("../inc/deep/a.cuh").path == tmp_path / "inc" / "deep" / "a.cuh"
    done = compiled(tmp_path, overlay)
    assert done.returncode == 0, done.stderr
    ran = subprocess.run([tmp_path / "overlay" / "prog"], capture_output=True, text=True)
    assert ran.stdout.split("\n")[1] == "43 util.h prog.cu 2"


def test_the_overlay_does_not_depend_on_where_the_program_lies(tmp_path: Path):
    def make(folder: Path) -> Overlay:
        folder.mkdir()
        (folder / "u.h").write_text("int u;\n")
        return rewritten(folder, '#include "u.h"\nint main() {}\n')

    one, two = make(tmp_path / "one"), make(tmp_path / "two")
    assert one.texts == two.texts and one.units == two.units


def test_real_cuda_and_nccl_headers_are_passed_over(tmp_path: Path):
    (tmp_path / "nccl" / "nccl_device").mkdir(parents=True)
    for name in ("nccl.h", "nccl_device.h", "nccl_device/core.h"):
        (tmp_path / "nccl" / name).write_text("#error the real one\n")
    overlay = rewritten(
        tmp_path, "#include <nccl_device.h>\nint main() {}\n", include_dirs=(tmp_path / "nccl",)
    )
    assert len(overlay.files) == 1


def test_unconditional_headers_are_known(tmp_path: Path):
    (tmp_path / "guard.h").write_text("#ifndef G\n#define G\n#include <vector>\n#endif\n")
    (tmp_path / "maybe.h").write_text("#include <set>\n")
    code = """#include <cstdio>
#include "guard.h"
#ifdef USE_MPI
#include <mpi.h>
#include "maybe.h"
#endif
#include <string>
"""
    assert rewritten(tmp_path, code).headers == ("cstdio", "vector", "string")


def test_a_header_of_the_users_own_beside_the_program_comes_first(tmp_path: Path):
    (tmp_path / "vector_types.h").write_text("constexpr int mine = 4;\n")
    (tmp_path / "cuda_runtime.h").write_text("#error a copy of the real one\n")
    code = '#include "cuda_runtime.h"\n#include "vector_types.h"\nint main() { return mine; }\n'
    overlay = rewritten(tmp_path, code)
    text = overlay.texts[overlay.units[0]].decode()
    assert '#include "cuda_runtime.h"' in text
    assert '#include "u1_vector_types.h"' in text


def test_include_in_a_circle_ends(tmp_path: Path):
    (tmp_path / "a.h").write_text('#pragma once\n#include "b.h"\nint a;\n')
    (tmp_path / "b.h").write_text('#pragma once\n#include "a.h"\nint b;\n')
    overlay = rewritten(tmp_path, '#include "a.h"\nint main() { return a + b; }\n')
    assert compiled(tmp_path, overlay).returncode == 0


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


@pytest.mark.parametrize("content", [b"", b"  \n", b"\x7fELF\0\0"])
def test_what_is_no_text_is_refused(tmp_path: Path, content: bytes):
    (tmp_path / "prog.cu").write_bytes(content)
    with pytest.raises(SourceError, match=r"prog\.cu"):
        rewrite(BuildSpec(tmp_path / "prog.cu"))


def test_a_missing_file_is_refused(tmp_path: Path):
    with pytest.raises(SourceError, match=r"absent\.cu.*must exist"):
        rewrite(BuildSpec(tmp_path / "absent.cu"))
    (tmp_path / "prog.cu").write_text("int main() {}")
    with pytest.raises(SourceError, match="must be readable"):
        rewrite(BuildSpec(tmp_path / "prog.cu", sources=(tmp_path,)))


def test_bytes_that_are_not_utf8_survive(tmp_path: Path):
    (tmp_path / "prog.cu").write_bytes(b"// caf\xe9\nint main() { k<<<1, 1>>>(); }\n")
    overlay = rewrite(BuildSpec(tmp_path / "prog.cu"))
    assert b"// caf\xe9\n" in overlay.texts[overlay.units[0]]


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
