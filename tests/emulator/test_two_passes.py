"""Host and device code in passes of their own: who calls what, which variables there are."""

from pathlib import Path

import pytest

from warploom.core.errors import SourceError, WarploomError
from warploom.core.records import BuildSpec
from warploom.emulator import RunOptions, build, run

# `get` runs one kernel and returns what it wrote.
FRAME = r"""
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define CHECK(condition) do { if (!(condition)) { \
  std::printf("line %d\n", __LINE__); std::exit(1); } } while (0)
template <class Launch> int get(Launch launch) {
  int *p, value = -1;
  cudaMalloc(&p, sizeof(int));
  launch(p);
  cudaMemcpy(&value, p, sizeof(int), cudaMemcpyDeviceToHost);
  cudaFree(p);
  return value;
}
"""


def _exit_codes(folder: Path, text: str, **more: str) -> dict[int, int]:
    (folder / "program.cu").write_text(FRAME + text)
    for name, other in more.items():
        (folder / f"{name}.cu").write_text(other)
    sources = tuple(folder / f"{name}.cu" for name in more)
    program = build(BuildSpec(folder / "program.cu", sources=sources))
    return dict(run(program, RunOptions(ranks=1)).exit_codes)


def _refused(folder: Path, text: str) -> WarploomError:
    (folder / "program.cu").write_text(FRAME + text)
    with pytest.raises(WarploomError) as caught:
        build(BuildSpec(folder / "program.cu"))
    return caught.value


BRANCHES = r"""
__host__ __device__ int side() {
#ifdef __CUDA_ARCH__
  return __CUDA_ARCH__;
#else
  return 1;
#endif
}
__host__ __device__ inline int counted() { static int calls = 0; return ++calls; }
template <class T> struct Box {
  T value;
  __host__ __device__ Box(T v) : value(v + side()) {}
  __host__ __device__ T get() const { return value; }
};
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 700
#error "too old"
#endif
__device__ int only() {
#if __CUDA_ARCH__ >= 800
  return 8;
#else
  return 0;
#endif
}
__global__ void sides(int* p) { *p = side() + Box<int>(0).get() + only(); }
__global__ void calls(int* p) { *p = counted(); }
int main() {
  CHECK(side() == 1 && Box<int>(5).get() == 6);
  CHECK(get([](int* p) { sides<<<1, 1>>>(p); }) == 1808);
  CHECK(counted() == 1 && counted() == 2);
  CHECK(get([](int* p) { calls<<<1, 1>>>(p); }) == 1);
  return 0;
}
"""

KERNELS = r"""
static __global__ void of_file(int* p) { *p = 1; }
namespace { __global__ void unnamed(int* p) { *p = 2; } }
extern "C" __global__ void plain(int* p) { *p = 3; }
extern "C" { static __global__ void plain_of_file(int* p) { *p = 4; } }
template <class F> __global__ void apply(int* p, F f) { *p = f(*p); }
template <int N, bool Twice = false> __global__ void number(int* p) {
  if constexpr (Twice) { *p = 2 * N; } else { *p = N; }
}
template <> __global__ void number<9>(int* p) { *p = 99; }
template __global__ void number<10>(int* p);
void __launch_bounds__(32) __global__ behind(int* p) { *p = 5; }
__global__ void later(int* p);
struct Owner { friend __global__ void befriended(int* p, Owner o); private: int value = 6; };
__global__ void befriended(int* p, Owner o) { *p = o.value; }
typedef void (*Kernel)(int*);
static __global__ void empty_on_host(int* p) {
#ifdef __CUDA_ARCH__
  *p = 7;
#endif
}
int main() {
  CHECK(get([](int* p) { of_file<<<1, 1>>>(p); }) == 1);
  CHECK(get([](int* p) { unnamed<<<1, 1>>>(p); }) == 2);
  CHECK(get([](int* p) { plain<<<1, 1>>>(p); }) == 3);
  CHECK(get([](int* p) { plain_of_file<<<1, 1>>>(p); }) == 4);
  CHECK(get([](int* p) { behind<<<1, 1>>>(p); }) == 5);
  CHECK(get([](int* p) { befriended<<<1, 1>>>(p, Owner()); }) == 6);
  CHECK(get([](int* p) { empty_on_host<<<1, 1>>>(p); }) == 7);
  CHECK(get([](int* p) { later<<<1, 1>>>(p); }) == 8);
  CHECK(get([](int* p) { number<4><<<1, 1>>>(p); }) == 4);
  CHECK(get([](int* p) { number<4, true><<<1, 1>>>(p); }) == 8);
  CHECK(get([](int* p) { number<9><<<1, 1>>>(p); }) == 99);
  const int captured = 40;
  auto extended = [=] __device__(int) { return captured + 2; };
  CHECK(get([&](int* p) { apply<<<1, 1>>>(p, extended); }) == 42);
  const Kernel chosen = captured > 1 ? of_file : plain;
  CHECK(get([&](int* p) { chosen<<<1, 1>>>(p); }) == 1);
  const void* address = (const void*)of_file;
  CHECK(address == reinterpret_cast<const void*>(chosen));
  CHECK(get([&](int* p) {
    void* arguments[] = {&p};
    CHECK(cudaLaunchKernel(address, dim3(1), dim3(1), arguments, 0, nullptr) == cudaSuccess);
  }) == 1);
  CHECK(get([&](int* p) {
    void* arguments[] = {&p};
    CHECK(cudaLaunchKernel((void*)number<4>, dim3(1), dim3(1), arguments, 0, nullptr) == 0);
  }) == 4);
  cudaFuncAttributes attributes;
  CHECK(cudaFuncGetAttributes(&attributes, unnamed) == cudaSuccess);
  int blocks = 0;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, plain_of_file, 32, 0) == 0);
  CHECK(blocks > 0);
  return 0;
}
__global__ void later(int* p) { *p = 8; }
"""

