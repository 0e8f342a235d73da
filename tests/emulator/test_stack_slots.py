"""What a compiler keeps in the stack is the program's to change: no access goes unseen for it."""

from pathlib import Path

from warploom.core.records import Verdict
from warploom.evaluation.check import check
from warploom.evaluation.runs.plan import Effort

# `peek` has no register left for `p`. The copy for `take` is one that the compiler gives no hook.
_PROGRAM = """
#include <cuda_runtime.h>
struct Box { double a, b, c; };
__device__ __noinline__ void change(long what, long target) {
  volatile long own = 0;
  volatile long* at = &own;
  for (int i = 4; i < 60; ++i) if (at[i] == what) at[i] = target;
}
__device__ __noinline__ double take(Box b, long) { return b.a; }
__device__ __noinline__ long mix(long v) { return v * 3 + 1; }
__device__ __noinline__ double peek(const Box* p, long target) {
  long a = mix(target), b = mix(a), c = mix(b), d = mix(c), e = mix(d), f = mix(e);
  for (int n = 0; n < 3; ++n) {
    a += mix(b ^ f); b += mix(c ^ a); c += mix(d ^ b);
    d += mix(e ^ c); e += mix(f ^ d); f += mix(a ^ e);
  }
  const long before = reinterpret_cast<long>(p);
  double s = p->a + p->b + p->c;
  change(before, target);
  double r = take(*p, a ^ b ^ c ^ d ^ e ^ f);  // HERE
  return s == 12345.5 ? s : r;
}
__device__ Box safe = {77, 78, 79};
__global__ void race(double* p, double* out) {
  if (threadIdx.x == 3) p[0] = 2;
  if (threadIdx.x == 40) out[0] = peek(&safe, reinterpret_cast<long>(p));
}
int main() {
  double* p = nullptr;
  cudaMalloc(&p, 256);
  cudaMemset(p, 0, 256);
  race<<<1, 64>>>(p, p + 8);
  return cudaDeviceSynchronize() != cudaSuccess;
}
"""


def test_a_race_through_a_pointer_that_was_changed_in_its_slot_is_found(tmp_path: Path) -> None:
    program = tmp_path / "slots.cu"
    program.write_text(_PROGRAM)
    report = check(program, ranks=1, effort=Effort.QUICK)
    lines = program.read_text().split("\n")
    here = next(n for n, line in enumerate(lines, 1) if line.endswith("// HERE"))
    assert report.verdict is Verdict.DEFECT
    found = [f.finding for f in report.findings]
    assert [f.line for f in found if f.kind == "data_race"] == [here], found
