"""Lanes, warps and kernels that meet, wait for each other or read beside each other."""

from pathlib import Path

import pytest

from warploom.core.records import Severity
from warploom.evaluation.check import check
from warploom.evaluation.runs.plan import Effort

PROGRAM = """\
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_runtime.h>
#include <cstdio>
namespace cg = cooperative_groups;
template <bool yes, class T> struct Given { using type = T; };
__constant__ float table[32];
__device__ volatile int flag;
__device__ float data;
DECLARED
__global__ void k(float* out, float* constants PARAMETERS) {
  const int t = threadIdx.x, lane = t % 32;
  float v = t;
  BODY
  out[t] = v;
}
int main() {
  float *out, *constants, got[256];
  cudaMalloc(&out, sizeof got);
  cudaGetSymbolAddress((void**)&constants, table);
  LAUNCH
  cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost);
  cudaFree(out);
  printf("%g\\n", got[0]);
}
"""
ALL = "0xffffffffu"
ONE = "k<<<1, 128>>>(out, constants);"
SHARED = "__shared__ float s[256]; s[t] = v; "
# Name: body, kind of finding ("" for right programs), launch, and what else is declared.
CASES: dict[str, tuple[str, ...]] = {
    "reductions of one kind": (f"v += __reduce_max_sync({ALL}, t);", ""),
    "max meets min": (
        f"v += lane < 16 ? __reduce_max_sync({ALL}, t)"
        f" : __reduce_min_sync({ALL}, t);", "warp_mask"),
    "match meets or": (
        f"v += lane < 16 ? __match_any_sync({ALL}, t) : __reduce_or_sync({ALL}, 1u);", "warp_mask"),
    "double meets float": (
        f"if (lane < 16) v += __shfl_xor_sync({ALL}, double(v), 1);"
        f" else v += __shfl_xor_sync({ALL}, v, 1);", "warp_mask"),
    "other widths": (f"v += __shfl_xor_sync({ALL}, v, 1, lane < 16 ? 16 : 32);", ""),
    "width 24": (f"v += __shfl_sync({ALL}, v, 1, 24);", "warp_mask"),
    "plus meets greater": (
        "auto w = cg::coalesced_threads(); v += lane < 16 ? cg::reduce(w, v, cg::plus<float>())"
        " : cg::reduce(w, v, cg::greater<float>());", "warp_mask"),
    "halves of a warp": (
        SHARED + "__syncwarp(lane < 16 ? 0xffffu : 0xffff0000u); v = s[t ^ 1];", ""),
    "the other half": (
        SHARED + "__syncwarp(lane < 16 ? 0xffffu : 0xffff0000u); v = s[t ^ 16];",
        "shared_memory_race"),
    "warps from two places": (
        'if (t < 64) asm volatile("bar.sync 1, 128;" ::: "memory");'
        ' else asm volatile("bar.sync 1, 128;" ::: "memory");', ""),
    "barrier 0 of a part": (
        'if (t < 64) asm volatile("bar.sync 0, 64;" ::: "memory"); __syncthreads();',
        "divergent_barrier"),
    "barrier 16": (
        'asm volatile("barrier.sync %0, 128;" ::"r"(16 + (lane >> 5)) : "memory");',
        "divergent_barrier"),
    "within a part": (
        SHARED + 'if (t < 64) { asm volatile("bar.sync 1, 64;" ::: "memory");'
        " v = s[t ^ 63]; }", ""),
    "from outside of a part": (
        SHARED + 'if (t < 64) asm volatile("bar.sync 1, 64;" ::: "memory");'
        " else v = s[t - 64];", "shared_memory_race"),
    "constants of another kernel": (
        "v = table[lane];", "", "set<<<1, 32>>>(constants);" + ONE,
        "__global__ void set(float* to) { to[threadIdx.x] = 1; }"),
    "own constants": (
        "if (t == 0) constants[1] = 2; __syncthreads(); v = table[lane];", "data_race"),
    "a conditional reference": (
        "v = by;", "device_dereference_host", "k<<<1, 128>>>(out, constants, 2.0f);", "",
        ", typename Given<(sizeof(int) > 3 && true), const float&>::type by"),
    "a conditional value": (
        "v = by;", "", "k<<<1, 128>>>(out, constants, 2.0f);", "",
        ", typename Given<(sizeof(int) > 3 && true), float>::type by"),
    "data and flag, read by an update": (
        "if (blockIdx.x == 0) { *(volatile float*)&data = round; flag = round; return; }"
        " else { while (flag != round) { } v = atomicAdd(&data, 0.0f); }", "stale_read",
        "for (int i = 1; i < 4; i++) k<<<2, 1>>>(out, constants, i);", "", ", int round"),
    "the same with fences": (
        "if (blockIdx.x == 0) { *(volatile float*)&data = round; __threadfence(); flag = round;"
        " return; }"
        " else { while (flag != round) { } __threadfence(); v = atomicAdd(&data, 0.0f); }", "",
        "for (int i = 1; i < 4; i++) k<<<2, 1>>>(out, constants, i);", "", ", int round"),
    "static memory in some blocks": (
        "if (blockIdx.x) { __shared__ float a[6000]; a[t] = v; v = a[t]; }"
        " else { __shared__ float b[7000]; b[t] = v; v = b[t]; }", "launch_error",
        "k<<<2, 128>>>(out, constants);"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_is_told(tmp_path: Path, name: str):
    body, kind, launch, declared, parameters = (
        *CASES[name],
        *(ONE, "", "")[len(CASES[name]) - 2 :],
    )
    words = {"BODY": body, "LAUNCH": launch, "DECLARED": declared, "PARAMETERS": parameters}
    text = PROGRAM
    for word, value in words.items():
        text = text.replace(word, value)
    (tmp_path / "a.cu").write_text(text)
    report = check(tmp_path / "a.cu", ranks=1, effort=Effort.QUICK)
    errors = {
        item.finding.kind for item in report.findings if item.finding.severity is Severity.ERROR
    }
    if kind:
        assert kind in errors
    else:
        assert not errors