VARIABLES = r"""
typedef int (*Operation)(int);
__host__ __device__ int side() {
#ifdef __CUDA_ARCH__
  return 2;
#else
  return 1;
#endif
}
__device__ int twice(int x) { return 2 * x * side(); }
static __device__ int half(int x) { return x / 2 * side(); }
__device__ Operation chosen = twice;
static __constant__ Operation table[2] = {twice, half};
static Operation on_host[2] = {[](int x) { return x + side(); }, nullptr};
__device__ int counter = 5;
static __device__ int hidden[3] = {1, 2, 3};
static __device__ int zeros[3];
__managed__ int managed = 4;
static __managed__ int managed_of_file;
__constant__ int constant;
__device__ const int fixed = 11;
constexpr int kShared[] = {7, 8, 9};
namespace inner { __device__ int counter = 6; }
__global__ void call(int* p) { *p = chosen(5) + table[1](8); }
__global__ void change(int* p) {
  counter += 1; hidden[1] += 10; zeros[2] = 3; managed += 1; managed_of_file = 9;
  inner::counter *= 2;
  *p = constant + fixed + kShared[*p < 0 ? 2 : 1];
}
struct Shape { __device__ virtual int area() const { return side(); } };
struct Square : Shape { __device__ int area() const override { return 100 * side(); } };
__global__ void virtually(int* p) {
  Square square;
  const Shape* shape = &square;
  *p = shape->area();
}
int main() {
  CHECK(on_host[0](1) == 2);
  CHECK(get([](int* p) { call<<<1, 1>>>(p); }) == 28);
  const int value = 70;
  CHECK(cudaMemcpyToSymbol(constant, &value, sizeof value) == cudaSuccess);
  const int before = 20;
  CHECK(cudaMemcpyToSymbol(counter, &before, sizeof before) == cudaSuccess);
  CHECK(get([](int* p) { cudaMemset(p, 0, 4); change<<<1, 1>>>(p); }) == 89);
  CHECK(managed == 5 && managed_of_file == 9);
  int got[3];
  cudaMemcpyFromSymbol(got, counter, sizeof(int));
  CHECK(got[0] == 21);
  cudaMemcpyFromSymbol(got, inner::counter, sizeof(int));
  CHECK(got[0] == 12);
  cudaMemcpyFromSymbol(got, hidden, sizeof got);
  CHECK(got[0] == 1 && got[1] == 12 && got[2] == 3);
  int* address;
  CHECK(cudaGetSymbolAddress((void**)&address, zeros) == cudaSuccess);
  cudaMemcpy(got, address, sizeof got, cudaMemcpyDeviceToHost);
  CHECK(got[2] == 3);
  Operation read;
  cudaMemcpyFromSymbol(&read, chosen, sizeof read);
  CHECK(get([](int* p) { virtually<<<1, 1>>>(p); }) == 200);
  return 0;
}
"""


@pytest.mark.parametrize("text", [BRANCHES, KERNELS, VARIABLES])
def test_each_side_has_its_own_code_and_shares_variables(tmp_path: Path, text: str) -> None:
    assert _exit_codes(tmp_path, text) == {0: 0}


def test_a_capability_that_the_user_names_is_the_devices_alone(tmp_path: Path) -> None:
    (tmp_path / "program.cu").write_text(
        FRAME
        + "__global__ void k(int* p) {\n#ifdef __CUDA_ARCH__\n*p = __CUDA_ARCH__;\n#endif\n}\n"
        "#ifndef __CUDA_ARCH__\nconst bool host = true;\n#else\nconst bool host = false;\n#endif\n"
        "int main() { CHECK(host && get([](int* p) { k<<<1, 1>>>(p); }) == 800); }\n"
    )
    spec = BuildSpec(tmp_path / "program.cu", defines={"__CUDA_ARCH__": "800"})
    assert run(build(spec), RunOptions(ranks=1)).exit_codes == {0: 0}


