"""A program with pinned and device memory, kernels that use it, and a statement of a test."""

from pathlib import Path

from warploom.evaluation.check import CheckReport, check
from warploom.evaluation.runs.plan import Effort

_HEAD = """
#include <cuda_runtime.h>
#include <mpi.h>
#include <sys/mman.h>
#include <fstream>
#include <iostream>
#include <sstream>
static char* runtime() { return reinterpret_cast<char*>(&cudaGetDeviceCount); }
static char* page() {
  return (char*)mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
__global__ void fill(char* p) { p[4] = 'x'; }
__global__ void look(const char* p, int* out) { *out = p[4]; }
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  char* pinned = nullptr;
  int* out = nullptr;
  void* device = nullptr;
  cudaMallocHost(&pinned, 64);
  cudaMallocHost(&out, sizeof *out);
  cudaMalloc(&device, 64);
  for (int i = 0; i < 64; i++) pinned[i] = i < 60 ? 'a' : 0;
"""
_TAIL = """
  cudaDeviceSynchronize();
  std::cout << *out;
  MPI_Finalize();
}
"""


def kinds_found(folder: Path, statement: str) -> set[str]:
    """Return the kinds of findings in a check of the program with this statement."""
    return kinds_of(check_program(folder, f"{_HEAD}  {statement}{_TAIL}"))


def check_program(folder: Path, text: str) -> CheckReport:
    """Check a program of this text."""
    program = folder / "calls.cu"
    program.write_text(text)
    return check(program, ranks=1, effort=Effort.QUICK)


def kinds_of(report: CheckReport) -> set[str]:
    """Return the kinds of its findings, less those that are about the program's text."""
    return {f.finding.kind for f in report.findings} - {"no_communication", "unchecked_errors"}
