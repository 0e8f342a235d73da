"""What CUDA's headers and functions answer, the emulator's do too: a program could ask.

The same static assertions compile here and, where nvcc is, with the real headers.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from warploom.core.records import BuildSpec, Limits, RunSpec, Timing, Verdict
from warploom.emulator import RunOptions, build, run

_ASKED = """
#include <cuda_runtime.h>
#include <cstdio>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <type_traits>
#include <utility>
#define ASKED(name, call)                                                       \\
  template <class T, class = void> struct name##Type : std::false_type {};      \\
  template <class T>                                                            \\
  struct name##Type<T, std::void_t<decltype(call)>> : std::true_type {};        \\
  template <class T> constexpr bool name = name##Type<T>::value;
ASKED(Shuffled, __shfl_sync(0u, std::declval<T>(), 0))
ASKED(Matched, __match_any_sync(0u, std::declval<T>()))
ASKED(Masked, atomicAnd(std::declval<T*>(), std::declval<T>()))
__device__ void asked() {
  static_assert(Shuffled<int>);
  static_assert(Shuffled<unsigned long long>);
  static_assert(Shuffled<double>);
  static_assert(Shuffled<short>);
  static_assert(Shuffled<bool>);
  static_assert(Shuffled<__half>);
  static_assert(Shuffled<__half2>);
  static_assert(Shuffled<__nv_bfloat16>);
  static_assert(!Shuffled<float4>);
  static_assert(!Shuffled<float2>);
  static_assert(!Shuffled<uchar4>);
  static_assert(!Shuffled<void*>);
  static_assert(Matched<int>);
  static_assert(Matched<float>);
  static_assert(Matched<short>);
  static_assert(!Matched<__half>);
  static_assert(!Matched<float2>);
  static_assert(!Matched<void*>);
  static_assert(Masked<long long>);
  static_assert(!Masked<short>);
  static_assert(std::is_same_v<decltype(__shfl_sync(0u, short(1), 0)), int>);
  static_assert(std::is_same_v<decltype(__shfl_xor_sync(0u, 1L, 0)), long>);
  static_assert(std::is_same_v<decltype(__match_any_sync(0u, 1.0f)), unsigned>);
  static_assert(std::is_same_v<decltype(rsqrt(1.0f)), float>);
  static_assert(std::is_same_v<decltype(rsqrt(1.0)), double>);
}
"""
_RUN = r"""
__constant__ int table[2];
__device__ int variable;
__device__ void need(bool good, int what, int* failed) { if (!good) atomicCAS(failed, 0, what); }
__global__ void answers(int* failed, float one) {
  __shared__ int shared;
  int local = 0;
  need(printf("moe\n") == 0, 1, failed);
  need(printf("%d of %s, %5.1f %%\n", 1, "two", 3.0) == 3, 2, failed);
  need(printf("%*d\n", 3, 7) >= 1, 3, failed);
  need(__isGlobal("text") && __isGlobal(&variable) && __isGlobal(failed), 4, failed);
  need(!__isGlobal(&shared) && !__isGlobal(&local), 5, failed);
  need(__fdividef(one, 2e38f) == 0.0f && __fdividef(one, 4.0f) == 0.25f, 6, failed);
}
int main() {
  int* failed = nullptr;
  if (cudaMalloc(&failed, sizeof(int)) || cudaMemset(failed, 0, sizeof(int))) return 10;
  answers<<<1, 1>>>(failed, 1.0f);
  int first = 0;
  if (cudaMemcpy(&first, failed, sizeof(int), cudaMemcpyDeviceToHost)) return 11;
  if (first) return first;
  const char* text = cudaGetErrorString(static_cast<cudaError_t>(12345));
  const char* own = "unrecognized error code";
  for (int i = 0; own[i]; ++i) if (text[i] != own[i]) return 12;
  return cudaFree(failed);
}
"""


def test_the_emulator_answers_as_cuda(tmp_path: Path) -> None:
    program = tmp_path / "asks.cu"
    program.write_text(_ASKED + _RUN)
    outcome = run(
        build(BuildSpec(program)),
        RunOptions(run=RunSpec(0, Timing.EAGER), ranks=1, limits=Limits(seconds=30)),
    )
    assert outcome.verdict is Verdict.OK, (outcome.exit_codes, outcome.findings)


@pytest.mark.nvcc
def test_the_real_headers_answer_so(tmp_path: Path, real_headers: Callable[..., None]) -> None:
    program = tmp_path / "real.cu"
    program.write_text(_ASKED + "int main() {}\n")
    real_headers(program, "2.32.3")
