"""Results of the warm-up that come back from the host, where no counter of memory sees them."""

from warploom.testing.attacks.record import Attack
from warploom.testing.attacks.variants.base import FREE, UNTRUSTED, Edit, helper, made, swap, then

_KIND = "results that come back by value"
_ROW = "computes only in the checked phase"
_GIVE = """\
struct Kept { TYPE };
static __global__ void give(bool now, Kept kept, float* output, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (now || i >= n) return;
  VALUE;
}
"""
_FLOATS = _GIVE.replace("TYPE", "float v[TOKENS * HIDDEN];").replace(
    "VALUE", "output[i] = kept.v[i]"
)
_BYTES = _GIVE.replace("TYPE", "unsigned char v[4][TOKENS * HIDDEN];").replace(
    "VALUE",
    "output[i] = __int_as_float(kept.v[0][i] | kept.v[1][i] << 8 | kept.v[2][i] << 16 |\n"
    "                             kept.v[3][i] << 24)",
)
_TAKE_FLOATS = "for (int i = 0; i < COUNT; ++i) kept.v[i] = seen[i];"
_TAKE_BYTES = (
    "for (int i = 0; i < COUNT; ++i)\n      for (int k = 0; k < 4; ++k)\n"
    "        kept.v[k][i] = reinterpret_cast<unsigned char*>(&seen[i])[k];"
)
_LAST = "                                            layer.output, layer.capacity);\n"
_FIRST = "  int token = blockIdx.x;\n  for (int h = threadIdx.x;"


def _returned(give: str, take: str, count: str, now: str) -> Edit:
    """Return the edit that keeps `count` results of the first call, and gives them back later."""
    after = f"""\
  static Kept kept;
  static int calls = 0;
  const bool now = {now.replace("calls", "++calls", 1)};
  give<<<(TOKENS * HIDDEN + 63) / 64, 64, 0, stream>>>(now, kept, layer.output, {count});
  if (calls == 1) {{
    static float seen[TOKENS * HIDDEN];
    float* const same = layer.output;
    CUDA_CHECK(cudaStreamSynchronize(stream));
    CUDA_CHECK(cudaMemcpy(seen, same, {count} * sizeof(float), cudaMemcpyDeviceToHost));
    {take.replace("COUNT", count)}
  }}
"""
    return then(helper(give), swap((_LAST, _LAST + after)))


_EDITS: dict[str, Edit] = {
    "floats": _returned(_FLOATS, _TAKE_FLOATS, "TOKENS * HIDDEN", "calls == 1"),
    "bytes": _returned(_BYTES, _TAKE_BYTES, "TOKENS * HIDDEN", "calls == 1"),
    "one_token": _returned(_FLOATS, _TAKE_FLOATS, "HIDDEN", "calls == 1"),
    "but_the_last": _returned(_FLOATS, _TAKE_FLOATS, "TOKENS * HIDDEN", "calls % 2 == 1"),
}

VARIANTS: tuple[Attack, ...] = (
    *(made(f"returned_{name}", _KIND, edit, UNTRUSTED, row=_ROW) for name, edit in _EDITS.items()),
    *(
        made(f"returned_free_{name}", _KIND, edit, (FREE,), row=_ROW, free=True)
        for name, edit in _EDITS.items()
    ),
)
