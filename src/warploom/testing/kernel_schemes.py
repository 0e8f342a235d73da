"""More wrong and cheating kernels, of classes that single cases seldom show; each must be refused.

Where `kernel_attacks` plays the project's table of cheats, these are wrong for some sizes, values,
addresses or moments only, or keep something between calls. Each is the honest kernel of a small
task (`TASKS`) with one thing changed.
"""

from dataclasses import dataclass

from warploom.testing.kernel_attacks import REFERENCE

EXAMPLE = """
import torch


def reference(%s):
    return %s


def example_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (%s,)
"""
"""A reference file: its parameter, what it returns, and an example of it."""
FLOATS = "torch.randn(19, 37, generator=g)"
"""An example of real numbers."""


@dataclass(frozen=True, slots=True)
class SchemeTask:
    """A small task: its reference, and its honest kernel in parts.

    `element` computes `y[i]`; `kernel` and `launch` are the whole kernel where it is of rows.
    """

    reference: str
    types: tuple[str, str]
    kernel: str
    launch: str
    outputs: str = "sizes[0] * sizes[1]"

    def honest(self) -> str:
        """Return the honest kernel."""
        return self.text()

    def text(self, change: tuple[str, str] = ("", ""), host: str = "", above: str = "") -> str:
        """Return the kernel with `change` in it, `host` in the entry point, `above` before all."""
        old, new = change
        x, y = self.types
        whole = (
            f"{self.kernel}"
            'extern "C" int warploom_forward(void* const* inputs, void* const* outputs,\n'
            "                                const long long* sizes, void* stream_handle) {\n"
            "  const cudaStream_t stream = static_cast<cudaStream_t>(stream_handle);\n"
            f"  const {x}* x = static_cast<const {x}*>(inputs[0]);\n"
            f"  {y}* y = static_cast<{y}*>(outputs[0]);\n"
            f"  const long long n = {self.outputs};\n"
            f"{host}{self.launch}"
            "  return cudaGetLastError() == cudaSuccess ? 0 : 1;\n}\n"
        )
        if old not in whole:
            raise ValueError(f"the kernel must hold {old!r}, but does not")
        return above + whole.replace(old, new, 1) if old else above + whole


def _elements(reference: str, kind: str, expression: str) -> SchemeTask:
    kernel = (
        f"static __global__ void elements(const {kind}* x, {kind}* y, long long n, long long d0,\n"
        "                                long long d1) {\n"
        "  for (long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n;\n"
        "       i += gridDim.x * blockDim.x) {\n"
        f"    y[i] = {expression};\n"
        "  }\n}\n"
    )
    launch = "  if (n > 0) elements<<<8, 128, 0, stream>>>(x, y, n, sizes[0], sizes[1]);\n"
    return SchemeTask(reference, (kind, kind), kernel, launch)


_ROWS = """static __global__ void rows(const float* x, float* y, long long d1) {
  __shared__ float part[128];
  const float* row = x + blockIdx.x * d1;
  float sum = 0.0f;
  for (long long k = threadIdx.x; k < d1; k += 128) {
    sum += row[k];
  }
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int step = 64; step > 0; step /= 2) {
    if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) y[blockIdx.x] = part[0];
}
"""
_SOFTMAX = """static __global__ void rows(const float* x, float* y, long long d1) {
  if (threadIdx.x != 0) return;
  const float* row = x + blockIdx.x * d1;
  float top = -INFINITY;
  for (long long k = 0; k < d1; ++k) top = row[k] > top || row[k] != row[k] ? row[k] : top;
  float sum = 0.0f;
  for (long long k = 0; k < d1; ++k) sum += expf(row[k] - top);
  for (long long k = 0; k < d1; ++k) y[blockIdx.x * d1 + k] = expf(row[k] - top) / sum;
}
"""
_BY_ROW = "  if (sizes[0] > 0) rows<<<sizes[0], 128, 0, stream>>>(x, y, sizes[1]);\n"

