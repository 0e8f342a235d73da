"""A crash is told with the user's line, also where a library crashed or the stack is spoiled."""

from pathlib import Path

import pytest

from warploom.core.records import Verdict
from warploom.evaluation.check import check
from warploom.evaluation.runs.plan import Effort

IN_A_LIBRARY = """
#include <cuda_runtime.h>
#include <cstdio>
__attribute__((noinline)) void save(FILE* out, int sum) {
  int twice = 2 * sum;
  fprintf(out, "%d\\n", twice);  // HERE
  fclose(out);
}
int main() {
  cudaFree(nullptr);
  save(fopen("results/sum.txt", "w"), 1);
  return 0;
}
"""
IN_OUR_RUNTIME = """
#include <cuda_runtime.h>
int main() {
  int* data;
  cudaMalloc(&data, 64);
  auto* nowhere = reinterpret_cast<int*>(16);
  cudaMemcpy(nowhere, data, 64, cudaMemcpyDeviceToHost);  // HERE
  return 0;
}
"""
SPOILED = """
#include <cuda_runtime.h>
#include <cstring>
__attribute__((noinline)) void spoil(volatile int bytes) {
  char small[16];
  memset(small, 0x5a, static_cast<size_t>(bytes));  // HERE
  asm volatile("" ::"r"(small) : "memory");
}
int main() {
  cudaFree(nullptr);
  spoil(512);
  return 0;
}
"""


@pytest.mark.parametrize("text", [IN_A_LIBRARY, IN_OUR_RUNTIME])
def test_a_crash_names_the_innermost_line_of_the_program(tmp_path: Path, text: str) -> None:
    program = tmp_path / "crashes.cu"
    program.write_text(text)
    report = check(program, ranks=1, effort=Effort.QUICK)
    assert report.verdict is Verdict.FAILED
    crash = next(f.finding for f in report.findings if f.finding.kind == "crash")
    assert crash.message.startswith("segmentation fault")
    marked = [n for n, line in enumerate(text.split("\n"), 1) if line.endswith("// HERE")]
    assert not marked or crash.line == marked[0]


def test_a_store_over_a_return_address_is_found_before_it_is_made(tmp_path: Path) -> None:
    program = tmp_path / "spoils.cu"
    program.write_text(SPOILED)
    report = check(program, ranks=1, effort=Effort.QUICK)
    assert report.verdict is Verdict.FAILED
    (crash,) = (f.finding for f in report.findings if f.finding.kind == "crash")
    assert crash.message.startswith("a store overwrites where a function of the program returns")
    assert SPOILED.split("\n")[(crash.line or 0) - 1].endswith("// HERE")
