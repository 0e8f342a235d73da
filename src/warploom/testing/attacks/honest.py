"""Honest programs: ordinary edits of the base programs, which must pass in every mode."""

from functools import partial

from warploom.testing.attacks.record import ROOT, Attack, Expected, Mode
from warploom.testing.attacks.variants.base import (
    AGENT,
    CHECK,
    FREE,
    KERNELS,
    REGIONS,
    Edit,
    allocated_anew,
    helper,
    in_pipeline,
    made,
    put_before,
    swap,
    then,
)  # fmt: skip
from warploom.testing.attacks.variants.orders import copied

EXAMPLES = ("allreduce_dp", "attention", "gemm_allgather", "kv_transfer", "moe")
_DOT = "    for (int h = 0; h < HIDDEN; ++h) sum += w[h] * x[h];\n"
_DOT2 = "    for (int f = 0; f < FFN; ++f) sum += w[f] * hidden[f];\n"
_RELU = "    hidden[f] = fmaxf(sum, 0.0f);\n"
_LOAD = "  for (int h = threadIdx.x; h < HIDDEN; h += blockDim.x) x[h] = in[row + h];\n"
_SEND = "    send[row * HIDDEN + h] = tokens[(a / TOP_K) * HIDDEN + h];\n"
_GATE = "      sum += gate[a] * returned[row * HIDDEN + h];\n"
_OUT = "    output[token * HIDDEN + h] = sum;\n"
_MLP = "  expert_mlp<<<grid, 32, 0, stream>>>"
_TABLE = (
    "struct Scales { float v[4]; };\n"
    "__device__ constexpr Scales makeScales() { Scales s{}; for (int i = 0; i < 4; ++i) s.v[i] = 1.0f;"
    " return s; }"
)
_TILE = (
    "template <int kTile> struct Tile {\n  float v[kTile];\n"
    "  __device__ void load(const float* p) { for (int i = 0; i < kTile; ++i) v[i] = p[i]; }\n"
    "  __device__ float dot(const float* q) const { float s = 0;\n#pragma unroll\n"
    "    for (int i = 0; i < kTile; ++i) s += v[i] * q[i];\n    return s; }\n};"
)
_STATUS = (
    "inline void checkStatus(cudaError_t code, const char* file, int line) {\n"
    '  if (code != cudaSuccess) {\n    fprintf(stderr, "status: %s (%s) %s %d\\n",'
    " cudaGetErrorString(code), cudaGetErrorName(code), file, line);\n  }\n}\n"
    "#define STATUS(call) checkStatus((call), __FILE__, __LINE__)"
)
_SIDE = (
    "  cudaEvent_t ready;\n  cudaStream_t side;\n  CUDA_CHECK(cudaStreamCreate(&side));\n"
    "  CUDA_CHECK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));\n"
    "  CUDA_CHECK(cudaEventRecord(ready, stream));\n"
    "  CUDA_CHECK(cudaStreamWaitEvent(side, ready, 0));\n"
)

