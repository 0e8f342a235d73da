"""Rewritten programs, compiled against a stub of the runtime that runs each launch at once."""

import subprocess
from pathlib import Path

from warploom.core.records import BuildSpec
from warploom.emulator.rewriting.rewrite import Overlay, rewrite
from warploom.toolchain.compilers import find_compiler

# Runs each launch at once, thread after thread: enough to see that rewritten code means the same.
STUB = r"""
#pragma once
#define WARPLOOM_INLINED
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <type_traits>
#define __global__
#define __device__
#define __host__
#define __launch_bounds__(...)
#define __restrict__ __restrict
typedef struct CUstream_st* cudaStream_t;
struct dim3 { unsigned x, y, z; dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1)
  : x(a), y(b), z(c) {} };
inline dim3 threadIdx, blockIdx, blockDim, gridDim;
namespace warploom {
struct LaunchConfig { dim3 g, b; size_t sh; cudaStream_t st;
  LaunchConfig(dim3 g, dim3 b, size_t sh = 0, cudaStream_t st = nullptr)
    : g(g), b(b), sh(sh), st(st) {} };
inline std::map<const void*, void*> slots;
inline char dynamic[65536];
template <class K> struct Launch { const char* name; LaunchConfig c; K k;
  template <class... A> int operator()(A... a) const {
    printf("[%s g%u b%u s%zu st%d]", name, c.g.x, c.b.x, c.sh, c.st != nullptr);
    gridDim = c.g; blockDim = c.b;
    for (blockIdx.x = 0; blockIdx.x < c.g.x; blockIdx.x++) {
      slots.clear(); memset(dynamic, 0, sizeof dynamic);
      for (threadIdx.x = 0; threadIdx.x < c.b.x; threadIdx.x++) k(a...);
    }
    return 0;
  } };
template <class...> void check_parameters() {}
template <class K> Launch<K> launch_plain(const char* n, LaunchConfig c, K k) { return {n, c, k}; }
template <class T> inline char key = 0;
template <class T, class Tag> T& shared_variable(const char*) {
  void*& p = slots[&key<Tag>];
  if (!p) p = aligned_alloc(256, (sizeof(T) + 255) / 256 * 256), memset(p, 0, sizeof(T));
  return *(T*)p;
}
inline void* dynamic_shared() { return dynamic; }
inline void copies_commit() {}
template <class T> void unset(T&, const char*) {}
}
"""


def rewritten(folder: Path, code: str, name: str = "prog.cu", **spec) -> Overlay:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(code)
    return rewrite(BuildSpec(folder / name, **spec))


def text_of(overlay: Overlay) -> str:
    return overlay.texts[overlay.units[0]].decode()


def compiled(folder: Path, overlay: Overlay) -> subprocess.CompletedProcess[str]:
    out = folder / "overlay"
    out.mkdir()
    for name, text in overlay.texts.items():
        (out / name).write_bytes(text)
    (out / "stub.h").write_text(STUB)
    command = [*find_compiler().command, "-std=c++20", "-O1", "-w", "-include", "stub.h"]
    return subprocess.run(
        [*command, *(arg for u in overlay.units for arg in ("-x", "c++", u)), "-o", "prog"],
        cwd=out, capture_output=True, text=True, check=False,
    )  # fmt: skip


def output(folder: Path, code: str, **spec) -> str:
    done = compiled(folder, rewritten(folder, code, **spec))
    assert done.returncode == 0, done.stderr
    return subprocess.run(
        [folder / "overlay" / "prog"], capture_output=True, text=True, check=True
    ).stdout
