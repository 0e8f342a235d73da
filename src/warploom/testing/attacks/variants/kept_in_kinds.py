"""Results of one iteration that are kept for the next in the kinds of memory that CUDA has.

In place of each later layer comes a copy: out of an array, a pool, a symbol, managed memory, by a
node of a graph or by a host function.
"""

from warploom.testing.attacks.record import Attack
from warploom.testing.attacks.variants.base import (
    UNTRUSTED,
    Edit,
    helper,
    in_pipeline,
    made,
    swap,
    then,
)

_KIND = "equal inputs per iteration"
_END = "                                            layer.output, layer.capacity);\n"
_BYTES = "TOKENS * HIDDEN * sizeof(float)"
_ROW = "HIDDEN * sizeof(float)"
_STREAM = "cudaMemcpyDeviceToDevice, stream"


def _kept(opening: str, restored: str, kept: str) -> Edit:
    """Return the edit that keeps the first output by `kept` and gives it back by `restored`."""
    return then(
        in_pipeline(f"  {opening}\n  if (full) {{\n    {restored}\n  }} else {{"),
        swap((_END, f"{_END}    {kept}\n    full = true;\n  }}\n")),
    )


_FULL = "static bool full = false;"
_FORMS: dict[str, Edit] = {
    "array": _kept(
        f"{_FULL} static cudaArray_t kept = nullptr;",
        f"CUDA_CHECK(cudaMemcpy2DFromArrayAsync(layer.output, {_ROW}, kept, 0, 0, {_ROW}, TOKENS, {_STREAM}));",
        "cudaChannelFormatDesc form = cudaCreateChannelDesc<float>();"
        " CUDA_CHECK(cudaMallocArray(&kept, &form, HIDDEN, TOKENS));"
        f" CUDA_CHECK(cudaMemcpy2DToArrayAsync(kept, 0, 0, layer.output, {_ROW}, {_ROW}, TOKENS, {_STREAM}));",
    ),
    "managed": _kept(
        f"{_FULL} static float* kept = nullptr;",
        f"CUDA_CHECK(cudaMemcpyAsync(layer.output, kept, {_BYTES}, cudaMemcpyDefault, stream));",
        f"CUDA_CHECK(cudaMallocManaged(&kept, {_BYTES}));"
        f" CUDA_CHECK(cudaMemcpyAsync(kept, layer.output, {_BYTES}, cudaMemcpyDefault, stream));",
    ),
    "pool": _kept(
        f"{_FULL} float* kept = nullptr; CUDA_CHECK(cudaMallocAsync(&kept, {_BYTES}, stream));",
        f"CUDA_CHECK(cudaMemcpyAsync(layer.output, kept, {_BYTES}, {_STREAM}));"
        " CUDA_CHECK(cudaFreeAsync(kept, stream));",
        f"CUDA_CHECK(cudaMemcpyAsync(kept, layer.output, {_BYTES}, {_STREAM}));"
        " CUDA_CHECK(cudaFreeAsync(kept, stream));",
    ),
    "pool_for_ever": _kept(
        f"{_FULL} static float* kept = nullptr;",
        f"CUDA_CHECK(cudaMemcpyAsync(layer.output, kept, {_BYTES}, {_STREAM}));",
        f"CUDA_CHECK(cudaMallocAsync(&kept, {_BYTES}, stream));"
        f" CUDA_CHECK(cudaMemcpyAsync(kept, layer.output, {_BYTES}, {_STREAM}));",
    ),
    "symbol": then(
        helper("__device__ float g_kept[TOKENS * HIDDEN];"),
        _kept(
            _FULL,
            f"CUDA_CHECK(cudaMemcpyFromSymbolAsync(layer.output, g_kept, {_BYTES}, 0, {_STREAM}));",
            f"CUDA_CHECK(cudaMemcpyToSymbolAsync(g_kept, layer.output, {_BYTES}, 0, {_STREAM}));",
        ),
    ),
    "constant": then(
        helper("__constant__ float c_kept[TOKENS * HIDDEN];\n"
               "__global__ void paste(float* to) {\n  for (int i = threadIdx.x; i < TOKENS * HIDDEN;"
               " i += blockDim.x) to[i] = c_kept[i];\n}"),
        _kept(
            _FULL, "paste<<<1, 256, 0, stream>>>(layer.output);",
            f"CUDA_CHECK(cudaMemcpyToSymbolAsync(c_kept, layer.output, {_BYTES}, 0, {_STREAM}));",
        ),
    ),
    "graph_node": _kept(
        f"{_FULL} static float* kept = nullptr; static cudaGraphExec_t paste = nullptr;",
        "CUDA_CHECK(cudaGraphLaunch(paste, stream));",
        f"CUDA_CHECK(cudaMalloc(&kept, {_BYTES}));"
        f" CUDA_CHECK(cudaMemcpyAsync(kept, layer.output, {_BYTES}, {_STREAM}));"
        " cudaGraph_t graph; cudaGraphNode_t node; CUDA_CHECK(cudaGraphCreate(&graph, 0));"
        f" CUDA_CHECK(cudaGraphAddMemcpyNode1D(&node, graph, nullptr, 0, layer.output, kept, {_BYTES},"
        " cudaMemcpyDeviceToDevice)); CUDA_CHECK(cudaGraphInstantiateWithFlags(&paste, graph, 0));",
    ),
    "host_function": then(
        helper("static float g_host[TOKENS * HIDDEN], *g_pinned;\n"
               "static void keep_it(void*) { for (int i = 0; i < TOKENS * HIDDEN; ++i)"
               " g_host[i] = g_pinned[i]; }\n"
               "static void give_it(void*) { for (int i = 0; i < TOKENS * HIDDEN; ++i)"
               " g_pinned[i] = g_host[i]; }"),
        _kept(
            _FULL,
            "CUDA_CHECK(cudaLaunchHostFunc(stream, give_it, nullptr)); CUDA_CHECK(cudaMemcpyAsync("
            f"layer.output, g_pinned, {_BYTES}, cudaMemcpyHostToDevice, stream));",
            f"CUDA_CHECK(cudaMallocHost(&g_pinned, {_BYTES})); CUDA_CHECK(cudaMemcpyAsync(g_pinned,"
            f" layer.output, {_BYTES}, cudaMemcpyDeviceToHost, stream));"
            " CUDA_CHECK(cudaLaunchHostFunc(stream, keep_it, nullptr));",
        ),
    ),
    "pitched": _kept(
        f"{_FULL} static char* kept = nullptr; static size_t pitch = 0;",
        f"CUDA_CHECK(cudaMemcpy2DAsync(layer.output, {_ROW}, kept, pitch, {_ROW}, TOKENS, {_STREAM}));",
        f"CUDA_CHECK(cudaMallocPitch(&kept, &pitch, {_ROW}, TOKENS));"
        f" CUDA_CHECK(cudaMemcpy2DAsync(kept, pitch, layer.output, {_ROW}, {_ROW}, TOKENS, {_STREAM}));",
    ),
}  # fmt: skip

VARIANTS: tuple[Attack, ...] = tuple(
    made(f"kind_{name}", _KIND, edit, UNTRUSTED, row="caches results by pointer or by value fingerprint")
    for name, edit in _FORMS.items()
)  # fmt: skip
