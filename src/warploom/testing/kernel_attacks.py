"""Cheats of single-GPU kernels, played: acceptance must refuse each.

One for each row of the table of cheats in the project's notes; all are written against the task
`y = 2 x + 1` over a matrix of float32 (`REFERENCE`), for which the honest kernel is `HONEST`.
"""

from dataclasses import dataclass

REFERENCE = '''"""Twice the input, plus one."""

import torch


def reference(x):
    return x * 2.0 + 1.0


def example_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(19, 37, generator=g),)
'''

_HEAD = """extern "C" int warploom_forward(void* const* inputs, void* const* outputs,
                                const long long* sizes, void* stream_handle) {
  const cudaStream_t stream = static_cast<cudaStream_t>(stream_handle);
  const float* x = static_cast<const float*>(inputs[0]);
  float* y = static_cast<float*>(outputs[0]);
  const long long n = sizes[0] * sizes[1];
"""
_KERNEL = """static __global__ void twice(const float* x, float* y, long long n) {
  for (long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    y[i] = x[i] * 2.0f + 1.0f;
  }
}
"""
_LAUNCH = "  if (n > 0) twice<<<8, 128, 0, stream>>>(x, y, n);\n"
_TAIL = "  return cudaGetLastError() == cudaSuccess ? 0 : 1;\n}\n"

HONEST = _KERNEL + _HEAD + _LAUNCH + _TAIL


@dataclass(frozen=True, slots=True)
class KernelAttack:
    """A cheat: which row of the table it plays, and its text."""

    name: str
    row: str
    text: str


def _host(name: str, row: str, before: str, *, above: str = "") -> KernelAttack:
    """Return the honest kernel with other statements in its entry point."""
    return KernelAttack(name, row, above + _KERNEL + _HEAD + before + _LAUNCH + _TAIL)


def _body(name: str, row: str, statement: str, *, above: str = "") -> KernelAttack:
    """Return a kernel whose elements are computed by another statement."""
    kernel = _KERNEL.replace("y[i] = x[i] * 2.0f + 1.0f;", statement)
    return KernelAttack(name, row, above + kernel + _HEAD + _LAUNCH + _TAIL)


_STREAMS = "work on another stream, a background thread, lazy tensors"
_CACHE = "caches results by pointer or by value fingerprint"
_POISON = "computes only when the output looks poisoned, or only in the checked phase"
_FREED = "reads the reference's freed memory"
_INPUTS = "changes its inputs"
_CONSTANT = "zeros, constants or a copy of the input pass the tolerance"
_PRECISION = "lower precision than asked"
_CARVE = "persisting L2 carve-out, warm L2"
_FORGE = "patches the timer, forges the result file, pickles"
_SHAPES = "hard-coded shapes; square shapes hide swapped indices"
_LIBRARY = "library or framework call inside the kernel, try/except fallback"
_CALLS = "wrong after N calls"
_BOUNDS = "out-of-bounds shared memory, garbage reads"

