"""Variables that device code names are the device's, however their declarations are spelled."""

from pathlib import Path

import pytest

from warploom.core.records import BuildSpec, Severity
from warploom.emulator import EmulatorRun, RunOptions, build, run

# Declarations at namespace scope, and the variable that they declare.
FORMS = {
    "plain": ("__device__ int x;", "x"),
    "macro": ("#define ONDEV __device__\nONDEV int x;", "x"),
    "pasted": ("#define CAT(a, b) a##b\nCAT(__dev, ice__) int x;", "x"),
    "spliced_comment": ("/* *\\\n/ __device__ int x; /* */", "x"),
    "declared_by_macro": ("#define DECL(T, n) __device__ T n\nDECL(int, x);", "x"),
    "attribute": ("static __attribute__((device)) int x = 1;", "x"),
    "managed_macro": ("#define MG __managed__\nMG int x;", "x"),
    "managed_inline": ("inline __managed__ int x;", "x"),
    "inline": ("inline __device__ int x;", "x"),
    "conditional": ("#if 1\n__device__ int x\n#else\n__device__ float x\n#endif\n;", "x"),
    "variable_template": ("template <int N> __device__ int t;", "t<1>"),
    "member_of_template": ("template <class T> struct Q { static inline __device__ int x; };",
                           "Q<int>::x"),
    "member": ("struct S { static __device__ int x; };\n__device__ int S::x;", "S::x"),
    "unnamed_struct": ("__device__ struct { int a; } x;", "x.a"),
    "elaborated": ("struct S { int a; };\n__device__ struct S x;", "x.a"),
    "of_the_host": ("int x;", "x"),
    "of_the_file": ("static int x;", "x"),
    "unnamed_namespace": ("namespace { int x; }", "x"),
    "in_device_function": ("__device__ int& f() { static int v; return v; }", "f()"),
    "in_template": ("template <int N> __device__ int& f() { static int v; return v; }", "f<2>()"),
    "in_static_function": ("static __device__ int& f() { static int v; return v; }", "f()"),
    "through_a_pointer": ("#define ONDEV __device__\nONDEV int x;\nONDEV int* p = &x;", "*p"),
    "through_a_constant": ("static int x; int* const list[2] = {&x, &x};", "*list[out[0]]"),
}  # fmt: skip
LOCAL = {
    "in_kernel": ("static int x;", "x"),
    "in_lambda": ("auto f = []() -> int& { static int v; return v; };", "f()"),
}

KERNEL = """
#include <cuda_runtime.h>
%s
__global__ void race(int* out) {
  %s
  if (threadIdx.x == 40) out[1] = %s;
  %s
  if (threadIdx.x == 3) %s = 2;
}
int main() {
  int* out;
  cudaMalloc(&out, 256);
  cudaMemset(out, 0, 256);
  race<<<1, 64>>>(out);
  return cudaDeviceSynchronize() != cudaSuccess;
}
"""


def emulate(folder: Path, text: str, **more: str) -> EmulatorRun:
    (folder / "program.cu").write_text(text)
    for name, other in more.items():
        (folder / f"{name}.cu").write_text(other)
    sources = tuple(folder / f"{name}.cu" for name in more)
    return run(build(BuildSpec(folder / "program.cu", sources=sources)), RunOptions(ranks=1))


def errors(outcome: EmulatorRun) -> set[str]:
    return {found.kind for found in outcome.findings if found.severity == Severity.ERROR}


@pytest.mark.parametrize("form", [*FORMS, *LOCAL])
def test_races_are_found_in_each_form(tmp_path: Path, form: str) -> None:
    outer, name = FORMS.get(form, ("", ""))
    inner = ""
    if form in LOCAL:
        inner, name = LOCAL[form]
    racing = emulate(tmp_path, KERNEL % (outer, inner, name, "", name))
    assert errors(racing) == {"data_race"}, racing.findings
    twin = emulate(tmp_path, KERNEL % (outer, inner, name, "__syncthreads();", name))
    assert errors(twin) == set() and twin.exit_codes == {0: 0}, twin.findings


MISUSES = {
    "host_reads": ("#define ONDEV __device__\nONDEV int x[8];", "x[0] = 1;", "k<<<1, 1>>>(p);",
                   "x[0]", "host_dereference"),
    "host_reads_what_was_copied": ("#define ONDEV __device__\nONDEV int x[8];", "",
                                   "cudaMemcpyToSymbol(x, &one, 4);", "x[0]", "host_dereference"),
    "host_variable": ("int x[8];", "p[0] = 1;", "k<<<1, 1>>>(x);", "0",
                      "device_dereference_host"),
    "constant_of_the_host": ("static int x[8];", "p[0] = q[1];", "k<<<1, 1>>>(p, x);", "0",
                             "device_dereference_host"),
    "past_the_end": ("#define ONDEV __device__\nONDEV int x[8], y[64];", "x[8 + n] = y[0];",
                     "k<<<1, 1>>>(p);", "0", None),
}  # fmt: skip


