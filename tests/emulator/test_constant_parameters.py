"""Parameters in constant memory: stores to them are found, and they can be read in all ways."""

from pathlib import Path

import pytest
from host_program import check_program, kinds_of

_PROGRAM = """
#include <cuda_runtime.h>
#include <cstring>
#define CONSTANT const __grid_constant__
struct Pair {
  int one, two[3];
  __device__ int* second() const { return const_cast<int*>(two) + 1; }
};
__device__ void add(const int& to, int more) { const_cast<int&>(to) += more; }
__device__ int sum(const Pair& p) { return p.one + p.two[0] + p.two[1] + p.two[2]; }
KERNEL
int main() {
  int* out;
  if (cudaMalloc(&out, 64 * sizeof(int)) != cudaSuccess) return 1;
  const Pair pair = {1, {2, 3, 4}};
  LAUNCH
  int got[64];
  if (cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
  cudaFree(out);
  for (int i = 0; i < 64; i++) {
    if (got[i] != i + 10) return 3;
  }
}
"""
_LAUNCH = "work<<<2, 32>>>(out, %s);"
_STORE = "out[blockIdx.x * 32 + threadIdx.x] = blockIdx.x * 32 + threadIdx.x + %s;"


def _program(parameter: str, body: str, argument: str, template: str = "") -> str:
    kernel = f"{template} __global__ void work(int* out, {parameter}) {{ {body} }}"
    return _PROGRAM.replace("KERNEL", kernel).replace("LAUNCH", _LAUNCH % argument)


_INT, _PAIR = "const __grid_constant__ int k", "const __grid_constant__ Pair k"
_K, _SUM = _STORE % "k", _STORE % "sum(k)"
WRONG = {
    "cast": (_INT, f"*(int*)&k = 10; {_K}", "10"),
    "put back": (_INT, f"*(int*)&k = 10; {_K} *(int*)&k = 9;", "9"),
    "a pointer that is kept": (_INT, f"int* p = const_cast<int*>(&k); *p += 1; {_K}", "9"),
    "a function": (_INT, f"add(k, 1); {_K}", "9"),
    "a reference": (_INT, f"auto& r = const_cast<int&>(k); r = 10; {_K}", "10"),
    "an atomic": (_INT, f"atomicAdd((int*)&k, 0); {_K}", "10"),
    "volatile": (_INT, f"*(volatile int*)&k = 10; {_K}", "10"),
    "memcpy": (_INT, f"const int ten = 10; memcpy((void*)&k, &ten, 4); {_K}", "10"),
    "assembly": (_INT, f'asm volatile("st.s32 [%0], 10;" :: "l"(&k) : "memory"); {_K}', "10"),
    "an array": (_PAIR, f"((int*)k.two)[1] = 3; {_SUM}", "pair"),
    "a member function": (_PAIR, f"*k.second() = 3; {_SUM}", "pair"),
    "an aggregate": (_PAIR, f"const_cast<Pair&>(k) = Pair{{1, {{2, 3, 4}}}}; {_SUM}", "pair"),
    "behind a macro": ("CONSTANT int k", f"*(int*)&k = 10; {_K}", "10"),
    "const alone": ("const int k", f"*(int*)&k = 10; {_K}", "10"),
    "const alone, by a reference": ("const int k", f"const int& r = k; add(r, 1); {_K}", "9"),
    "const alone, cast": ("int const k", f"const_cast<int&>(k) = 10; {_K}", "10"),
    "one of two": (f"{_INT}, const __grid_constant__ int m", f"*(int*)&m = 4; {_STORE % 'k + m'}",
                   "6, 4"),
}  # fmt: skip
RIGHT = {
    "only read": (_INT, _K, "10"),
    "its address": (_INT, f"const int* p = &k; {_STORE % '*p'}", "10"),
    "an aggregate": (_PAIR, _SUM, "pair"),
    "a copy that is changed": (
        _PAIR,
        f"Pair p = k; p.one += 1; {_STORE % 'sum(p)'}",
        "Pair({0, {2, 3, 4}})",
    ),
    "an early return": (_INT, f"if (k > 99) return; {_K}", "10"),
    "a lambda": (_INT, f"auto f = [&] {{ return k; }}; {_STORE % 'f()'}", "10"),
    "no constant": ("int k", f"int* p = &k; *p += 1; {_K}", "9"),
    "no constant, const elsewhere": ("const int* from, int k", f"*&k += 1; {_K}", "out, 9"),
    "const alone": ("const int k", _K, "10"),
    "const alone, its address": ("const int k", f"const int* p = &k; {_STORE % '*p'}", "10"),
    "a constant pointer": ("int* const p", f"if (out == p) out = *&p; {_STORE % 10}", "out"),
    "a template": ("const __grid_constant__ T k", _K, "10"),
}


@pytest.mark.parametrize("how", WRONG)
def test_a_store_to_a_constant_parameter_is_found(tmp_path: Path, how: str) -> None:
    found = check_program(tmp_path, _program(*WRONG[how])).findings
    assert any("to a parameter of the kernel" in one.finding.message for one in found)


@pytest.mark.parametrize("how", RIGHT)
def test_constant_parameters_can_be_read(tmp_path: Path, how: str) -> None:
    template = "template <class T>" if how == "a template" else ""
    assert not kinds_of(check_program(tmp_path, _program(*RIGHT[how], template)))