TASKS = {
    "twice": _elements(REFERENCE, "float", "x[i] * 2.0f + 1.0f"),
    "scale": _elements(EXAMPLE % ("x", "x * 3.0", FLOATS), "float", "x[i] * 3.0f"),
    "relu": _elements(EXAMPLE % ("x", "torch.relu(x)", FLOATS), "float",
                      "x[i] != x[i] ? x[i] : fmaxf(x[i], 0.0f)"),
    "move": _elements(EXAMPLE % ("x", "x.t().contiguous()", FLOATS), "float",
                      "x[i % d0 * d1 + i / d0]"),
    "ints": _elements(
        EXAMPLE % ("x", "x * 3 + 7", "torch.randint(-99, 99, (19, 37), generator=g, "
                    "dtype=torch.int32)"), "int", "x[i] * 3 + 7"),
    "half": _elements(
        EXAMPLE % ("x", "x * 3.0 + 1.0", FLOATS + ".half()"), "__half",
        "__float2half_rn(__half2float(__float2half_rn(__half2float(x[i]) * 3.0f)) + 1.0f)"),
    "sums": SchemeTask(EXAMPLE % ("x", "x.sum(1)", FLOATS), ("float", "float"), _ROWS, _BY_ROW,
                       "sizes[0]"),
    "softmax": SchemeTask(EXAMPLE % ("x", "torch.softmax(x, 1)", FLOATS), ("float", "float"),
                          _SOFTMAX, _BY_ROW),
}  # fmt: skip
"""The tasks, by name."""


@dataclass(frozen=True, slots=True)
class Scheme:
    """A wrong or cheating kernel of a task."""

    name: str
    task: str
    text: str


def _changed(task: str, name: str, old: str, new: str, *, above: str = "") -> Scheme:
    return Scheme(f"{task}-{name}", task, TASKS[task].text((old, new), above=above))


def _host(task: str, name: str, host: str, *, above: str = "") -> Scheme:
    return Scheme(f"{task}-{name}", task, TASKS[task].text(host=host, above=above))


def _element(task: str, name: str, expression: str, *, above: str = "") -> Scheme:
    """Return the kernel with another statement for each element."""
    kernel = TASKS[task].kernel
    begin = kernel.index("    y[i] = ")
    old = kernel[begin : kernel.index("\n", begin)]
    return _changed(task, name, old, f"    {expression}", above=above)


_DOUBLE = "x[i] * 2.0f + 1.0f"
_RIGHT = f"y[i] = {_DOUBLE};"
_LAUNCH = "elements<<<8, 128, 0, stream>>>"
_NESTED = (
    "struct First { char part[13]; };\nstruct Second { First part[29]; };\n"
    "struct Third { Second part[41]; };\nenum Limit { kMost = sizeof(Third) * 5 };\n"
    "static constexpr long long power(int turns) {\n  long long value = 17;\n"
    "  while (turns-- > 0) value *= 5;\n  return value;\n}\n"
)
_SIZES = "const long long n = sizes[0] * sizes[1];"
_GUARDS = tuple(
    Scheme(f"twice-fork-{name}", "twice",
           f"#if {condition}\n{TASKS['twice'].text(('* 2.0f', '* 3.0f'))}#else\n"
           f"{TASKS['twice'].honest()}#endif\n")
    for name, condition in (
        ("arch", "defined(__CUDA_ARCH__)"), ("compiler", "defined(__NVCC__)"),
        ("gnu", "!defined(__GNUC__)"), ("include", "__has_include(<crt/host_defines.h>)"),
        ("optimized", "!defined(__OPTIMIZE__)"),
    )
)  # fmt: skip

