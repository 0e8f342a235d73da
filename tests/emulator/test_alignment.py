"""Device code at addresses that are no multiple of what a type promises: a GPU traps there."""

from pathlib import Path

import pytest

from warploom.evaluation.check import check
from warploom.evaluation.runs.plan import Effort

HEAD = """
#include <cuda_runtime.h>
#include <cstdio>
struct alignas(16) Pack { float v[4]; };
struct __attribute__((packed)) Odd { char tag; int value; };
"""
MAIN = """
int main() {
  float host[64] = {}, *in, *out;
  if (cudaMalloc(&in, sizeof host) || cudaMalloc(&out, sizeof host)) return 1;
  if (cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice)) return 1;
  if (cudaMemset(out, 0, sizeof host)) return 1;
  work<<<1, 4, 256>>>(out, in, SHIFT);
  if (cudaGetLastError()) return 1;
  if (cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost)) return 1;
  return 0;
}
"""
FORMS = {
    "float4": "float4 v = *reinterpret_cast<const float4*>(in + shift); out[0] = v.x + v.w;",
    "struct": "Pack v = *reinterpret_cast<const Pack*>(in + shift); out[0] = v.v[0] + v.v[3];",
    "element": "int4 v = reinterpret_cast<const int4*>(in + shift)[1]; out[0] = v.x + v.w;",
    "store": "*reinterpret_cast<float4*>(out + shift) = make_float4(1, 2, 3, in[0]);",
    "assigned": "*reinterpret_cast<Pack*>(out + shift) = *reinterpret_cast<const Pack*>(in);",
    "member": "out[0] = reinterpret_cast<const float4*>(in + shift)->y;",
    "reference": "const double2& v = *reinterpret_cast<const double2*>(in + shift); out[0] = v.y;",
    "shared": "extern __shared__ float pool[]; if (threadIdx.x == 0) { pool[shift] = in[0]; "
    "out[0] = reinterpret_cast<float2*>(pool + shift)->x; }",
    "scalar": "out[0] = *reinterpret_cast<const double*>(in + shift);",
}


def checked(folder: Path, body: str, shift: int) -> list[str]:
    program = folder / "aligned.cu"
    kernel = "__global__ void work(float* out, const float* in, int shift) {\n"
    wrapped = f"{kernel}  if (threadIdx.x == 0) {{ {body} }}\n}}\n"
    program.write_text(HEAD + wrapped + MAIN.replace("SHIFT", str(shift)))
    report = check(program, ranks=1, effort=Effort.QUICK)
    return [i.finding.kind for i in report.findings if i.finding.severity == "error"]


@pytest.mark.parametrize("form", FORMS)
def test_an_access_that_a_gpu_traps_at_is_found(form: str, tmp_path: Path) -> None:
    assert checked(tmp_path, FORMS[form], 1) == ["misaligned"]
    assert checked(tmp_path, FORMS[form], 4) == []


def test_what_promises_no_alignment_may_lie_anywhere(tmp_path: Path) -> None:
    body = (
        "char* raw = reinterpret_cast<char*>(out); auto odd = reinterpret_cast<Odd*>(raw + shift);"
        "odd->value = 3; odd->tag = 1; memcpy(raw + 32 + shift, in, 8);"
    )
    assert checked(tmp_path, body, 1) == []
