"""Frames of the runtime, and the registers it goes on with, are closed to functions of programs."""

from pathlib import Path

import pytest

from warploom.core.records import Verdict
from warploom.evaluation.check import check
from warploom.evaluation.runs.plan import Effort

_HEAD = """
#include <cuda_runtime.h>
#include <mpi.h>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <thread>
using Word = uintptr_t;
static char other[64] = "AAAABBBBCCCCDDDD lies elsewhere";
__attribute__((noinline)) static int busy(int a, int b, int c, int d) { return a * b + c * d; }
"""
# The runtime keeps the operand's address in a register, and the operation's function keeps that.
_OPERATION = """
static void add(void* in, void* inout, int* count, MPI_Datatype*) {
  int *a = static_cast<int*>(inout), *b = static_cast<int*>(in), x = a[0], y = b[0], z = a[1];
  for (int i = 0; i < *count; i++) a[i] += b[i], x = busy(x, y, z, i), y += x, z ^= y;
  volatile Word own = x;
  volatile Word* at = &own;
  for (int k = FROM; k < 60; k++)
    if (at[k] == reinterpret_cast<Word>(inout)) at[k] = reinterpret_cast<Word>(other);
}
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  cudaSetDevice(0);
  MPI_Op op;
  MPI_Op_create(add, 1, &op);
  int mine[4] = {1, 1, 2, 3}, all[4] = {0};
  MPI_Reduce_local(mine, all, 4, MPI_INT, op);
  MPI_Op_free(&op);
  MPI_Finalize();
  return all[0] != 1;
}
"""
_SORT = """
static bool stores = STORES;
static int order(const void* a, const void* b) {
  volatile Word own = 0;
  for (int k = 1; stores && k < 48; k++) (&own)[k] = 0;
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}
int main() {
  cudaSetDevice(0);
  int values[4] = {3, 1, 2, 0}, wanted = 2;
  qsort(values, 4, sizeof(int), order);
  const void* found = bsearch(&wanted, values, 4, sizeof(int), order);
  return found != &values[2];
}
"""
_THREAD = """
static std::mutex lock;
static std::condition_variable changed;
static int state = 0;
static volatile Word* deep = nullptr;
static void waits() {
  volatile Word here = 1;
  deep = &here;
  std::unique_lock<std::mutex> hold(lock);
  state = 1, changed.notify_all();
  changed.wait(hold, [] { return state == 2; });
}
int main() {
  cudaSetDevice(0);
  std::thread other_one(waits);
  std::unique_lock<std::mutex> hold(lock);
  changed.wait(hold, [] { return state == 1; });
  for (int k = 0; k > LAST; k--) deep[k] = 5;
  state = 2, changed.notify_all();
  hold.unlock();
  other_one.join();
  return 0;
}
"""
_COPY = """
int main() {
  Word* there = nullptr;
  cudaMalloc(&there, 512);
  cudaMemset(there, 0x41, 512);
  Word here[4];
  cudaMemcpy(reinterpret_cast<char*>(here) + AT, there, BYTES, cudaMemcpyDeviceToHost);
  return 0;
}
"""
_LATER = """
static void frames(int depth) {
  volatile Word room[16] = {};
  if (depth > 0) frames(depth - 1);
  if (depth == 0) cudaDeviceSynchronize();
  room[0] = 1;
}
__attribute__((noinline)) static void asks(Word* there, cudaStream_t stream) {
  Word here[64];
  cudaMemcpyAsync(here, there, sizeof here, cudaMemcpyDeviceToHost, stream);
  WAIT
}
int main() {
  Word* there = nullptr;
  cudaMalloc(&there, 512);
  cudaMemset(there, 0x41, 512);
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  asks(there, stream);
  frames(8);
  return 0;
}
"""
# The runtime's loop over threads keeps its own in registers; these lie in the kernel's frame, and
# may be changed there: it does not go on with them.
_KERNEL = """
__device__ __noinline__ long mix(long v) { return v * 3 + 1; }
__device__ __noinline__ long deep(long v, int low) {
  volatile long own[2] = {v, 2};
  long a = mix(v), b = mix(a), c = mix(b), d = mix(c), e = mix(d);
  for (int n = 0; n < 3; ++n) a += mix(b), b += mix(c), c += mix(d), d += mix(e), e += mix(a);
  for (int k = low; k < 96; k++) (&own[0])[k] = 0x10;
  return a + b + c + d + e;
}
__global__ void spill(long* out, int low) { out[threadIdx.x] = deep(threadIdx.x, low); }
int main() {
  long* out = nullptr;
  cudaMalloc(&out, 256);
  spill<<<1, 2>>>(out, LOW);
  return cudaDeviceSynchronize() != cudaSuccess;
}
"""
CHEATS = {
    "operation": _OPERATION.replace("FROM", "-24"),
    "sort": _SORT.replace("STORES", "true"),
    "thread": _THREAD.replace("LAST", "-64"),
    "copy": _COPY.replace("AT", "0").replace("BYTES", "160"),
    "copy_below": _COPY.replace("AT", "-256").replace("BYTES", "128"),
    "kernel": _KERNEL.replace("LOW", "2"),
}
_ENDS = """
static int order(const void* a, const void* b) {
  if (*static_cast<const int*>(a) == 7) throw std::runtime_error("seven");
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}
static void* runs(void* to) { return *static_cast<int*>(to) = 4, to; }
int main() {
  cudaSetDevice(0);
  int seen = 0, once = 0;
  pthread_t thread;
  pthread_create(&thread, nullptr, runs, &seen);
  pthread_join(thread, nullptr);
  std::once_flag flag;
  try {
    std::call_once(flag, [&] { once = 1; throw 5; });
  } catch (int value) {
    once += value;
  }
  std::call_once(flag, [&] { once++; });
  int values[3] = {1, 7, 2};
  bool thrown = false;
  try {
    int wanted = 7;
    (void)bsearch(&wanted, values, 3, sizeof(int), order);
  } catch (const std::runtime_error&) {
    thrown = true;
  }
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaLaunchHostFunc(stream, [](void* to) { *static_cast<int*>(to) += 1; }, &seen);
  cudaStreamSynchronize(stream);
  return seen != 5 || once != 7 || !thrown;
}
"""
HONEST = {
    "operation": _OPERATION.replace("FROM", "60"),
    "sort": _SORT.replace("STORES", "false"),
    "thread": _THREAD.replace("LAST", "-1"),
    "copy": _COPY.replace("AT", "0").replace("BYTES", "sizeof here"),
    "later": _LATER.replace("WAIT", "cudaStreamSynchronize(stream);"),
    "kernel": _KERNEL.replace("LOW", "96"),
    "calls_that_store_and_throw": _ENDS,
}


@pytest.mark.parametrize("name", CHEATS)
def test_a_store_to_what_the_runtime_keeps_ends_the_run(tmp_path: Path, name: str) -> None:
    program = tmp_path / f"{name}.cu"
    program.write_text(_HEAD + CHEATS[name])
    report = check(program, ranks=1, effort=Effort.QUICK)
    assert report.verdict is Verdict.FAILED
    found = [f.finding for f in report.findings]
    assert any("what the caller of one keeps" in f.message for f in found), found


@pytest.mark.parametrize("name", HONEST)
def test_functions_that_keep_to_their_own_run_as_before(tmp_path: Path, name: str) -> None:
    program = tmp_path / f"{name}.cu"
    program.write_text(_HEAD + HONEST[name])
    report = check(program, ranks=1, effort=Effort.QUICK)
    assert report.verdict is Verdict.OK, report.findings