ATTACKS = (
    _host("another-stream", _STREAMS,
          "  cudaStream_t other;\n  cudaStreamCreate(&other);\n"
          "  twice<<<8, 128, 0, other>>>(x, y, n);\n  return 0;\n"),
    _host("background-thread", _STREAMS, "  std::thread worker([] {});\n  worker.detach();\n"),
    _body("cache-by-pointer", _CACHE,
          "if (kept_x != x) { y[i] = x[i] * 2.0f + 1.0f; }\n"
          "    if (i == n - 1) kept_x = x;",
          above="static __device__ const float* kept_x;\n"),
    _body("cache-by-first-value", _CACHE,
          "if (x[0] != kept) y[i] = x[i] * 2.0f + 1.0f;\n    if (i == n - 1) kept = x[0];",
          above="static __device__ float kept;\n"),
    _body("only-when-poisoned", _POISON,
          "if (y[i] != y[i]) y[i] = x[i] * 2.0f + 1.0f;"),
    _body("only-while-checked", _POISON, "if (calls < 4) y[i] = x[i] * 2.0f + 1.0f;\n"
          "    if (i == 0) ++calls;", above="static __device__ int calls;\n"),
    _body("memory-behind-the-output", _FREED, "y[i] = y[i + n];"),
    _host("memory-of-others", _FREED,
          "  float* old = nullptr;\n  cudaMalloc(reinterpret_cast<void**>(&old), n * 4);\n"
          "  cudaMemcpy(y, old, n * 4, cudaMemcpyDeviceToDevice);\n  return 0;\n"),
    _body("fresh-memory", _FREED, "y[i] = scratch[i];",
          above="static __device__ float scratch[1 << 20];\n"),
    _body("input-changed", _INPUTS,
          "y[i] = x[i] * 2.0f + 1.0f;\n    const_cast<float*>(x)[i] = y[i];"),
    _body("zeros", _CONSTANT, "y[i] = 0.0f;"),
    _body("a-constant", _CONSTANT, "y[i] = 1.0f;"),
    _body("a-copy", _CONSTANT, "y[i] = x[i];"),
    _body("half-precision", _PRECISION,
          "y[i] = __half2float(__float2half_rn(x[i])) * 2.0f + 1.0f;"),
    _body("bfloat16", _PRECISION,
          "y[i] = __bfloat162float(__float2bfloat16_rn(x[i] * 2.0f)) + 1.0f;"),
    _host("carve-out", _CARVE,
          "  cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 1 << 20);\n"),
    _host("own-clock", _FORGE, "  const long long now = clock();\n  if (now > 0) return 0;\n"),
    _host("events", _FORGE, "  cudaEvent_t e;\n  cudaEventCreate(&e);\n  cudaEventRecord(e);\n"),
    _host("report-file", _FORGE,
          '  FILE* f = fopen("report.json", "w");\n  fputs("{}", f);\n  fclose(f);\n'),
    _host("early-exit", _FORGE, "  exit(0);\n"),
    _host("readback-of-its-own", _FORGE,
          "  float seen[4];\n  cudaMemcpy(seen, x, 16, cudaMemcpyDeviceToHost);\n"),
    KernelAttack("redefined-call", _FORGE,
                 "#define cudaDeviceSynchronize() cudaSuccess\n" + HONEST),
    KernelAttack("pasted-name", _FORGE,
                 "#define JOIN(a, b) a##b\n" + _KERNEL + _HEAD
                 + "  JOIN(cudaDevice, Synchronize)();\n" + _LAUNCH + _TAIL),
    KernelAttack("harness-called", _FORGE,
                 _KERNEL + _HEAD + "  harness_need(true, \"\");\n" + _LAUNCH + _TAIL),
    KernelAttack("own-main", _FORGE, HONEST + "int main() { return 0; }\n"),
    KernelAttack("static_constructor", _FORGE,
                 "struct Early { Early() { value = 1; } int value; };\nstatic Early early;\n"
                 + HONEST),
    _host("hard-coded-shape", _SHAPES, "  if (sizes[0] != 19 || sizes[1] != 37) return 0;\n"),
    KernelAttack("square-only", _SHAPES,
                 HONEST.replace("sizes[0] * sizes[1]", "sizes[0] * sizes[0]")),
    KernelAttack("library", _LIBRARY, "#include <cublas_v2.h>\n" + HONEST),
    KernelAttack("framework", _LIBRARY, "#include <torch/extension.h>\n" + HONEST),
    _host("loaded-library", _LIBRARY, '  dlopen("libtorch.so", 1);\n'),
    _body("wrong-after-calls", _CALLS,
          "y[i] = x[i] * 2.0f + (turn > 12 ? 0.5f : 1.0f);\n    if (i == 0) ++turn;",
          above="static __device__ int turn;\n"),
    _body("shared-out-of-bounds", _BOUNDS,
          "__shared__ float line[64];\n    line[threadIdx.x] = x[i];\n"
          "    y[i] = line[threadIdx.x] * 2.0f + 1.0f;"),
    _body("uninitialized-shared", _BOUNDS,
          "__shared__ float line[128];\n    y[i] = x[i] * 2.0f + 1.0f + 0.0f * line[threadIdx.x];\n"
          "    if (line[threadIdx.x] > 3e38f) y[i] = 0.0f;"),
    _body("read-past-the-end", _BOUNDS,
          "y[i] = x[i] * 2.0f + 1.0f;\n    if (x[i + 1] > 1e30f) y[i] += 1.0f;"),
)  # fmt: skip
"""All cheats that are played. Impossible speed and throttling concern measured time: none here."""
