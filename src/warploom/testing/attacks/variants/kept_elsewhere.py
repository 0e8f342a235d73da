"""Results of the warm-up that are kept where nobody may look: constants, pools, callbacks, arguments."""

from warploom.testing.attacks.record import Attack
from warploom.testing.attacks.variants.base import (
    REGIONS,
    Edit,
    helper,
    in_pipeline,
    made,
    swap,
    then,
)

_KIND = "equal inputs per iteration"
_BYTES = "TOKENS * HIDDEN * sizeof(float)"
_LAYER = "  expert_mlp<<<grid, 32, 0, stream>>>"
_END = "                                            layer.output, layer.capacity);\n"
_PASTE = (
    "__global__ void paste(const float* from, float* to, int n) {\n"
    "  for (int i = threadIdx.x; i < n; i += blockDim.x) to[i] = from[i];\n}\n"
)
_BOX = (
    "struct Box { std::vector<float> v; float* p; };\n"
    "static void CUDART_CB take(void* b) { Box* x = static_cast<Box*>(b);"
    " x->v.assign(x->p, x->p + TOKENS * HIDDEN); }\n"
    "static void CUDART_CB give(void* b) { Box* x = static_cast<Box*>(b);"
    " std::copy(x->v.begin(), x->v.end(), x->p); }\nstatic Box& box() { static Box b; return b; }"
)
_TO = "paste<<<1, 256, 0, stream>>>(layer.output, {}, TOKENS * HIDDEN);"
_FROM = "paste<<<1, 256, 0, stream>>>({}, layer.output, TOKENS * HIDDEN);"
_POOL = f"float* t; CUDA_CHECK(cudaMallocAsync(&t, {_BYTES}, stream)); {{}}" + (
    " CUDA_CHECK(cudaFreeAsync(t, stream));"
)

_PLACES: dict[str, tuple[str, str, str]] = {
    # name: (declarations, how the first round keeps its results, how later ones take them)
    "constants": (
        "__constant__ float kKept[4096];",
        f"CUDA_CHECK(cudaMemcpyToSymbolAsync(kKept, layer.output, {_BYTES}, 0,"
        " cudaMemcpyDeviceToDevice, stream));",
        f"CUDA_CHECK(cudaMemcpyFromSymbolAsync(layer.output, kKept, {_BYTES}, 0,"
        " cudaMemcpyDeviceToDevice, stream));",
    ),
    "managed": (
        "__managed__ float g_kept[4096];",
        _TO.format("g_kept"),
        _FROM.format("g_kept"),
    ),
    "freed_pool": ("", _POOL.format(_TO.format("t")), _POOL.format(_FROM.format("t"))),
    "callbacks": (
        _BOX,
        f"CUDA_CHECK(cudaMallocHost(&box().p, {_BYTES})); CUDA_CHECK(cudaMemcpyAsync(box().p,"
        f" layer.output, {_BYTES}, cudaMemcpyDeviceToHost, stream));"
        " CUDA_CHECK(cudaLaunchHostFunc(stream, take, &box()));",
        "CUDA_CHECK(cudaLaunchHostFunc(stream, give, &box())); CUDA_CHECK(cudaMemcpyAsync("
        f"layer.output, box().p, {_BYTES}, cudaMemcpyHostToDevice, stream));",
    ),
}  # fmt: skip


def _kept(declarations: str, keep: str, take: str) -> Edit:
    return then(
        helper(_PASTE + declarations),
        in_pipeline("  static int calls = 0;\n  ++calls;"),
        swap(
            (_LAYER, f"  if (calls == 1){_LAYER}"),
            (_END, f"{_END}  if (calls == 1) {{ {keep} }} else {{ {take} }}\n"),
        ),
    )


VARIANTS: tuple[Attack, ...] = tuple(
    made(f"kept_in_{name}", _KIND, _kept(*parts), (REGIONS,)) for name, parts in _PLACES.items()
)