_EDITS: dict[str, Edit] = {
    "block_of_64": swap((_MLP, "  expert_mlp<<<grid, 64, 0, stream>>>")),
    "one_warp_more": swap(("  dispatch_tokens<<<kAssignments, 32,", "  dispatch_tokens<<<kAssignments, 64,")),
    "helper_function": then(
        helper("__device__ inline float dot(const float* a, const float* b, int n) {\n  float s = 0.0f;\n"
               "  for (int i = 0; i < n; ++i) s += a[i] * b[i];\n  return s;\n}"),
        swap((_DOT, "    sum = dot(w, x, HIDDEN);\n"), (_DOT2, "    sum = dot(w, hidden, FFN);\n")),
    ),
    "noinline_helper": then(
        helper("__device__ __noinline__ float relu(float v) { return v > 0.0f ? v : 0.0f; }"),
        swap((_RELU, "    hidden[f] = relu(sum);\n")),
    ),
    "macro": then(
        helper("#define EACH(i, n) for (int i = 0; i < (n); ++i)"),
        swap((_DOT, "    EACH(h, HIDDEN) sum += w[h] * x[h];\n")),
    ),
    "template": then(
        helper("template <int N> __device__ inline float dotOf(const float* a, const float* b) {\n"
               "  float s = 0.0f;\n#pragma unroll\n  for (int i = 0; i < N; ++i) s += a[i] * b[i];\n"
               "  return s;\n}"),
        swap((_DOT, "    sum = dotOf<HIDDEN>(w, x);\n"), (_DOT2, "    sum = dotOf<FFN>(w, hidden);\n")),
    ),
    "lambda": swap((_DOT, "    auto term = [&](int i) { return w[i] * x[i]; };\n"
                    "    for (int i = 0; i < HIDDEN; ++i) sum += term(i);\n")),
    "host_vector": in_pipeline("  std::vector<size_t> sizes{layer.block, layer.block};\n"
                               "  size_t all = 0;\n  for (size_t n : sizes) all += n;\n"
                               "  if (all == 0) return;"),
    "struct_by_value": then(
        helper("struct Span { const float* p; int n; };\n"
               "__device__ inline float dotOfSpan(Span s, const float* q) {\n  float sum = 0.0f;\n"
               "  for (int i = 0; i < s.n; ++i) sum += s.p[i] * q[i];\n  return sum;\n}"),
        swap((_DOT, "    sum = dotOfSpan({w, HIDDEN}, x);\n")),
    ),
    "struct_not_inlined": then(
        helper("struct Four { float a, b, c, d; };\n"
               "__device__ __noinline__ float sumOfFour(Four v) { return v.a + v.b + v.c + v.d; }"),
        swap((_DOT, "    for (int h = 0; h < HIDDEN; h += 4)\n      sum += sumOfFour(Four{w[h] * x[h],"
              " w[h + 1] * x[h + 1], w[h + 2] * x[h + 2], w[h + 3] * x[h + 3]});\n")),
    ),
    "unrolled": swap((_DOT2, "#pragma unroll 4\n" + _DOT2)),
    "constexpr_table": then(helper(_TABLE), swap((_GATE, "      constexpr Scales kScales = makeScales();\n"
                            "      sum += kScales.v[k & 3] * gate[a] * returned[row * HIDDEN + h];\n"))),
    "if_constexpr": swap((_RELU, "    if constexpr (FFN > 0) {\n  " + _RELU + "    }\n")),
    "local_struct": swap((_SEND, "    struct Place { size_t at; int from; };\n"
                          "    const Place place{row * HIDDEN + h, (a / TOP_K) * HIDDEN + h};\n"
                          "    send[place.at] = tokens[place.from];\n")),
    "structured_binding": swap((_SEND, "    struct Two { size_t to, from; };\n    const auto [to, from] ="
                                " Two{row * HIDDEN + h, size_t(a / TOP_K) * HIDDEN + h};\n"
                                "    send[to] = tokens[from];\n")),
    "shared_gates": swap(
        ("  int token = blockIdx.x;\n  for (int h", "  __shared__ float weight[TOP_K];\n"
         "  int token = blockIdx.x;\n  if (threadIdx.x < TOP_K) weight[threadIdx.x] ="
         " gate[token * TOP_K + threadIdx.x];\n  __syncthreads();\n  for (int h"),
        (_GATE, "      sum += weight[k] * returned[row * HIDDEN + h];\n"),
    ),
    "shuffle": swap((
        _DOT2,
        "    const float part = threadIdx.x < HIDDEN ? 1.0f : 0.0f;\n"
        "    const unsigned here = __activemask();\n"
        "    const float one = __shfl_sync(here, part, __ffs(here) - 1);\n"
        "    for (int f = 0; f < FFN; ++f) sum += one * w[f] * hidden[f];\n",
    )),
    "float4": swap((_DOT2, "    const float4* wide = reinterpret_cast<const float4*>(w);\n"
                    "    for (int f = 0; f < FFN / 4; ++f) {\n      const float4 v = wide[f];\n"
                    "      sum += v.x * hidden[4 * f] + v.y * hidden[4 * f + 1] +"
                    " v.z * hidden[4 * f + 2] + v.w * hidden[4 * f + 3];\n    }\n")),
    "ldg": swap((_DOT, "    for (int h = 0; h < HIDDEN; ++h) sum += __ldg(w + h) * x[h];\n")),
    "registers": then(helper(_TILE), swap((_DOT, "    Tile<4> tile;\n    for (int h = 0; h < HIDDEN;"
                      " h += 4) {\n      tile.load(w + h);\n      sum += tile.dot(x + h);\n    }\n"))),
    "launch_bounds": swap(("__global__ void combine_tokens(", "__global__ void __launch_bounds__(256)"
                           " combine_tokens(")),
    "fused": swap((_DOT2, "    for (int f = 0; f < FFN; ++f) sum = fmaf(w[f], hidden[f], sum);\n")),
    "switch": swap((_RELU, "    switch (sum > 0.0f) {\n      case true: hidden[f] = sum; break;\n"
                    "      default: hidden[f] = 0.0f; break;\n    }\n")),
    "device_printf": swap((_OUT, _OUT + "    if (sum != sum) printf(\"token %d is NaN\\n\", token);\n")),
    "cp_async": copied("cp.async.commit_group; cp.async.wait_group 0;"),
    "status_helper": then(helper(_STATUS), in_pipeline("  STATUS(cudaPeekAtLastError());\n"
                          "  STATUS(cudaDeviceSynchronize());")),
    "comments": put_before(KERNELS, "// Nothing here is new: /* not even this */ only words.\n\n"),
    "second_stream": then(
        in_pipeline(_SIDE),
        swap(
            ("  combine_tokens<<<TOKENS, 32, 0, stream>>>",
             "  CUDA_CHECK(cudaEventRecord(ready, stream));\n"
             "  CUDA_CHECK(cudaStreamWaitEvent(side, ready, 0));\n"
             "  combine_tokens<<<TOKENS, 32, 0, side>>>"),
            ("                                            layer.output, layer.capacity);\n",
             "                                            layer.output, layer.capacity);\n"
             "  CUDA_CHECK(cudaEventRecord(ready, side));\n"
             "  CUDA_CHECK(cudaStreamWaitEvent(stream, ready, 0));\n"
             "  CUDA_CHECK(cudaEventDestroy(ready));\n  CUDA_CHECK(cudaStreamDestroy(side));\n"),
        ),
    ),
    "dynamic_shared": swap(
        ("  __shared__ float x[HIDDEN];\n", "  extern __shared__ float x[];\n"),
        (_MLP, "  expert_mlp<<<grid, 32, HIDDEN * sizeof(float), stream>>>"),
    ),
    "pointer_walk": swap((_LOAD, "  const float* from = in + row;\n"
                          "  for (int h = threadIdx.x; h < HIDDEN; h += blockDim.x) x[h] = *(from + h);\n")),
}  # fmt: skip


