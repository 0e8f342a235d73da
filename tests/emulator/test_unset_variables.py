"""Variables that nobody has set: their value is not the zero that programs hope for."""

from pathlib import Path

import pytest
from host_program import check_program, kinds_of

PROGRAM = """
#include <cuda_runtime.h>
#include <cstdio>
__device__ int sink;
__global__ void run(const float* in, float* out, int n) {
  STATEMENTS
}
int main() {
  float numbers[32], *in, *out;
  for (int i = 0; i < 32; i++) numbers[i] = 1.0f;
  cudaMalloc(&in, sizeof numbers);
  cudaMalloc(&out, sizeof numbers);
  cudaMemcpy(in, numbers, sizeof numbers, cudaMemcpyHostToDevice);
  run<<<1, 32>>>(in, out, 32);
  cudaMemcpy(numbers, out, sizeof numbers, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (float number : numbers) wrong += number != 32.0f;
  cudaFree(in);
  cudaFree(out);
  return wrong ? 1 : 0;
}
"""
STORE = "out[threadIdx.x] = sum;"
UNSET = {
    "a sum": f"float sum; for (int i = 0; i < n; i++) sum += in[i]; {STORE}",
    "an array": "float sums[4], sum = 0; for (int i = 0; i < n; i++) sums[i % 4] += in[i];"
    f" for (int i = 0; i < 4; i++) sum += sums[i]; {STORE}",
    "a member": "struct { float sum; int n; } s; for (int i = 0; i < n; i++) s.sum += in[i];"
    " out[threadIdx.x] = s.sum;",
    "a counter": "int count; for (int i = 0; i < n; i++) count += in[i] > 0;"
    f" float sum = count; {STORE}",
    "in a loop": "float all = 0; for (int k = 0; k < 2; k++) { float sum; for (int i = 0;"
    " i < n / 2; i++) sum += in[i]; all += sum; } out[threadIdx.x] = all;",
    "a register": 'unsigned sum; asm volatile("{ .reg .u32 t; add.u32 %0, t, 32; }" : "=r"(sum));'
    f" {STORE}",
    "an output": 'unsigned sum; asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 32;\\n\\t"'
    f' "@p mov.u32 %0, 32; add.u32 %0, %0, 32; }}" : "=r"(sum) : "r"(n)); {STORE}',
}
SET = {
    "later": f"float sum; sum = 0; for (int i = 0; i < n; i++) sum += in[i]; {STORE}",
    "in branches": "float sum; if (n > 3) sum = 0; else sum = 1;"
    f" for (int i = 0; i < n; i++) sum += in[i]; {STORE}",
    "an array": "float sums[4], sum = 0; for (int i = 0; i < 4; i++) sums[i] = 0;"
    f" for (int i = 0; i < n; i++) sums[i % 4] += in[i]; for (float s : sums) sum += s; {STORE}",
    "a register": 'unsigned sum; asm volatile("{ .reg .u32 t; mov.u32 t, 0; add.u32 %0, t, 32; }"'
    f' : "=r"(sum)); {STORE}',
    "by address": f"float sum; *&sum = 0; for (int i = 0; i < n; i++) sum += in[i]; {STORE}",
}


def ends_well(folder: Path, statements: str) -> bool:
    found = kinds_of(check_program(folder, PROGRAM.replace("STATEMENTS", statements)))
    assert found <= {"exit_code"}
    return not found


@pytest.mark.parametrize("name", UNSET)
def test_what_is_used_before_it_is_set_is_not_zero(tmp_path: Path, name: str) -> None:
    assert not ends_well(tmp_path, UNSET[name])


@pytest.mark.parametrize("name", SET)
def test_what_is_set_in_time_is_what_it_was_set_to(tmp_path: Path, name: str) -> None:
    assert ends_well(tmp_path, SET[name])
