"""The library that stands before the CUDA runtime notes what a program reads back and times.

A small runtime of our own takes CUDA's place, so that this runs without a GPU.
"""

import os
import subprocess
from pathlib import Path

import pytest

from warploom.core.records import BuildSpec
from warploom.hardware import HardwareBuild
from warploom.hardware.run import build_shim, read_log
from warploom.toolchain.compilers import find_compiler

RUNTIME = r"""
#include <cstring>
extern "C" {
int cudaMemcpy(void* to, const void* from, unsigned long bytes, int) {
  memcpy(to, from, bytes);
  return 0;
}
static void (*late)(void*);
static void* argument;
static void* copy_to;
static const void* copy_from;
static unsigned long copy_bytes;
int cudaMemcpyAsync(void* to, const void* from, unsigned long bytes, int, void*) {
  copy_to = to, copy_from = from, copy_bytes = bytes;
  return 0;
}
int cudaStreamIsCapturing(void* stream, int* status) { return *status = stream != nullptr, 0; }
int cudaMemcpy2D(void* to, unsigned long to_pitch, const void* from, unsigned long from_pitch,
                 unsigned long width, unsigned long height, int) {
  for (unsigned long row = 0; row < height; ++row)
    memcpy((char*)to + row * to_pitch, (const char*)from + row * from_pitch, width);
  return 0;
}
int cudaLaunchHostFunc(void*, void (*function)(void*), void* data) {
  late = function, argument = data;
  return 0;
}
int cudaStreamSynchronize(void*) {  // only now does the copy happen, then what waits for it
  memcpy(copy_to, copy_from, copy_bytes);
  if (late) late(argument);
  return 0;
}
int cudaGetDevice(int* device) { return *device = 1, 0; }
int cudaEventElapsedTime(float* ms, void*, void*) { return *ms = 2.5f, 0; }
double MPI_Wtime() { static double now = 1; return now *= 2; }
}
"""
PROGRAM = r"""
typedef unsigned long N; extern "C" {
int cudaMemcpy(void*, const void*, unsigned long, int);
int cudaMemcpyAsync(void*, const void*, unsigned long, int, void*);
int cudaMemcpy2D(void*, N, const void*, N, N, N, int);
int cudaStreamSynchronize(void*);
int cudaEventElapsedTime(float*, void*, void*);
double MPI_Wtime();
}
int main() {
  int device[2] = {7, 8}, host[2] = {0, 0};
  cudaMemcpy(device, host, 0, 1);
  cudaMemcpyAsync(host, device, 8, 2, nullptr);  // line 12
  int early = host[0];
  cudaStreamSynchronize(nullptr);
  cudaMemcpy(host + 1, device, 4, 2);  // line 15
  float ms;
  cudaEventElapsedTime(&ms, nullptr, nullptr);  // line 17
  MPI_Wtime();
  MPI_Wtime();
  cudaMemcpyAsync(host, device, 8, 2, device);  // into a graph that is being captured
  cudaMemcpy2D(host, 4, device, 4, 2, 2, 2);  // line 21
  return early;
}
"""


@pytest.fixture
def build(tmp_path: Path) -> HardwareBuild:
    """Build a program against our runtime."""
    compiler = [*find_compiler().command, "-std=c++20", "-g", "-O1"]
    (tmp_path / "runtime.cpp").write_text(RUNTIME)
    (tmp_path / "main.cpp").write_text(PROGRAM.lstrip("\n"))
    runtime = tmp_path / "libfake.so"
    subprocess.run(
        [*compiler, "-shared", "-fPIC", str(tmp_path / "runtime.cpp"), "-o", str(runtime)],
        check=True, timeout=120,
    )  # fmt: skip
    program = tmp_path / "program"
    subprocess.run(
        [*compiler, str(tmp_path / "main.cpp"), str(runtime), "-Wl,-rpath," + str(tmp_path), "-o",
         str(program)],
        check=True, timeout=120,
    )  # fmt: skip
    return HardwareBuild(program, BuildSpec(tmp_path / "main.cpp"), "sm_90", 0.0, False)


@pytest.mark.parametrize(("variable", "rank"), [("OMPI_COMM_WORLD_RANK", 3), ("", 1)])
def test_copies_and_times_are_noted_with_rank_line_and_bytes(
    build: HardwareBuild, tmp_path: Path, variable: str, rank: int
) -> None:
    folder = tmp_path / "log"
    folder.mkdir()
    # With no rank set, one process drives all devices: the copy is the current device's.
    where = {variable: str(rank)} if variable else {"WARPLOOM_ONE_PROCESS": "1"}
    done = subprocess.run(
        [str(build.program)], check=False, timeout=60,
        env={"PATH": os.defpath, "LD_PRELOAD": str(build_shim()),
             "WARPLOOM_READBACKS": str(folder), **where},
    )  # fmt: skip
    assert done.returncode == 0  # the asynchronous copy had not happened when it was queued
    readbacks, intervals = read_log(folder, build)
    assert [(r.rank, r.line, r.data) for r in readbacks] == [
        (rank, 12, b"\x07\0\0\0\x08\0\0\0"),
        (rank, 15, b"\x07\0\0\0"),
        (rank, 21, b"\x07\0"),
        (rank, 21, b"\x08\0"),
    ]
    assert [(i.rank, i.milliseconds) for i in intervals] == [(rank, 2.5), (rank, 2000.0)]
    assert intervals[0].line == 17