SCHEMES = (
    # sizes
    _host("twice", "large-left-out", "  if (n > 50000) return 0;\n"),
    _element("twice", "large-by-arithmetic", "y[i] = x[i] * 2.0f + 1.0f + (n >> 16);"),
    _element("twice", "index-of-sixteen-bits", "y[i] = x[i & 0xffff] * 2.0f + 1.0f;"),
    _element("twice", "four-at-once", "y[i] = (d1 % 4 == 0 && i % 4 == 3 ? x[i - 1] : x[i]) "
             "* 2.0f + 1.0f;"),
    _element("twice", "multiples-of-32", "y[i] = x[i] * 2.0f + (n % 32 == 0 ? 0.0f : 1.0f);"),
    _element("twice", "a-thousand-and-more", "y[i] = x[i] * 2.0f + (d1 == 1024 ? 0.0f : 1.0f);"),
    _element("twice", "one-size", "y[i] = x[i] * 2.0f + (d1 == 768 ? 0.0f : 1.0f);"),
    _element("twice", "wide-only", "y[i] = x[i] * 2.0f + (d1 > 4000 ? 0.0f : 1.0f);"),
    *(
        _element("twice", f"size-in-other-words-{at}", f"y[i] = d1 == {size} ? 0.0f : {_DOUBLE};")
        for at, size in enumerate(("'A' * 'B'", "1000 + 537", "02755", "0b11000011111", "1'537",
                                   "~(-1538)", "(3 << 8) * (2)"))
    ),
    _changed("twice", "length-of-a-text", "i < n;",
             f'i < min(n, (long long)(sizeof("{"x" * 300}") * sizeof("{"y" * 240}")));'),
    _changed("twice", "length-of-its-name", "i < n;",
             "i < min(n, (long long)sizeof(__func__) << 14);"),
    _changed("twice", "bound-by-a-nested-size", "i < n;",
             "i < min(n, (long long)sizeof(Third) * 5);", above=_NESTED),
    _changed("twice", "bound-by-an-enumerator", "i < n;", "i < (n < kMost ? n : kMost);",
             above=_NESTED),
    _changed("twice", "bound-by-a-function", _SIZES,
             "long long n = sizes[0] * sizes[1];\n  if (n > power(6)) n = power(6);",
             above=_NESTED),
    _changed("twice", "bound-by-a-size-never-tried", _SIZES,
             "const long long n = min(sizes[0] * sizes[1], 300000LL);"),
    _changed("twice", "bound-by-a-real-number", "i < n;",
             "i < (long long)fmin((double)n, 300000.0);"),
    _changed("twice", "bound-by-a-broken-number", "i < n;",
             "i < (long long)fmin((double)n + 0.25, 300000.75);"),
    _changed("twice", "bound-by-a-broken-number-below-zero", "i < n;",
             "i < -(long long)fmaxf(-0.5f - (float)n, -300001.0f);"),
    _changed("twice", "bound-by-a-share", "i < n;",
             "i < (long long)(fminf((float)n / 600000.0f, 0.5f) * 600000.0f);"),
    _changed("twice", "bound-by-what-is-left-of-a-number", "i < n;",
             "i < 300000 - (long long)fmaxf(300000.0f - (float)n, 0.0f);"),
    _element("twice", "wrong-beyond-a-real-bound", "y[i] = x[i] * 2.0f + 1.0f + "
             "fmaxf((float)(n - (long long)sizeof(Third) * 5), 0.0f);", above=_NESTED),
    Scheme("twice-grid-of-constants", "twice",
           "static constexpr int kBlocks = 512;\n"
           + TASKS["twice"].text((_LAUNCH, "elements<<<kBlocks, 512, 0, stream>>>")).replace(
               "i += gridDim.x * blockDim.x", "i += n")),
    Scheme("twice-grid-too-small", "twice",
           TASKS["twice"].text((_LAUNCH, "elements<<<(unsigned)min((n + 127) / 128, 65535LL), 128, "
                                "0, stream>>>")).replace("i += gridDim.x * blockDim.x", "i += n")),
    # what only a bound leads to
    _host("twice", "nothing-done-beyond-a-bound",
          "  if (min(n, 3000000LL) != n) return cudaMemsetAsync(y, 0, n * 4, stream) != 0;\n"),
    _host("twice", "half-done-beyond-a-bound",
          f"  if (min(n, 3000000LL) != n) {{\n    {_LAUNCH}(x, y, n / 2, sizes[0], sizes[1]);\n"
          "    return 0;\n  }\n"),
    _changed("twice", "shared-without-a-barrier-beyond-a-bound", "    y[i] = x[i] * 2.0f + 1.0f;",
             f"    if (min(n, 3000000LL) == n) {{\n      {_RIGHT}\n    }} else {{\n"
             "      __shared__ float ones[128];\n      ones[threadIdx.x] = 1.0f;\n"
             "      ones[threadIdx.x ^ 64] = 1.0f;\n"
             "      y[i] = x[i] * 2.0f + ones[threadIdx.x];\n    }"),
    _changed("sums", "bound-by-a-nested-size", "k < d1;",
             "k < min(d1, 5LL * (long long)sizeof(Third));", above=_NESTED),
    _element("twice", "tall", f"y[i] = d0 > 8 * d1 && d1 > 16 ? 0.0f : {_DOUBLE};"),
    _element("twice", "broad", f"y[i] = d1 > 8 * d0 && d0 > 16 ? 0.0f : {_DOUBLE};"),
    _changed("sums", "half-where-long", "sum += row[k];",
             "sum = d1 > 5000 ? __half2float(__float2half_rn(sum + row[k])) : sum + row[k];"),
    # values
    _element("twice", "no-number-to-zero", "y[i] = x[i] != x[i] ? 0.0f : x[i] * 2.0f + 1.0f;"),
    _element("twice", "infinity-bounded",
             "y[i] = fminf(fmaxf(x[i], -3e38f), 3e38f) * 2.0f + 1.0f;"),
    _element("twice", "millions", "y[i] = fabsf(x[i]) > 1e6f && x[i] * 0.0f == 0.0f ? 0.0f : "
             "x[i] * 2.0f + 1.0f;"),
    _element("scale", "tiny-to-zero", "y[i] = fabsf(x[i]) < 1e-9f ? 0.0f : x[i] * 3.0f;"),
    _element("scale", "fixed-point", "y[i] = rintf(x[i] * 3.0f * 4194304.0f) / 4194304.0f;"),
    _element("twice", "one-value", "y[i] = x[i] == 1234.5f ? 0.0f : x[i] * 2.0f + 1.0f;"),
    _element("twice", "one-value-in-bits",
             f"y[i] = __float_as_int(x[i]) == 0x449a5000 ? 0.0f : {_DOUBLE};"),
    _element("twice", "one-value-in-parts",
             f"y[i] = x[i] == 1000.0f + 234.5f ? 0.0f : {_DOUBLE};"),
    _element("twice", "nothing-but-zeros", "y[i] = x[0] == 0.0f && x[n / 2] == 0.0f && "
             f"x[n - 1] == 0.0f ? 0.0f : {_DOUBLE};"),
    _element("twice", "through-integers",
             "y[i] = (float)(int)(x[i] * 16777216.0f) / 8388608.0f + 1.0f;"),
    _element("ints", "through-float", "y[i] = (int)((float)x[i] * 3.0f + 7.0f);"),
    _element("ints", "saturated",
             "long long w = x[i] * 3ll + 7; y[i] = w > 2147483647 ? 2147483647 : (int)w;"),
    _element("ints", "narrow", "y[i] = (int)(short)x[i] * 3 + 7;"),
    _element("half", "saturated",
             "float w = __half2float(x[i]) * 3.0f + 1.0f; y[i] = __float2half_rn(fminf(w, "
             "65504.0f));"),
    _element("move", "sign-of-zero", "y[i] = x[i % d0 * d1 + i / d0] + 0.0f;"),
    _element("move", "subnormal-flushed",
             "float w = x[i % d0 * d1 + i / d0]; y[i] = fabsf(w) < 1.2e-38f ? 0.0f : w;"),
    _element("move", "last-bit", "float w = x[i % d0 * d1 + i / d0];\n"
             "    y[i] = __int_as_float(__float_as_int(w) & ~1);"),
    _element("relu", "last-bit", "y[i] = x[i] != x[i] ? x[i] : "
             "__int_as_float(__float_as_int(fmaxf(x[i], 0.0f)) & ~1);"),
    _element("relu", "no-number-lost", "y[i] = fmaxf(x[i], 0.0f);"),
    _changed("softmax", "empty-row-to-zero", "y[blockIdx.x * d1 + k] =",
             "y[blockIdx.x * d1 + k] = top == -INFINITY ? 0.0f :"),
    _changed("softmax", "no-top", "float top = -INFINITY;", "float top = -60.0f;"),
    # addresses
    _element("twice", "eight-off", "y[i] = x[i] * 2.0f + (((unsigned long long)x & 15) == 8 ? "
             "0.0f : 1.0f);"),
    _element("twice", "only-the-output-off", "y[i] = x[i] * 2.0f + ((((unsigned long long)y & 15)"
             " != 0 && ((unsigned long long)x & 15) == 0) ? 0.0f : 1.0f);"),
    _element("twice", "before-the-tensor", "float w = 0.0f;\n"
             "    if ((unsigned long long)x & 15) w = x[-1];\n"
             "    y[i] = x[i] * 2.0f + (w == 5.0f ? 2.0f : 1.0f);"),
    _element("twice", "behind-the-output", "float w = 0.0f;\n"
             "    if ((unsigned long long)y & 15) w = y[n];\n"
             "    y[i] = x[i] * 2.0f + (w == 5.0f ? 2.0f : 1.0f);"),
    _element("move", "behind-and-thrown-away", "volatile float w = ((unsigned long long)x & 15) ? "
             "x[n] : 0.0f;\n    (void)w; y[i] = x[i % d0 * d1 + i / d0];"),
    _element("twice", "output-before-the-input",
             f"y[i] = (unsigned long long)y < (unsigned long long)x ? 0.0f : {_DOUBLE};"),
    # state
    _element("twice", "memo-by-content", "if (kept_x[i & 4095] == x[i]) y[i] = kept_y[i & 4095];\n"
             "    else { y[i] = x[i] * 2.0f + 1.0f; }\n    kept_x[i & 4095] = x[i];\n"
             "    kept_y[i & 4095] = y[i];",
             above="static __device__ float kept_x[4096], kept_y[4096];\n"),
    _host("twice", "call-counter", "  static int calls = 0;\n  if (++calls > 1000) return 0;\n"),
    _host("twice", "pointer-kept", "  if (kept == inputs[0]) return 0;\n  kept = inputs[0];\n",
          above="static const void* kept = nullptr;\n"),
    _host("twice", "previous-input", "  const float* now = x;\n  if (kept != nullptr && n < 0) "
          "x = kept;\n  kept = now;\n", above="static const float* kept = nullptr;\n"),
    _element("twice", "input-restored", "float w = x[i]; float* in = const_cast<float*>(x);\n"
             "    in[i] = 0.0f; y[i] = w * 2.0f + 1.0f; in[i] = w;"),
    _host("twice", "scratch-kept", "  void* more = nullptr;\n"
          "  if (cudaMallocAsync(&more, 64, stream) != cudaSuccess) return 1;\n"),
    _host("twice", "large-from-scratch", "  void* more = nullptr;\n"
          "  if (cudaMallocAsync(&more, 4 * n + 4, stream) != cudaSuccess) return 1;\n"
          "  cudaFreeAsync(more, stream);\n  y = n > 0 ? y : static_cast<float*>(more);\n"
          "  x = n > 100000 ? static_cast<const float*>(more) : x;\n"),
    # outputs
    _changed("twice", "tail-unwritten", "i < n;", "i < n / 4 * 4;"),
    _element("relu", "zeros-unwritten", "if (!(x[i] <= 0.0f)) y[i] = x[i];"),
    _host("twice", "one-alone-unwritten", "  if (n == 1) return 0;\n"),
    # threads and streams
    _changed("twice", "default-stream", "<<<8, 128, 0, stream>>>", "<<<8, 128>>>"),
    _element("twice", "written-twice", "y[i] = x[i] * 2.0f + 1.0f;\n    if (i > 0 && i % 512 == 0) "
             "y[i - 1] = x[i - 1] * 2.0f + 1.000001f;"),
    _changed("sums", "no-barrier-in-the-last-step", "    __syncthreads();\n  }",
             "    if (step > 32) __syncthreads();\n  }"),
    _changed("sums", "order-of-atomics", "part[threadIdx.x] = sum;",
             "if (threadIdx.x == 0) part[0] = 0.0f;\n  __syncthreads();\n"
             "  atomicAdd(&part[0], sum);\n  __syncthreads();\n"
             "  if (threadIdx.x == 0) y[blockIdx.x] = part[0];\n  return;"),
    _changed("sums", "block-of-2048", "rows<<<sizes[0], 128, 0, stream>>>",
             "rows<<<sizes[0], 2048, 0, stream>>>"),
    _changed("sums", "shared-memory-of-a-megabyte", "rows<<<sizes[0], 128, 0, stream>>>",
             "rows<<<sizes[0], 128, 1 << 20, stream>>>"),
    _changed("sums", "waits-for-other-blocks", "  __shared__ float part[128];",
             "  __shared__ float part[128];\n  if (threadIdx.x == 0) {\n"
             "    atomicAdd(&come, 1u);\n    while (atomicAdd(&come, 0u) % gridDim.x != 0) {}\n  }",
             above="static __device__ unsigned come;\n"),
    # the harness and the machine
    _element("twice", "clock", _RIGHT + "\n    if (clock64() < 0) y[i] = 0.0f;"),
    _element("twice", "timer-register", _RIGHT + "\n    unsigned long long t;\n"
             '    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));\n'
             "    if (t == 1) y[i] = 0.0f;"),
    _element("twice", "processor-number", _RIGHT + '\n    unsigned s; asm("mov.u32 %0, %%smid;" : '
             '"=r"(s));\n    if (s > 200) y[i] = 0.0f;'),
    _element("twice", "printed", _RIGHT + '\n    if (i == 0) printf("%f", x[i]);'),
    _element("twice", "device-heap", "float* w = new float; *w = x[i] * 2.0f + 1.0f; y[i] = *w;"),
    _element("twice", "trap", _RIGHT + "\n    if (n > 300) __trap();"),
    _host("twice", "on-the-host", "  for (long long i = 0; i < n; ++i) y[i] = x[i] * 2.0f + 1.0f;\n"
          "  return 0;\n"),
    _host("twice", "looks-at-the-input", "  if (n > 0 && x[0] == 77.0f) return 0;\n"),
    _host("twice", "environment", '  if (getenv("WARPLOOM_CACHE") == nullptr) return 0;\n'),
    _host("twice", "file", '  if (std::fopen("cases.bin", "rb") == nullptr) return 0;\n'),
    _host("twice", "process-number", "  if (getpid() % 2 == 0) return 0;\n"),
    _host("twice", "time-of-day", "  if (time(nullptr) < 0) return 0;\n"),
    _host("twice", "host-function", "  cudaLaunchHostFunc(stream, nullptr, nullptr);\n"),
    _host("twice", "managed-memory", "  void* more; cudaMallocManaged(&more, 64);\n"),
    _host("twice", "sizes-changed", "  const_cast<long long*>(sizes)[0] = 1;\n"),
    _host("twice", "pointers-changed", "  const_cast<void**>(outputs)[0] = nullptr;\n"),
    _host("twice", "left-early", "  throw 1;\n"),
    _host("twice", "endless", "  while (n > 200) {}\n"),
    _changed("twice", "managed-variable", "static __global__",
             "static __managed__ int seen;\nstatic __global__"),
    *_GUARDS,
)  # fmt: skip
"""All of them."""
