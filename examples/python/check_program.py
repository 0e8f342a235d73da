"""Checks a program with a planted race and prints what was found."""

import tempfile
from pathlib import Path

import warploom

PROGRAM = """
#include <cuda_runtime.h>
#include <cstdio>

__global__ void add(int* sum) { *sum += 1; }  // every thread adds without an atomic

int main() {
  int* sum;
  int result = 0;
  cudaMalloc(&sum, sizeof(int));
  cudaMemset(sum, 0, sizeof(int));
  add<<<1, 64>>>(sum);
  cudaMemcpy(&result, sum, sizeof(int), cudaMemcpyDeviceToHost);
  printf("%d\\n", result);
  cudaFree(sum);
}
"""


def main() -> None:
    """Check the program at the least effort: one run."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "sum.cu"
        program.write_text(PROGRAM)
        report = warploom.check(program, ranks=1)
    print(f"verdict: {report.verdict}, {len(report.runs)} runs")
    for item in report.findings:
        finding = item.finding
        print(f"line {finding.line}: {finding.kind}: {finding.message}")
        if finding.hint:
            print(f"  cure: {finding.hint}")


if __name__ == "__main__":
    main()
