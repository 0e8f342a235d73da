"""How much a candidate may carry over between iterations: what the reference does, and some room.

The room is for counters and flags, and grows with the ranks and with what they put out.
"""

from collections.abc import Mapping

from warploom.evaluation.depends.spoiler import Spoiler

_MORE = 1.25  # times what the reference carries over
# Bytes of each rank that a candidate may carry over besides: of counters and flags at least, more
# with each peer; at most; and as a share of the rank's outputs in between.
_STATE, _STATE_OF_PEER, _MOST_STATE, _STATE_SHARE = 1 << 10, 1 << 8, 64 << 10, 1 / 8
_CONSTANTS = 128  # bytes of these that never change: results, where state does


def carries_more(
    spoiler: Spoiler, seed: int, got: Mapping[str, float], wanted: Mapping[str, float]
) -> bool:
    """Whether memory carries more from iteration to iteration than the reference's and some state.

    State changes from one iteration to the next. The memory of one rank may hold what another one
    carries.
    """
    if not (got.get("carrying") and wanted.get("carrying")):
        return False
    constants = {name for name in got if name.startswith("constant_of_")}
    if any(got[name] > _MORE * wanted.get(name, 0) + _CONSTANTS for name in constants):
        return True
    sizes: dict[int, int] = {}
    for key, sample in spoiler.reference.samples[seed].items():
        sizes[key.rank] = sizes.get(key.rank, 0) + len(sample.data)
    owners = {name for name in (*got, *wanted) if name.startswith("carried_of_")}
    carried = [(got.get(name, 0), wanted.get(name, 0)) for name in owners]
    share = max(sizes.values(), default=0) * _STATE_SHARE
    least = _STATE + _STATE_OF_PEER * len(owners)
    allowed = min(_MOST_STATE, max(least, share))
    return any(mine > _MORE * its + allowed for mine, its in carried)
