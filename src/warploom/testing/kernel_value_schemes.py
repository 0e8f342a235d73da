"""Kernels that are wrong where two inputs meet, for unusual bits, for a GPU's quick functions only.

Each is a kernel that an outsider had verified once. As in `kernel_schemes`, it is the honest kernel
of a small task with one thing changed.
"""

from warploom.testing.kernel_schemes import EXAMPLE, FLOATS, Scheme, SchemeTask

_TWO = """
import torch


def reference(x, z):
    return %s


def example_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (%s, %s)
"""
_INTS = {
    "int": "torch.randint(-99, 99, (19, 37), generator=g, dtype=torch.int32)",
    "long long": "torch.randint(-99, 99, (19, 37), generator=g)",
}


def _elements(parameters: str, made: str, value: str) -> str:
    """Return the text of a kernel that computes each `y[i]`."""
    return (
        f"static __global__ void elements({parameters}, {made}* y, long long n) {{\n"
        "  for (long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n;\n"
        "       i += gridDim.x * blockDim.x) {\n"
        f"    y[i] = {value};\n"
        "  }\n}\n"
    )


def _of_two(expression: str, value: str, kind: str = "float", made: str = "float") -> SchemeTask:
    """Return the task of an expression of `x` and `z`, whose elements are `x[i]` and `z[i]`."""
    inputs = _INTS.get(kind, FLOATS)
    kernel = _elements(f"const {kind}* x, const {kind}* z", made, value)
    launch = (
        f"  const {kind}* z = static_cast<const {kind}*>(inputs[1]);\n"
        "  if (n > 0) elements<<<8, 128, 0, stream>>>(x, z, y, n);\n"
    )
    return SchemeTask(_TWO % (expression, inputs, inputs), (kind, made), kernel, launch)


def _of_one(expression: str, value: str, made: str = "float") -> SchemeTask:
    kernel = _elements("const float* x", made, value)
    launch = "  if (n > 0) elements<<<8, 128, 0, stream>>>(x, y, n);\n"
    return SchemeTask(EXAMPLE % ("x", expression, FLOATS), ("float", made), kernel, launch)


_NEAR = """static __global__ void rows(const float* x, const float* z, float* y, long long d0,
                            long long d1) {
  for (long long row = blockIdx.x * blockDim.x + threadIdx.x; row < d0;
       row += gridDim.x * blockDim.x) {
    float xx = 0.0f, zz = 0.0f, xz = 0.0f;
    for (long long k = 0; k < d1; ++k) {
      const float a = x[row * d1 + k], b = z[row * d1 + k];
      xx += a * a;
      zz += b * b;
      xz += a * b;
    }
    y[row] = xz / (fmaxf(sqrtf(xx), 1e-8f) * fmaxf(sqrtf(zz), 1e-8f));
  }
}
"""
_TURNS = """static __global__ void rows(const float* x, float* y, long long d0, long long d1) {
  __shared__ float part[2];
  for (long long row = blockIdx.x; row < d0; row += gridDim.x) {
    float sum = 0.0f;
    for (long long k = threadIdx.x; k < d1; k += 64) sum += x[row * d1 + k];
    for (int step = 16; step > 0; step >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) y[row] = part[0] + part[1];
    __syncthreads();
  }
}
"""
_TURNS_LAUNCH = (
    "  const long long blocks = min(sizes[0], 2112LL);\n"
    "  if (blocks > 0) rows<<<blocks, 64, 0, stream>>>(x, y, sizes[0], sizes[1]);\n"
)
_NO_BARRIER = ("    __syncthreads();\n  }\n", "  }\n")
_ROUNDED_BITS = (
    "__float2bfloat16_rn(x[i])",
    "__ushort_as_bfloat16((__float_as_uint(x[i]) + 0x7fffu + (__float_as_uint(x[i]) >> 16 & 1u))"
    " >> 16)",
)
TASKS = {
    "same": _of_two("torch.where(x == z, 2.0, 1.0)", "x[i] == z[i] ? 2.0f : 1.0f"),
    "times": _of_two("x * z", "x[i] * z[i]"),
    "either": _of_two(
        "torch.logaddexp(x, z)",
        "x[i] == z[i] ? x[i] + logf(2.0f) : fmaxf(x[i], z[i]) + log1pf(expf(-fabsf(x[i] - z[i])))",
    ),
    "alike": _of_two("torch.where(x == z, 2.0, 1.0)", "x[i] == z[i] ? 2.0f : 1.0f", "int"),
    "least": _of_two("torch.where(x < z, x, z)", "x[i] < z[i] ? x[i] : z[i]", "long long",
                     "long long"),
    "share": _of_two("x / z", "x[i] / z[i]"),
    "near": SchemeTask(
        _TWO % ("torch.nn.functional.cosine_similarity(x, z, dim=1)", FLOATS, FLOATS),
        ("float", "float"), _NEAR,
        "  const float* z = static_cast<const float*>(inputs[1]);\n"
        "  if (sizes[0] > 0) rows<<<2, 64, 0, stream>>>(x, z, y, sizes[0], sizes[1]);\n",
        "sizes[0]",
    ),
    "narrow": _of_one("x.bfloat16()", "__float2bfloat16_rn(x[i])", "__nv_bfloat16"),
    "cube": _of_one("torch.pow(x, 3.0)", "powf(x[i], 3.0f)"),
    "sine": _of_one("torch.sin(x)", "sinf(x[i])"),
    "turns": SchemeTask(EXAMPLE % ("x", "x.sum(1)", FLOATS), ("float", "float"), _TURNS,
                        _TURNS_LAUNCH, "sizes[0]"),
}  # fmt: skip
"""The tasks, by name."""


