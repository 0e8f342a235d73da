"""Streams of the C++ library: what they read and write for a program is an access of its own."""

from pathlib import Path

import pytest

from warploom.core.records import BuildSpec
from warploom.emulator import RunOptions, build, run
from warploom.evaluate.check import check
from warploom.evaluate.plan import Effort

_HEAD = """
#include <cuda_runtime.h>
#include <mpi.h>
#include <fstream>
#include <sstream>
#include <iostream>
static char* runtime() { return reinterpret_cast<char*>(&cudaGetDeviceCount); }
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
EMULATOR = [
    'std::istringstream in("AAAABBBB"); in.read(runtime(), 4);',
    'std::istringstream in("AAAABBBB"); in.getline(runtime(), 4);',
    "std::ostringstream text; text.write(runtime(), 4);",
    "std::ostringstream text; text.rdbuf()->sputn(runtime(), 4);",
    "std::ostringstream text; text << runtime();",
]
RACES = [
    "fill<<<1, 1>>>(pinned); std::ostringstream text; text.write(pinned, 8);",
    'fill<<<1, 1>>>(pinned); std::ofstream file("out.bin"); file.write(pinned, 8);',
    'fill<<<1, 1>>>(pinned); std::filebuf file; file.open("out.bin", std::ios::out);'
    " file.sputn(pinned, 8);",
    'look<<<1, 1>>>(pinned, out); std::istringstream text("12345678"); text.read(pinned, 8);',
    "fill<<<1, 1>>>(pinned); std::cout << pinned;",
]


def _kinds(folder: Path, statement: str) -> set[str]:
    program = folder / "calls.cu"
    program.write_text(f"{_HEAD}  {statement}{_TAIL}")
    report = check(program, ranks=1, effort=Effort.QUICK)
    return {found.finding.kind for found in report.findings}


@pytest.mark.parametrize("statement", EMULATOR)
def test_nothing_of_the_emulator_is_in_reach(tmp_path: Path, statement: str) -> None:
    assert "emulator_access" in _kinds(tmp_path, statement)


@pytest.mark.parametrize("statement", RACES)
def test_characters_are_looked_at(tmp_path: Path, statement: str) -> None:
    assert {"data_race", "readback_before_sync"} & _kinds(tmp_path, statement)


def test_ordinary_streams_do_what_the_library_does() -> None:
    program = Path(__file__).with_name("programs") / "library_streams.cu"
    outcome = run(build(BuildSpec(program)), RunOptions(ranks=1))
    assert outcome.findings == () and outcome.state == "finished"
    assert "bad 0" in outcome.stdout, outcome.stderr
