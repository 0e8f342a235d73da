"""Device variables of several files: each file's own, as with nvcc, unless one is `extern`."""

from pathlib import Path

from warploom.core.records import BuildSpec
from warploom.emulator import RunOptions, build, run
from warploom.emulator.rewriting.device_variables import names_shared_by_files

FILE = r"""
#include <cuda_runtime.h>
#include "common.h"
__constant__ int factor = FACTOR;
__global__ static void use(int* p) { p[0] = factor; p[1] = atomicAdd(&common, 1); }
void NAME(int* out) {
  int* p;
  cudaMalloc(&p, 8);
  use<<<1, 1>>>(p);
  cudaMemcpy(out, p, 8, cudaMemcpyDeviceToHost);
  cudaFree(p);
}
"""
PROGRAM = r"""
void one(int*); void two(int*);
int main() {
  int a[2], b[2];
  one(a), two(b);
  return a[0] == 3 && b[0] == 5 && a[1] == 7 && b[1] == 8 ? 0 : 1;
}
"""


def test_files_have_variables_of_their_own_unless_one_is_extern(tmp_path: Path) -> None:
    (tmp_path / "common.h").write_text("extern __device__ int common;\n")
    one = FILE.replace("FACTOR", "3").replace("NAME", "one")
    two = FILE.replace("FACTOR", "5").replace("NAME", "two") + "__device__ int common = 7;\n"
    for name, text in (("one.cu", one), ("two.cu", two), ("program.cu", PROGRAM)):
        (tmp_path / name).write_text(text)
    sources = (tmp_path / "one.cu", tmp_path / "two.cu")
    program = build(BuildSpec(tmp_path / "program.cu", sources=sources))
    assert run(program, RunOptions(ranks=1)).exit_codes == {0: 0}


def test_finds_what_files_share() -> None:
    texts = (b"extern __constant__ float a[4], b;", b"__device__ int c; extern int d;")
    names = names_shared_by_files(texts)
    assert {b"a", b"b"} <= names
    assert not names & {b"c", b"d"}


SESSION = r"""#pragma once
template <class T>
struct Session {
  T value;
  __device__ Session(T start);
  __device__ ~Session();
};
// Out of line and too long to be inlined: one body under the two names of a constructor.
template <class T>
__attribute__((noinline)) __device__ Session<T>::Session(T start) : value(start) {
  for (int i = 0; i < 3; i++) value += i;
}
template <class T>
__attribute__((noinline)) __device__ Session<T>::~Session() { value = 0; }
static __global__ void fill(int* out, int start) {
  Session<int> session(start);
  out[threadIdx.x] = session.value;
}
"""


def test_files_share_constructors_of_a_header(tmp_path: Path) -> None:
    (tmp_path / "session.h").write_text(SESSION)
    (tmp_path / "one.cu").write_text(
        '#include "session.h"\nvoid one(int* out) { fill<<<1, 2>>>(out, 5); }\n'
    )
    (tmp_path / "program.cu").write_text(
        '#include "session.h"\nvoid one(int*);\nint main() {\n  int *x, h[4];\n'
        "  cudaMalloc(&x, 16);\n  one(x);\n  fill<<<1, 2>>>(x + 2, 7);\n"
        "  cudaMemcpy(h, x, 16, cudaMemcpyDeviceToHost);\n"
        "  return h[0] == 8 && h[1] == 8 && h[2] == 10 && h[3] == 10 ? 0 : 1;\n}\n"
    )
    program = build(BuildSpec(tmp_path / "program.cu", sources=(tmp_path / "one.cu",)))
    assert run(program, RunOptions(ranks=1)).exit_codes == {0: 0}
