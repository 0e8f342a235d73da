"""Many bytes moved by one thread in one call or assignment: each is as many accesses as a GPU makes."""

from warploom.testing.attacks.record import Attack, Expected
from warploom.testing.attacks.variants.base import FREE, made, put_before, swap, then

_KIND = "uncounted work"
_SIZES = {"TOKENS": "64", "HIDDEN": "256", "FFN": "64", "ITERATIONS": "1"}
_ELEMENT = (
    "  for (int h = threadIdx.x; h < HIDDEN; h += blockDim.x) {\n"
    "    send[row * HIDDEN + h] = tokens[(a / TOP_K) * HIDDEN + h];\n  }\n"
)
_ROW = "struct Row { float of[HIDDEN]; };\n"
_FROM, _TO = "tokens + (a / TOP_K) * HIDDEN", "send + row * HIDDEN"
_WAYS: dict[str, str] = {
    "memcpy": f"  if (threadIdx.x == 0) memcpy({_TO}, {_FROM}, HIDDEN * sizeof(float));\n",
    "memmove": f"  if (threadIdx.x == 0) memmove({_TO}, {_FROM}, HIDDEN * sizeof(float));\n",
    "assignment": "  if (threadIdx.x == 0) *reinterpret_cast<Row*>("
    f"{_TO}) = *reinterpret_cast<const Row*>({_FROM});\n",
}

VARIANTS: tuple[Attack, ...] = tuple(
    made(
        f"move_{name}", _KIND, then(put_before("constexpr int kAssignments", _ROW),
                                    swap((_ELEMENT, way))),
        (FREE,), Expected.NO_GAIN, free=True, row="impossible speed", defines=_SIZES,
    )
    for name, way in _WAYS.items()
)  # fmt: skip
