"""Calls that name a variable of the device: what they name is one, and they are copies like all."""

from pathlib import Path

import pytest
from host_program import check_program, kinds_of

from warploom.core.records import BuildSpec
from warploom.emulator import RunOptions, build, run

_HEAD = """
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
__device__ int known[4];
__device__ volatile int flags[4];
__device__ int unused[4];
__constant__ float weights[8];
static const __device__ int fixed[2] = {5, 6};
static __device__ char large[1 << 20];
namespace { __managed__ int shared = 1; }
__global__ void use(int* out) {
  *out = known[1] + static_cast<int>(weights[7]) + fixed[1] + large[9] + shared;
}
#define TRY(call) do { const cudaError_t e_ = (call); if (e_) { printf("%d\\n", e_); } } while (0)
int main() {
  int* out;
  int* h;
  cudaStream_t s;
  TRY(cudaMalloc(&out, 64));
  TRY(cudaMallocHost(&h, 64));
  TRY(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  int some[4] = {1, 2, 3, 4};
  char* heap = (char*)malloc(64);
  char* judge = (char*)s;
"""
_TAIL = """
  cudaGetLastError();
  TRY(cudaDeviceSynchronize());
  free(heap);
  return some[0] > 1000;
}
"""
_HONEST = """
  TRY(cudaMemcpyToSymbol(known, some, sizeof some));
  TRY(cudaMemcpyToSymbol(unused, some, 8, 8));
  const float seven = 7;
  TRY(cudaMemcpyToSymbolAsync(weights, &seven, 4, 28, cudaMemcpyHostToDevice, s));
  void* where = nullptr;
  size_t size = 0;
  TRY(cudaGetSymbolAddress(&where, large));
  TRY(cudaGetSymbolSize(&size, large));
  TRY(cudaMemset(where, 3, size));
  TRY(cudaDeviceSynchronize());
  use<<<1, 1, 0, s>>>(out);
  TRY(cudaGetLastError());
  TRY(cudaMemcpyToSymbolAsync(known, out, 4, 12, cudaMemcpyDeviceToDevice, s));
  TRY(cudaMemcpyFromSymbolAsync(h, known, 16, 0, cudaMemcpyDeviceToHost, s));
  TRY(cudaStreamSynchronize(s));
  if (h[3] != 2 + 7 + 6 + 3 + 1) return 3;
  TRY(cudaMemcpyToSymbol(flags, some, sizeof some));
  TRY(cudaMemcpyFromSymbol(h, flags, 4, 12));
  if (h[0] != 4 || cudaGetSymbolAddress(&where, flags) || cudaGetSymbolSize(&size, flags)) return 4;
  TRY(cudaMemcpyFromSymbol(some, unused, 8, 8));
  return some[0] != 1 || some[1] != 2;
"""
# What the call gives, and nothing is written.
_REFUSED = {
    "heap": ("cudaMemcpyToSymbol(*(int*)heap, some, 4)", 13),
    "stack": ("cudaMemcpyToSymbol(some[1], some, 4)", 13),
    "judge": ("cudaMemcpyToSymbol(*(int*)judge, some, 4)", 13),
    "judge_read": ("cudaMemcpyFromSymbol(some, *(int*)judge, 4)", 13),
    "code": ("cudaMemcpyFromSymbol(some, *(int(*)[4])(void*)&cudaDeviceSynchronize, 16)", 13),
    "memory_of_the_device": ("cudaMemcpyToSymbol(*out, some, 4)", 13),
    "past_the_end": ("cudaMemcpyToSymbol(*(int(*)[64])known, some, 16)", 13),
    "wrapped": ("cudaMemcpyToSymbol(known, some, 16, (size_t)-16)", 1),
    "too_many": ("cudaMemcpyFromSymbol(some, known, 8, 12)", 1),
    "address_of_heap": ("cudaGetSymbolAddress((void**)heap, *(int*)judge)", 13),
}
_FOUND = {
    "early": (
        "readback_before_sync",
        "cudaMemcpyFromSymbolAsync(some, known, 16, 0, cudaMemcpyDeviceToHost, s);"
        "if (some[1] == 9) printf(\"?\");",
    ),
    "raced_source": (
        "data_race",
        "use<<<1, 1, 0, s>>>(h); TRY(cudaMemcpyToSymbol(unused, h, 4));",
    ),
    "raced_address": (
        "data_race",
        "use<<<1, 1, 0, s>>>(h); TRY(cudaGetSymbolAddress((void**)h, known));",
    ),
    "address_in_the_judge": ("emulator_access", "cudaGetSymbolAddress((void**)judge, known);"),
    "target_in_the_judge": ("emulator_access", "cudaMemcpyFromSymbol(judge, known, 4);"),
    "host_function": (
        "call_in_host_function",
        "cudaLaunchHostFunc(s, [](void*) { int v = 3; cudaMemcpyToSymbol(known, &v, 4); }, 0);",
    ),
    "host_function_address": (
        "call_in_host_function",
        "cudaLaunchHostFunc(s, [](void*) { void* p; cudaGetSymbolAddress(&p, known); }, 0);",
    ),
    "named_to_the_runtime": (
        "emulator_access",
        'warploom::register_variable(judge, 64, "mine", false, true);',
    ),
}  # fmt: skip


def program(statement: str) -> str:
    return f"{_HEAD}  {statement}{_TAIL}"


def test_ordinary_calls_pass(tmp_path: Path) -> None:
    report = check_program(tmp_path, program(_HONEST))
    assert kinds_of(report) == set(), report.findings


def test_what_is_no_variable_is_refused(tmp_path: Path) -> None:
    calls = "".join(
        f'  printf("{name} %d\\n", (int)({call}));\n' for name, (call, _) in _REFUSED.items()
    )
    (tmp_path / "program.cu").write_text(program(calls))
    outcome = run(build(BuildSpec(tmp_path / "program.cu")), RunOptions(ranks=1))
    said = dict(line.split() for line in outcome.stdout.splitlines())
    assert {name: said[name] for name in _REFUSED} == {
        name: str(error) for name, (_, error) in _REFUSED.items()
    }


@pytest.mark.parametrize("form", _FOUND)
def test_they_are_looked_at_as_copies(tmp_path: Path, form: str) -> None:
    kind, statement = _FOUND[form]
    report = check_program(tmp_path, program(statement))
    assert kind in kinds_of(report), report.findings