def test_units_call_each_others_device_functions(tmp_path: Path) -> None:
    program = r"""
extern __device__ int add(int x);
extern __device__ int (*picked)(int);
__global__ void extern_kernel(int* p);
__global__ void k(int* p) { *p = add(1) + picked(2); }
int main() {
  CHECK(get([](int* p) { k<<<1, 1>>>(p); }) == 901 + 902);
  CHECK(get([](int* p) { extern_kernel<<<1, 1>>>(p); }) == 33);
  return 0;
}
"""
    other = r"""
#include <cuda_runtime.h>
#include <cstdio>
__host__ __device__ int side() {
#ifdef __CUDA_ARCH__
  return 900;
#else
  return 0;
#endif
}
__device__ int add(int x) { return x + side(); }
__device__ int (*picked)(int) = add;
static __device__ int counter = 30;
__global__ void extern_kernel(int* p) { *p = counter + 3; }
void unused() { std::fopen("x", "r"); }
"""
    assert _exit_codes(tmp_path, program, other=other) == {0: 0}


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ('FILE* f = fopen("x", "r"); *p = f != nullptr;', "fopen"),
        ('char b[8]; snprintf(b, 8, "%d", *p);', "snprintf"),
        ('*p = std::getenv("HOME") != nullptr;', "getenv"),
        ("void* q; *p = cudaMalloc(&q, 4);", "cudaMalloc"),
        ("*p = helper(*p);", "getenv"),
        ("*p = stdout != nullptr;", "stdout"),
        ("auto* f = &std::getenv; *p = f(0) != nullptr;", "getenv"),
        ("extern int undeclared_in_other_units(); *p = undeclared_in_other_units();",
         "undeclared_in_other_units"),
    ],
)  # fmt: skip
def test_device_code_calls_only_what_a_gpu_has(tmp_path: Path, body: str, name: str) -> None:
    text = (
        "__device__ __noinline__ int helper(int x) {\n"
        '  return x + (std::getenv("A") != nullptr);\n}\n'
        f"__global__ void k(int* p) {{\n{body}\n}}\n"
        "int main() { return get([](int* p) { k<<<1, 1>>>(p); }) == 77; }\n"
    )
    error = _refused(tmp_path, text)
    assert isinstance(error, SourceError)
    assert name in error.message
    lines = (FRAME + text).splitlines()
    assert error.line is not None
    place = lines[error.line - 1]
    assert body in place or 'std::getenv("A")' in place


def test_host_code_may_call_what_it_likes(tmp_path: Path) -> None:
    text = (
        "__global__ void k(int* p) { *p = 3; }\n"
        'template <class T> int all(T x) { return std::getenv("HOME") ? 0 : x; }\n'
        'int main() { char b[9]; snprintf(b, 9, "%d", all(1));'
        " return get([](int* p) { k<<<1, 1>>>(p); }) - 3; }\n"
    )
    assert _exit_codes(tmp_path, text) == {0: 0}


def test_a_kernel_of_one_pass_is_named(tmp_path: Path) -> None:
    text = (
        "#ifndef __CUDA_ARCH__\n__global__ void host_only(int* p) { *p = 1; }\n#endif\n"
        "int main() {\n#ifndef __CUDA_ARCH__\nhost_only<<<1, 1>>>(nullptr);\n#endif\n}\n"
    )
    error = _refused(tmp_path, text)
    assert "host_only" in error.message and "__CUDA_ARCH__" in error.message


def test_a_variable_of_two_sizes_is_refused(tmp_path: Path) -> None:
    text = (
        "#ifdef __CUDA_ARCH__\n#define N 4\n#else\n#define N 3\n#endif\n"
        "__device__ int numbers[N];\n"
        "__global__ void k(int* p) { *p = numbers[2]; }\n"
        "int main() { return get([](int* p) { k<<<1, 1>>>(p); }); }\n"
    )
    assert "numbers" in _refused(tmp_path, text).message


def test_nothing_else_may_have_the_names_of_device_functions(tmp_path: Path) -> None:
    text = (
        'int forged() __asm__("getenv$dev");\nint forged() { return 1; }\n'
        '__global__ void k(int* p) { *p = std::getenv("A") != nullptr; }\n'
        "int main() { return get([](int* p) { k<<<1, 1>>>(p); }); }\n"
    )
    assert "$" in _refused(tmp_path, text).message


def test_a_constant_that_is_a_part_of_another_one_stays(tmp_path: Path) -> None:
    """g++ keeps -0.0f in the mask by which it negates: `.set .LC1,.LC2`, in whichever section."""
    text = """
static __host__ __device__ float flipped(float value, int i) {
  float result = i > 5 ? -value : value;
  if (i == 7) result = result + -0.0f * value;
  return i == 3 ? -0.0f : result;
}
__global__ void flip(int* bits, float value, int i) {
  bits[0] = __float_as_int(flipped(value, i));
}
float g_value = 2.0f;
int main() {
  for (int i = 0; i < 9; ++i) {
    const int bits = get([&](int* p) { flip<<<1, 1>>>(p, g_value, i); });
    const float on_host = flipped(g_value, i);
    CHECK(bits == *reinterpret_cast<const int*>(&on_host));
    CHECK(i != 3 || bits == static_cast<int>(0x80000000u));
  }
  return 0;
}
"""
    assert _exit_codes(tmp_path, text) == {0: 0}
