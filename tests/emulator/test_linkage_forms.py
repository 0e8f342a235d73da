"""What nvcc and makefiles take: C++ in `.c`, storage behind a linkage, late line splices."""

from pathlib import Path

import pytest

from warploom.core.errors import SourceError
from warploom.core.records import BuildSpec, Verdict
from warploom.emulator import RunOptions, build, run

KERNEL = """
#include <cuda_runtime.h>
__global__ void twice(int* p) { *p *= 2; }
LINKAGE void launch_twice(int* host) {
  int* d;
  cudaMalloc(&d, sizeof *d);
  cudaMemcpy(d, host, sizeof *d, cudaMemcpyHostToDevice);
  twice<<<1, 1>>>(d);
  cudaMemcpy(host, d, sizeof *d, cudaMemcpyDeviceToHost);
  cudaFree(d);
}
"""
CPP = 'extern "C"'
MAINS = {
    "headers": ("#include <iostream>", CPP, "std::cout << 3;"),
    "words": ("#include <stdio.h>", CPP, "bool right = true; const int& h = host; right = h == 3;"),
    "what mpi.h brings": ("#include <mpi.h>", CPP, 'bool same = !strcmp("a", "a"); host *= same;'),
    "names, which the linker alone misses": ("", "", ";"),
    "C": ("#include <cuda.h>", None, "int *wide = malloc(4); int new = 3; free(wide); host = new;"),
}
MAIN = """
{include}
#include <stdlib.h>
{linkage} void launch_twice(int* host);
int main(void) {{
  int host = 3;
  {{ {body} }}
  launch_twice(&host);
  return host == 6 ? 0 : 1;
}}
"""
STORAGE = """
#include <cuda_runtime.h>
#include <utility>
#define EXTERN_C extern "C"
extern "C" static inline void exchange(int** a, int** b) { std::swap(*a, *b); }
EXTERN_C static int two() { return 2; }
extern "C" __device__ __attribute__((noinline)) static int three(int x) { return x + 3; }
extern "C" extern int four;
extern "C" int four = 4;
extern "C" static int five = 5;
extern "C++" inline static int six() { return 6; }
EXTERN_C int seven() { return 7; }
extern "C" { static int eight() { return 8; } }
__global__ void one(int* p) { *p = three(1); }
int main() {
  int *a, *b, h = 0;
  cudaMalloc(&a, sizeof h);
  cudaMalloc(&b, sizeof h);
  one<<<1, 1>>>(a);
  exchange(&a, &b);
  cudaMemcpy(&h, b, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(a);
  cudaFree(b);
  return h + two() + four + five + six() + seven() + eight() == 36 ? 0 : 1;
}
"""


@pytest.mark.parametrize("case", MAINS)
def test_a_file_named_c_may_be_cpp(tmp_path: Path, case: str) -> None:
    include, linkage, body = MAINS[case]
    main, kernel = tmp_path / "main.c", tmp_path / "kernel.cu"
    main.write_text(MAIN.format(include=include, linkage=linkage or "", body=body))
    kernel.write_text(KERNEL.replace("LINKAGE", CPP if linkage is None else linkage))
    outcome = run(build(BuildSpec(main, sources=(kernel,))), RunOptions(ranks=1))
    assert outcome.verdict is Verdict.OK, (outcome.findings, outcome.stderr)


def test_the_error_is_that_of_the_language_that_went_farther(tmp_path: Path) -> None:
    main, kernel = tmp_path / "main.c", tmp_path / "kernel.cu"
    main.write_text(MAIN.format(include="#include <iostream>", linkage=CPP, body="undeclared();"))
    kernel.write_text(KERNEL.replace("LINKAGE", CPP))
    with pytest.raises(SourceError, match="undeclared"):
        build(BuildSpec(main, sources=(kernel,)))


def test_foreign_assembly_in_c_is_told_as_such(tmp_path: Path) -> None:
    main, lower = tmp_path / "main.cu", tmp_path / "lower.c"
    main.write_text('extern "C" int lower(int);\nint main() { return lower(1); }\n')
    lower.write_text(
        'int lower(int x) {\n  __asm__ volatile("dmb ish");\n  int class = x;\n  return class;\n}\n'
    )
    with pytest.raises(SourceError, match="inline assembly") as caught:
        build(BuildSpec(main, sources=(lower,)))
    assert (caught.value.file, caught.value.line) == (str(lower), 2)


def test_a_header_of_its_own_is_read_first(tmp_path: Path) -> None:
    main, kernel = tmp_path / "main.c", tmp_path / "kernel.cu"
    (tmp_path / "own.h").write_text('extern "C" void launch_twice(int* host);\n')
    main.write_text(MAIN.format(include='#include "own.h"', linkage=CPP, body="undeclared();"))
    kernel.write_text(KERNEL.replace("LINKAGE", CPP))
    with pytest.raises(SourceError, match="undeclared"):
        build(BuildSpec(main, sources=(kernel,)))


def test_storage_classes_behind_a_linkage_specification(tmp_path: Path) -> None:
    program = tmp_path / "linkage.cu"
    program.write_text(STORAGE)
    outcome = run(build(BuildSpec(program)), RunOptions(ranks=1))
    assert outcome.verdict is Verdict.OK, outcome.findings


def test_blanks_may_follow_the_backslash_of_a_continued_line(tmp_path: Path) -> None:
    path = tmp_path / "spliced.cu"
    text = LATE_SPLICES.replace("SPLICE", "\\ \t ")
    path.write_text(text)
    outcome = run(build(BuildSpec(path)), RunOptions(ranks=1))
    assert outcome.verdict is Verdict.OK, outcome.findings


LATE_SPLICES = """
#include <cuda_runtime.h>
#define CHECK(call) do { SPLICE
    if ((call) != cudaSuccess) { SPLICE
      return 3; SPLICE
    } SPLICE
  } while (0)
__global__ void one(int* p) { *p = 1; }
int main() {
  int *p, got = 0;
  CHECK(cudaMalloc(&p, sizeof *p));
  one<<<1, 1>>>(p);
  CHECK(cudaMemcpy(&got, p, sizeof got, cudaMemcpyDeviceToHost));
  return got != 1;
}
"""