@pytest.mark.parametrize("form", MISUSES)
def test_misuses_are_found(tmp_path: Path, form: str) -> None:
    outer, body, calls, result, kind = MISUSES[form]
    outcome = emulate(
        tmp_path,
        f"#include <cuda_runtime.h>\n{outer}\n"
        f"__global__ void k(int* p, int* q = nullptr, int n = 0) {{ {body} }}\n"
        "int main() { int *p, one = 1; cudaMalloc(&p, 64); cudaMemset(p, 0, 64);\n"
        f"{calls} if (cudaDeviceSynchronize()) return 1; return ({result}) == 77; }}\n",
    )
    found = errors(outcome)
    assert found == {kind} if kind else found, outcome.findings


HONEST = r"""
#include <cuda_runtime.h>
#include <cassert>
#include <cstdio>
#include <string>
#define ONDEV __device__
#define CONST __constant__
#define MG __managed__
ONDEV int counter = 3;
CONST float weights[4];
MG int shared_value = 5;
MG int shared_table[8];
inline ONDEV int several[4];
struct Shape { static const int kSides[3]; static constexpr int kSum[2] = {1, 2}; };
const int Shape::kSides[3] = {3, 4, 5};
static const float kTable[4] = {1, 2, 3, 4};
constexpr int kPrimes[4] = {2, 3, 5, 7};
int calls_of_host = 0;           // the host's alone
static int* buffer = nullptr;    // a pointer that the host passes on
int pinned[16];
std::string& name() { static std::string text = "honest"; return text; }
__host__ __device__ int counted() {
#ifndef __CUDA_ARCH__
  calls_of_host++;
#endif
  static int calls;
  return ++calls;
}
struct Base { __device__ virtual int get() const { return 1; } };
struct Derived : Base { int v = 6; __device__ int get() const override { return v; } };
__device__ int twice(int v) { return 2 * v; }
__device__ int (*picked)(int) = twice;
__device__ int (*const kSteps[2])(int) = {twice, twice};
__global__ void use(int* out, int i) {
  static const int steps[3] = {10, 20, 30};
  const Derived object;
  const Base& base = object;
  assert(i == 1 && "one");
  printf("%s %d\n", __func__, i);
  several[1] = 8;
  out[0] = counter + static_cast<int>(weights[i]) + shared_value + Shape::kSides[i];
  out[1] = static_cast<int>(kTable[i]) + kPrimes[i] + steps[i] + Shape::kSum[i] + base.get();
  out[2] = counted() + picked(2) + kSteps[i](3);
  shared_table[2] = 7;
}
__global__ void add(int* p) { p[3] += 1; }
int main() {
  const float host_weights[4] = {0, 4, 0, 0};
  int more = 9, got = 0, kept[4] = {}, result[3];
  calls_of_host++;
  shared_value++;
  cudaMemcpyToSymbol(counter, &more, sizeof more);
  cudaMemcpyToSymbol(weights, host_weights, sizeof weights);
  cudaMalloc(&buffer, 64);
  use<<<1, 1>>>(buffer, 1);
  cudaMemcpy(result, buffer, sizeof result, cudaMemcpyDeviceToHost);
  cudaMemcpyFromSymbol(&got, counter, sizeof got);
  void* address = nullptr;
  cudaGetSymbolAddress(&address, several);
  cudaMemcpy(kept, address, sizeof kept, cudaMemcpyDeviceToHost);
  cudaHostRegister(pinned, sizeof pinned, cudaHostRegisterDefault);
  add<<<1, 1>>>(pinned);
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  cudaHostUnregister(pinned);
  if (pinned[3] != 1 || shared_table[2] != 7 || counted() != 1 || calls_of_host != 2) return 2;
  if (got != 9 || kept[1] != 8 || name() != "honest") return 3;
  if (result[0] != 9 + 4 + 6 + 4) return 4;
  if (result[1] != 2 + 3 + 20 + 2 + 6 || result[2] != 1 + 4 + 6) return 5;
  return cudaFree(buffer) != cudaSuccess;
}
"""


def test_an_honest_program_is_not_accused(tmp_path: Path) -> None:
    outcome = emulate(tmp_path, HONEST)
    assert errors(outcome) == set(), outcome.findings
    assert outcome.exit_codes == {0: 0} and "use 1" in outcome.stdout


def test_units_share_variables(tmp_path: Path) -> None:
    header = "#include <cuda_runtime.h>\n#define ONDEV __device__\ninline ONDEV int seen[2];\n"
    program = (
        header + "extern __device__ int there;\nstatic ONDEV int own;\nvoid launch(int*);\n"
        "__global__ void k(int* p) { seen[0]++; own += 2; p[0] = there + own + seen[0]; }\n"
        "int main() { int *p, v[2]; cudaMalloc(&p, 8); k<<<1, 1>>>(p); launch(p);\n"
        "cudaMemcpy(v, p, 8, cudaMemcpyDeviceToHost); return v[0] != 43 || v[1] != 52; }\n"
    )
    other = (
        header + "__device__ int there = 40;\nstatic ONDEV int own;\n"
        "__global__ void k2(int* p) { own += 10; seen[0]++; p[1] = there + own + seen[0]; }\n"
        "void launch(int* p) { k2<<<1, 1>>>(p); }\n"
    )
    outcome = emulate(tmp_path, program, other=other)
    assert errors(outcome) == set() and outcome.exit_codes == {0: 0}, outcome.findings