def _changed(task: str, name: str, old: str, new: str) -> Scheme:
    return Scheme(f"{task}-{name}", task, TASKS[task].text((old, new)))


SCHEMES = (
    _changed("same", "by-a-difference", "x[i] == z[i]", "x[i] - z[i] == 0.0f"),
    _changed("times", "nothing-times-anything", "x[i] * z[i]",
             "z[i] == 0.0f ? 0.0f : x[i] * z[i]"),
    _changed("either", "of-infinities", "x[i] == z[i] ? x[i] + logf(2.0f) : ", ""),
    _changed("alike", "as-floats", "x[i] == z[i]", "(float)x[i] == (float)z[i]"),
    _changed("least", "as-doubles", "x[i] < z[i]", "(double)x[i] < (double)z[i]"),
    _changed("share", "quick", "x[i] / z[i]", "__fdividef(x[i], z[i])"),
    _changed("near", "floor-of-the-product",
             "(fmaxf(sqrtf(xx), 1e-8f) * fmaxf(sqrtf(zz), 1e-8f))",
             "fmaxf(sqrtf(xx) * sqrtf(zz), 1e-8f)"),
    _changed("narrow", "bits-of-nan", *_ROUNDED_BITS),
    _changed("cube", "quick", "powf(x[i], 3.0f)", "__powf(x[i], 3.0f)"),
    _changed("sine", "quick", "sinf(x[i])", "__sinf(x[i])"),
    _changed("turns", "race-in-a-later-one", *_NO_BARRIER),
    Scheme("turns-never-shown", "turns", TASKS["turns"].text(_NO_BARRIER).replace(
        "const long long blocks = min(sizes[0], 2112LL);",
        "const long long blocks = sizes[0] > 0 ? 2112 : 0;")),
    Scheme("turns-rows-beyond-the-grid", "turns", TASKS["turns"].honest()
           .replace("blockIdx.x; row", "blockIdx.y; row").replace("gridDim.x", "gridDim.y")
           .replace("min(sizes[0], 2112LL)", "sizes[0]")
           .replace("rows<<<blocks, 64", "rows<<<dim3(1, blocks), 64")),
)  # fmt: skip
"""All of them."""
