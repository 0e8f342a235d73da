"""Nothing waits in the CUDA driver while our network needs it: the calls come when all is done.

A driver and runtime of our own take CUDA's place: a call that would wait there ends the program.
"""

import os
import subprocess
from pathlib import Path

import pytest

from warploom.hardware.run import build_shim
from warploom.toolchain.compilers import find_compiler

DRIVER = r"""
#include <cstdio>
#include <cstdlib>
using N = unsigned long;
static int asked = 0, context = 0;
static bool captured = false;
static int busy() { return ++asked % 4 ? 600 : 0; }  // done at the fourth question
static int waits(const char* call) {
  if (asked == 0 || asked % 4) std::printf("%s waits in the driver\n", call), std::exit(3);
  return asked = 0;
}
extern "C" {
void capture() { captured = true; }
void expect_no_question() { if (asked) std::exit(4); }
int cuCtxGetCurrent(void** current) { return *current = &context, 0; }
int cuStreamIsCapturing(void*, int* status) { return *status = captured, 0; }
int cuStreamQuery(void* stream) { return stream ? busy() : 400; }
int cuEventCreate(void** event, unsigned) { return *event = &asked, 0; }
int cuEventRecord(void*, void* stream) { return stream != nullptr; }
int cuEventQuery(void*) { return busy(); }
int cuEventDestroy_v2(void*) { return 0; }
int cudaGetDevice(int* device) { return *device = 0; }
int cudaStreamIsCapturing(void*, int* status) { return *status = 1, 0; }
int cudaPointerGetAttributes(int* attributes, const void* p) {
  return *attributes = *static_cast<const int*>(p), 0;
}
int cudaMemcpy(void*, const void*, N, int kind) { return kind == 3 ? 0 : waits("cudaMemcpy"); }
int cudaMemcpyAsync(void* to, const void*, N, int, void*) {
  return captured || *static_cast<int*>(to) ? 0 : waits("cudaMemcpyAsync");
}
int cudaMemcpy2D(void*, N, const void*, N, N, N, int) { return waits("cudaMemcpy2D"); }
int cudaMemcpy2DAsync(void*, N, const void*, N, N, N, int, void*) {
  return waits("cudaMemcpy2DAsync");
}
int cudaMemcpyToSymbol(const void*, const void*, N, N, int) { return waits("cudaMemcpyToSymbol"); }
int cudaMemcpyFromSymbol(void*, const void*, N, N, int) { return waits("cudaMemcpyFromSymbol"); }
int cudaMemcpyFromSymbolAsync(void*, const void*, N, N, int, void*) {
  return waits("cudaMemcpyFromSymbolAsync");
}
int cudaStreamCreateWithFlags(void** stream, unsigned) { return *stream = &context, 0; }
int cudaFree(void* p) { return p ? waits("cudaFree") : 0; }
int cudaFreeHost(void*) { return waits("cudaFreeHost"); }
int cudaHostUnregister(void*) { return waits("cudaHostUnregister"); }
int cudaDeviceSetLimit(int, N) { return waits("cudaDeviceSetLimit"); }
}
"""
PROGRAM = r"""
using N = unsigned long;
extern "C" {
void capture();
void expect_no_question();
int cudaMemcpy(void*, const void*, N, int);
int cudaMemcpyAsync(void*, const void*, N, int, void*);
int cudaMemcpy2D(void*, N, const void*, N, N, N, int);
int cudaMemcpy2DAsync(void*, N, const void*, N, N, N, int, void*);
int cudaMemcpyToSymbol(const void*, const void*, N, N, int);
int cudaMemcpyFromSymbol(void*, const void*, N, N, int);
int cudaMemcpyFromSymbolAsync(void*, const void*, N, N, int, void*);
int cudaStreamCreateWithFlags(void**, unsigned);
int cudaFree(void*);
int cudaFreeHost(void*);
int cudaHostUnregister(void*);
int cudaDeviceSetLimit(int, N);
}
int main() {
  int pageable = 0, pinned = 1, device = 2, stream = 0;  // what they are, as CUDA says it
  void* other;
  if (WITH_NETWORK) {
    cudaMemcpyAsync(&pageable, &device, 4, 2, &stream);
    cudaMemcpyAsync(&pageable, &device, 4, 4, nullptr);
    cudaMemcpy(&pageable, &device, 4, 2);
    cudaMemcpy(&device, &pinned, 4, 1);
    cudaMemcpy2D(&pageable, 4, &device, 4, 4, 1, 2);
    cudaMemcpy2DAsync(&pageable, 4, &device, 4, 4, 1, 2, &stream);
    cudaMemcpyToSymbol(&device, &pageable, 4, 0, 1);
    cudaMemcpyFromSymbol(&pageable, &device, 4, 0, 2);
    cudaMemcpyFromSymbolAsync(&pageable, &device, 4, 0, 2, &stream);
    cudaFree(&device);
    cudaFreeHost(&pinned);
    cudaHostUnregister(&pageable);
    cudaDeviceSetLimit(0, 1);
    cudaStreamCreateWithFlags(&other, 1);
    cudaFree(&device);
  }
  // The host does not wait for these.
  cudaMemcpyAsync(&pinned, &device, 4, 2, &stream);
  cudaMemcpy(&device, &device, 4, 3);
  cudaFree(nullptr);
  capture();
  cudaMemcpyAsync(&pageable, &device, 4, 2, &stream);
  expect_no_question();
}
"""


def play(folder: Path, environment: dict[str, str], *, network: bool) -> tuple[int, str]:
    """Build and run the program below our library; return its exit code and output."""
    compiler = [*find_compiler().command, "-std=c++20", "-O1"]
    (folder / "driver.cpp").write_text(DRIVER)
    (folder / "main.cpp").write_text(PROGRAM)
    library = folder / "libcuda.so.1"
    for command in (
        ["-shared", "-fPIC", "driver.cpp", "-Wl,-soname,libcuda.so.1", "-o", str(library)],
        [f"-DWITH_NETWORK={int(network)}", "main.cpp", str(library), "-o", "program"],
    ):
        subprocess.run([*compiler, *command], check=True, cwd=folder, timeout=120)
    done = subprocess.run(
        [str(folder / "program")], check=False, capture_output=True, text=True, timeout=60,
        env={"PATH": os.defpath, "LD_PRELOAD": str(build_shim()), "LD_LIBRARY_PATH": str(folder),
             **environment},
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("timing", ["eager", "random:3"])
def test_with_our_network_calls_come_when_all_is_done(tmp_path: Path, timing: str) -> None:
    assert play(tmp_path, {"WARPLOOM_NETWORK": timing}, network=True) == (0, "")


def test_without_it_nothing_is_asked(tmp_path: Path) -> None:
    assert play(tmp_path, {}, network=False) == (0, "")
