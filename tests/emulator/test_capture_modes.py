"""What a capture of a stream forbids, in each mode: as an H200 with CUDA 13.0 answered.

The program was run there; the codes are those of the call and of cudaStreamEndCapture: 900 not
permitted in a capture, 901 the capture is invalid, 906 the legacy stream would be drawn in.
"""

from pathlib import Path

import pytest

from warploom.core.records import BuildSpec
from warploom.emulator import RunOptions, build, run

PROGRAM = """
#include <cuda_runtime.h>
#include <cstdio>
#include <thread>
__global__ void add(int* p) { *p += 1; }
void nothing(void*) {}
int main() {
  int *data, *pinned, *other_memory = nullptr;
  static int host[16];
  cudaMalloc(&data, 64);
  cudaMallocHost(&pinned, 64);
  cudaStream_t other, made;
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  cudaEvent_t event, fresh;
  cudaEventCreate(&event);
  cudaEventCreate(&fresh);
  cudaEventRecord(event, other);
  cudaDeviceSynchronize();
  const cudaStreamCaptureMode modes[] = {
      cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed};
  for (unsigned flags : {cudaStreamDefault, cudaStreamNonBlocking}) {
    for (cudaStreamCaptureMode mode : modes) {
      PREPARE;
      cudaStream_t stream;
      cudaStreamCreateWithFlags(&stream, flags);
      cudaStreamBeginCapture(stream, mode);
      add<<<1, 1, 0, stream>>>(data);
      cudaError_t error;
      CALL;
      cudaGraph_t graph = nullptr;
      const cudaError_t end = cudaStreamEndCapture(stream, &graph);
      std::printf("%d/%d ", (int)error, (int)end);
      if (graph) cudaGraphDestroy(graph);
      cudaGetLastError();
      cudaStreamDestroy(stream);
      cudaDeviceSynchronize();
    }
  }
  std::printf("\\n");
}
"""
FREE, UNSAFE, ALWAYS = "0/0", "900/901", "900/901"
_UNSAFE = f"{UNSAFE} {UNSAFE} {FREE} " * 2
_FREE = f"{FREE} " * 6
_LEGACY = "906/901 " * 3
CALLS = {
    "cudaDeviceSynchronize()": f"{ALWAYS} " * 6,
    "cudaEventQuery(event)": _UNSAFE,
    "cudaEventSynchronize(event)": _UNSAFE,
    "cudaStreamQuery(other)": _UNSAFE,
    "cudaStreamSynchronize(other)": _UNSAFE,
    "cudaStreamQuery(0)": f"{_LEGACY}{UNSAFE} {UNSAFE} {FREE} ",
    "cudaStreamSynchronize(0)": f"{_LEGACY}{UNSAFE} {UNSAFE} {FREE} ",
    "cudaEventRecord(fresh, 0)": f"{_LEGACY}{FREE} {FREE} {FREE} ",
    "cudaEventRecord(fresh, other)": _FREE,
    "cudaStreamWaitEvent(0, event, 0)": f"{_LEGACY}{FREE} {FREE} {FREE} ",
    "cudaLaunchHostFunc(0, nothing, nullptr)": f"{_LEGACY}{FREE} {FREE} {FREE} ",
    "cudaMalloc(&other_memory, 64)": _UNSAFE,
    "cudaMallocHost(&other_memory, 64)": _UNSAFE,
    "cudaMallocManaged(&other_memory, 64)": _UNSAFE,
    "cudaMallocAsync(&other_memory, 64, other)": _UNSAFE,
    "cudaHostRegister(host, sizeof host, 0)": _UNSAFE,
    "cudaMemcpy(data, host, 64, cudaMemcpyHostToDevice)": f"{_LEGACY}{FREE} {FREE} {FREE} ",
    "cudaMemset(data, 0, 64)": f"{_LEGACY}{FREE} {FREE} {FREE} ",
    "cudaMemcpyAsync(pinned, data, 64, cudaMemcpyDeviceToHost, other)": _FREE,
    "cudaStreamCreate(&made)": _FREE,
    "cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 1 << 20)": _UNSAFE,
    "cudaGetDevice(host)": _FREE,
}
THREADS = {
    "cudaDeviceSynchronize()": f"{ALWAYS} " * 6,
    "cudaEventQuery(event)": f"{UNSAFE} {FREE} {FREE} " * 2,
    "cudaStreamSynchronize(other)": f"{UNSAFE} {FREE} {FREE} " * 2,
    "cudaMalloc(&other_memory, 64)": f"{UNSAFE} {FREE} {FREE} " * 2,
}


def codes(folder: Path, call: str) -> str:
    prepare = "cudaHostUnregister(host); cudaGetLastError()" if "HostRegister" in call else ""
    text = PROGRAM.replace("CALL", call).replace("PREPARE", prepare)
    (folder / "p.cu").write_text(text)
    return run(build(BuildSpec(folder / "p.cu")), RunOptions(ranks=1)).stdout.splitlines()[0]


@pytest.mark.parametrize("call", CALLS)
def test_a_call_within_the_capture(tmp_path: Path, call: str) -> None:
    assert codes(tmp_path, f"error = {call}") == CALLS[call]


@pytest.mark.parametrize("call", THREADS)
def test_a_call_of_another_thread(tmp_path: Path, call: str) -> None:
    assert codes(tmp_path, f"std::thread([&] {{ error = {call}; }}).join()") == THREADS[call]
