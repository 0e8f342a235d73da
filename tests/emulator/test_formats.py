"""Formats lead the C library to what is looked at, and to nothing else."""

from pathlib import Path

import pytest

from warploom.core.records import BuildSpec, Verdict
from warploom.emulator import RunOptions, build, run
from warploom.evaluation.check import check
from warploom.evaluation.runs.plan import Effort

PROGRAMS = Path(__file__).with_name("programs")
_HEAD = """
#include <cuda_runtime.h>
#include <mpi.h>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cwchar>
#include <iostream>
char buffer[64];  // for all to see: what is stored there is not optimized away
static void* runtime() { return reinterpret_cast<void*>(&cudaGetDeviceCount); }
static int compare(const void* a, const void* b) { return memcmp(a, b, 16); }
// A list of arguments as x86-64 has it, of the program's own making.
struct List { unsigned general, floating; void* stack; void* saved; };
static void print(List list) {
  va_list args;
  memcpy((void*)args, &list, sizeof list);
  vsnprintf(buffer, 64, "%ld", args);
}
__global__ void fill(char* p) { p[4] = 'x'; }
__global__ void look(const char* p, int* out) { *out = p[4]; }
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  char* pinned = nullptr;
  int* out = nullptr;
  cudaMallocHost(&pinned, 4096);
  cudaMallocHost(&out, sizeof *out);
  memset(pinned, 0, 4096);
  memset(pinned, 'a', 100);
  char* target = (char*)runtime();
  (void)target;
"""
_TAIL = """
  cudaDeviceSynchronize();
  std::cout << buffer[0] << *out;
  MPI_Finalize();
}
"""
NUMBERED = [
    'snprintf(buffer, 8, "%1$n", (int*)target);',
    'snprintf(buffer, 64, "%2$s%1$n", (int*)target, "text");',
    'snprintf(buffer, 64, "%1$.8s", target);',
    'snprintf(buffer, 64, "%1$*2$d", 1, 2);',
    'sscanf("4660 77", "%2$d %1$d", (int*)target, (int*)target);',
]
EMULATOR = [
    'snprintf(buffer, 64, "%n", (int*)target);',
    'snprintf(buffer, 64, "%ls", (wchar_t*)target);',
    'sscanf("text", "%s", target);',
    'sscanf("text", "%[a-z]", target);',
    "print({48, 304, target, nullptr});",
    "print({0, 0, nullptr, target});",
    'va_list args; memcpy((void*)args, &target, 8); vprintf("%d", *(va_list*)target);',
    # What the format becomes by its own output is not what was looked at.
    'strcpy(buffer, "%s"); sprintf(buffer, buffer, "%n%n"); snprintf(buffer, 64, buffer, target);',
]
RACES = [
    'fill<<<1, 1>>>(pinned); snprintf(buffer, 64, "%.8s", pinned);',
    'fill<<<1, 1>>>(pinned); snprintf(buffer, 64, "%.3ls", (wchar_t*)pinned);',
    "fill<<<1, 1>>>(pinned); print({48, 304, pinned, nullptr});",
    'look<<<1, 1>>>(pinned, out); sscanf("aaaaxxxx", "%s", pinned);',
    'look<<<1, 1>>>(pinned, out); sscanf("aaaaxxxx", "%[ax]", pinned);',
]


def _kinds(folder: Path, statement: str) -> tuple[Verdict, set[str]]:
    program = folder / "formats.cu"
    program.write_text(f"{_HEAD}  {statement}{_TAIL}")
    report = check(program, ranks=1, effort=Effort.QUICK)
    return report.verdict, {found.finding.kind for found in report.findings}


@pytest.mark.parametrize("statement", NUMBERED)
def test_numbered_arguments_are_refused(tmp_path: Path, statement: str) -> None:
    assert _kinds(tmp_path, statement)[0] is Verdict.UNSUPPORTED


@pytest.mark.parametrize("statement", EMULATOR)
def test_nothing_of_the_emulator_is_in_reach(tmp_path: Path, statement: str) -> None:
    assert "emulator_access" in _kinds(tmp_path, statement)[1]


@pytest.mark.parametrize("statement", RACES)
def test_all_that_is_touched_is_looked_at(tmp_path: Path, statement: str) -> None:
    assert {"data_race", "readback_before_sync"} & _kinds(tmp_path, statement)[1]


@pytest.mark.parametrize("call", ["qsort(pinned, N, 16, compare)", "fwrite(pinned, N, 16, stderr)"])
def test_a_size_does_not_wrap_around(tmp_path: Path, call: str) -> None:
    statement = call.replace("N", "(size_t(1) << 60) + 4") + ";"
    assert "out_of_bounds" in _kinds(tmp_path, statement)[1]


def test_a_stream_of_all_ranks_fills_no_memory_of_one(tmp_path: Path) -> None:
    program = tmp_path / "buffer.cu"
    program.write_text(f"""{_HEAD}
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  static char own[4096];
  if (rank == 0) setvbuf(stdout, own, _IOFBF, sizeof own);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) printf("secret");
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) fprintf(stderr, "seen: '%s'", own);{_TAIL}""")
    outcome = run(build(BuildSpec(program)), RunOptions(ranks=2))
    assert outcome.findings == () and "seen: ''" in outcome.stderr


def test_ordinary_calls_do_what_the_library_does() -> None:
    outcome = run(build(BuildSpec(PROGRAMS / "formats.cu")), RunOptions(ranks=1))
    assert outcome.findings == () and outcome.state == "finished"
    assert "bad 0" in outcome.stdout, outcome.stderr
