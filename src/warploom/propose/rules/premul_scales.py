"""What a prelude holds more where the program makes operators that scale each rank's elements.

Such an operator (`ncclRedOpCreatePreMulSum`) has a number that may differ between ranks. Whoever
reduces learns each rank's number together with its data. `scale_values` names the placeholders in
the templates of reductions; they are empty for all other programs.
"""

from warploom.core.records import Api
from warploom.propose.rules.fragments import template

SCALING = ("ncclRedOpCreatePreMulSum", "ncclRedOpDestroy")
"""Calls that make and end operators which scale."""

_ITEM = "static_cast<Total>(word.item[k])"
_NONE = {
    "SCALE_FIELDS": "", "SCALE": "", "SCALES_TYPE": "", "SCALES_PARAMETER": "", "SCALES": "",
    "FIRST": _ITEM, "NEXT": _ITEM, "BITS_PARAMETER": "", "SCALES_OF": "", "PUBLISH_SCALE": "",
    "SHARED_SCALES": "", "FETCH_SCALE": "", "POINTERS": "2", "ARRIVALS": "1",
    "RESOLVE_OPERATOR": "", "ONE_RANK": "", "BITS": "",
}  # fmt: skip
_BOTH = {
    "SCALES_TYPE": ", typename Weights",
    "SCALES_PARAMETER": ", Weights weights",
    "SCALES": ", weights",
    "FIRST": f"weights.of(0, {_ITEM})",
    "NEXT": f"weights.of(rank, {_ITEM})",
    "ONE_RANK": "  if (s.ranks == 1 && r.scaled) {\n"
    '    return fail(ncclInvalidUsage, "reduction", "that scales, of one rank alone");\n  }\n',
}
_BY_API = {
    Api.LSA: {
        "BITS_PARAMETER": ", const uint64_t* scales",
        "BITS": ", scales",
        "SCALES_OF": ",\n                    "
        "scalesOf<Element>(r, [=](int rank) { return scales[rank]; })",
        "PUBLISH_SCALE": "    if (r.scaled) mailbox(wire, wire.dev.rank)[2] = ownScale(r);\n",
        "SHARED_SCALES": "  auto* scales = "
        "reinterpret_cast<uint64_t*>(pointers + 2 * wire.dev.nRanks);  // [ranks]\n",
        "FETCH_SCALE": "    if (r.scaled) scales[rank] = mailbox(wire, rank)[2];\n",
        "POINTERS": "3",
    },
    Api.GIN: {
        "SCALES_OF": ",\n                    scalesOf<Element>(r, [&](int rank) {\n"
        "                      return rank == me ? ownScale(r) : offered(wire, rank, kScaleBox);\n"
        "                    })",
        "PUBLISH_SCALE": "      if (r.scaled) sendScale(wire, gin, peer, ownScale(r));\n",
        "ARRIVALS": "r.scaled ? 2 : 1",
    },
}


def scale_values(api: Api, *, scales: bool) -> dict[str, str]:
    """Return what the placeholders of scaling hold; `scales` where the program needs it."""
    if not scales:
        return _NONE
    return {
        **_NONE,
        **_BOTH,
        **_BY_API[api],
        "SCALE_FIELDS": template("scale_fields.cuh"),
        "SCALE": template("scale.cuh"),
        "RESOLVE_OPERATOR": template("scale_resolve.cuh"),
    }
