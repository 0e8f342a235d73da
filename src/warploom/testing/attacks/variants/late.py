"""Programs that do the work of an iteration later: in the last one, or behind the timed part."""

from warploom.testing.attacks.record import Attack
from warploom.testing.attacks.variants.base import (
    FREE,
    Edit,
    allocated_anew,
    at_end,
    in_pipeline,
    made,
    swap,
    then,
)

_KIND = "work that comes late"
_LAST = "calls == WARMUP + ITERATIONS"
_MLP = swap(
    ("void expert_mlp(const float* in,", "void expert_mlp(bool now, const float* in,"),
    (">>>(layer.recv, layer.recv_count,", ">>>(now, layer.recv, layer.recv_count,"),
)
_COMBINE = swap(
    (
        "void combine_tokens(const float* returned,",
        "void combine_tokens(bool now, const float* returned,",
    ),
    (">>>(layer.returned, layer.expert,", ">>>(now, layer.returned, layer.expert,"),
)
_FROM = "  int token = blockIdx.x;\n  for (int h = threadIdx.x;"
_SUM = "__syncthreads();\n  for (int f = threadIdx.x;"


def _now(condition: str) -> Edit:
    return in_pipeline(f"  static int calls = 0;\n  ++calls;\n  const bool now = {condition};")


def _mlp(condition: str) -> Edit:
    return then(
        _now(condition), _MLP, swap((_SUM, _SUM.replace("  for", "  if (!now) return;\n  for")))
    )


def _combine(condition: str, skipped: str = "!now") -> Edit:
    part = _FROM.replace("  for", f"  if ({skipped}) return;\n  for")
    return then(_now(condition), _COMBINE, swap((_FROM, part)))


_BEHIND = (
    "  combine_tokens<<<TOKENS, 32, 0, stream>>>(true, layer.returned, layer.expert, layer.slot,\n"
    "                                            layer.gate, layer.output, layer.capacity);\n"
    "  CUDA_CHECK(cudaStreamSynchronize(stream));\n"
)
_EDITS: dict[str, Edit] = {
    "mlp_in_the_last": _mlp(_LAST),
    "mlp_but_the_warm_up": _mlp(f"calls == 1 || {_LAST}"),
    "combine_in_the_last": _combine(_LAST),
    "combine_every_second": _combine("calls % 2 == 1"),
    "half_in_the_last": _combine(_LAST, "!now && token % 2 == 1"),
    "one_rank_in_the_last": then(
        _combine(f"device != 0 || {_LAST}"),
        swap(
            (
                "  static int calls = 0;\n",
                "  static int calls = 0;\n  int device = 0;\n"
                "  CUDA_CHECK(cudaGetDevice(&device));\n",
            )
        ),
    ),
}
_ELSEWHERE = swap(
    (
        "  CUDA_CHECK(cudaMalloc(&layer.output, TOKENS * HIDDEN * sizeof(float)));\n",
        "  CUDA_CHECK(cudaMalloc(&layer.output, TOKENS * HIDDEN * sizeof(float)));\n"
        "  float* const results = layer.output;\n"
        "  CUDA_CHECK(cudaMalloc(&layer.output, TOKENS * HIDDEN * sizeof(float)));\n",
    )
)
_MOVED = (
    "  CUDA_CHECK(cudaMemcpy(results, layer.output, TOKENS * HIDDEN * sizeof(float),\n"
    "                        cudaMemcpyDeviceToDevice));\n"
    "  CUDA_CHECK(cudaFree(layer.output));\n  layer.output = results;\n"
)
_ROW = "computes only in the checked phase"

VARIANTS: tuple[Attack, ...] = (
    *(made(f"late_{name}", _KIND, edit, row=_ROW) for name, edit in _EDITS.items()),
    *(
        made(f"late_{name}", _KIND, then(_combine(_LAST), edit), (FREE,), row=_ROW, free=True)
        for name, edit in {
            "moved_behind_the_stop": then(_ELSEWHERE, at_end(_MOVED)),
            "in_memory_allocated_anew": allocated_anew,
        }.items()
    ),
    made(
        "late_behind_the_stop",
        _KIND,
        then(_combine("calls == 1"), at_end(_BEHIND)),
        (FREE,),
        row=_ROW,
        free=True,
    ),
)
