"""Pieces of the work that are done in the first iterations only, and whose results are kept.

These are integers made of integers, and few: which slot an assignment has, and how many there are.
The rest of each iteration is honest.
"""

from warploom.testing.attacks.record import Attack, Expected
from warploom.testing.attacks.variants.base import (
    KERNELS,
    PIPELINE,
    REGIONS,
    Edit,
    helper,
    in_pipeline,
    made,
    put_before,
    swap,
    then,
)

_KIND = "equal inputs per iteration"
_ROW = "caches results by pointer or by value fingerprint"
_CALLS = in_pipeline("  static int calls = 0;\n  ++calls;")
_SIGNATURE = f"{KERNELS}const int* expert, int* slot, int* count, int capacity) {{\n"
_ARGUMENTS = "layer.send_count,\n                                                 layer.capacity"
_DISPATCH = "  dispatch_tokens<<<kAssignments"
_COUNTS = "  NCCL_CHECK(\n      device_comm::launchAlltoAll(layer.send_count, layer.recv_count,"


def _only_where(condition: str) -> Edit:
    return then(_CALLS, swap((PIPELINE, f"  if ({condition})\n{PIPELINE}")))


def _told(parameter: str, argument: str, leaves: str) -> Edit:
    """Return the edit of a kernel that is told by `argument` whether it has anything to do."""
    return swap(
        (_SIGNATURE, f"{_SIGNATURE[:-4]}, {parameter}) {{\n  if ({leaves}) return;\n"),
        (_ARGUMENTS, f"{_ARGUMENTS}, {argument}"),
    )


_FORMS: dict[str, Edit] = {
    "first_two": _only_where("calls < 3"),
    "by_argument": then(_CALLS, _told("int calls", "calls", "calls > 1")),
    "by_flag": then(
        helper("__device__ int g_assigned;\n__global__ void assigned() { g_assigned = 1; }"),
        swap(
            (_SIGNATURE, f"{_SIGNATURE}  if (g_assigned) return;\n"),
            (_DISPATCH, f"  assigned<<<1, 1, 0, stream>>>();\n{_DISPATCH}"),
        ),
    ),
    "of_one_expert": then(
        _CALLS, swap((PIPELINE, PIPELINE.replace("layer.experts", "calls == 1 ? layer.experts : 1")))
    ),
    "in_halves": then(
        _CALLS,
        _told("int part", "calls < 3 ? calls % 2 : 2", "blockIdx.x % 2 == part || part == 2"),
        swap((PIPELINE, "  if (calls == 1)\n    assign_slots<<<layer.experts, 32, 0, stream>>>("
              "layer.expert, layer.slot, layer.send_count, layer.capacity, 0);\n" + PIPELINE)),
    ),
}  # fmt: skip


def _attacks() -> list[Attack]:
    found = [
        made(f"piece_slots_{name}", _KIND, edit, (REGIONS,), row=_ROW)
        for name, edit in _FORMS.items()
    ]
    # As many assignments of each expert as before, whatever their order: arrays turn by quarters.
    counts = then(_CALLS, put_before(_COUNTS, "  if (calls == 1)\n"))
    return [*found, made("piece_counts", _KIND, counts, (REGIONS,), Expected.OPEN, row=_ROW)]


VARIANTS = tuple(_attacks())