# A transform leaves alone what a program does after its last communication.
_REGIONS_ONLY = ("second_stream", "status_helper")


def _regions() -> list[Attack]:
    return [
        made(
            f"honest_{name}",
            "honest",
            edit,
            (REGIONS,) if name in _REGIONS_ONLY else (REGIONS, AGENT),
            Expected.OK,
        )
        for name, edit in _EDITS.items()
    ]


def _whole() -> list[Attack]:
    """The same edits of the host-driven program, as a free candidate."""
    names = (
        "block_of_64",
        "template",
        "struct_not_inlined",
        "shared_gates",
        "float4",
        "fused",
        "cp_async",
    )
    edits = {**{name: _EDITS[name] for name in names}, "allocated_anew": allocated_anew}
    return [
        made(f"honest_free_{name}", "honest", edit, (FREE,), Expected.OK, free=True)
        for name, edit in edits.items()
    ]


def _examples() -> list[Attack]:
    found = [
        Attack(f"example_{name}", "honest", (CHECK,), Expected.OK,
               partial((ROOT / "examples" / name / f"{name}.cu").read_text, encoding="utf-8"))
        for name in EXAMPLES
    ]  # fmt: skip
    for name in EXAMPLES:
        for api in ("gin", "lsa"):
            chosen = {"workload": name, "api": api}
            found.append(Attack(f"rules_{name}_{api}", "honest", (Mode.RULES,), Expected.OK,
                                lambda: "", defines=chosen))  # fmt: skip
    return found


HONEST: tuple[Attack, ...] = (*_regions(), *_whole(), *_examples())
