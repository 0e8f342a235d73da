"""The collectives that there is code for, by the names of their nodes."""

REDUCED = ("sum", "max", "min")
"""How a collective may reduce."""
REDUCING = frozenset(f"{base}_{kind}" for base in ("all_reduce", "reduce_scatter")
                     for kind in REDUCED)  # fmt: skip
"""Collectives that compute."""
MOVING = frozenset({"all_gather", "all_to_all", "broadcast"})
"""Those that move elements only."""
COLLECTIVES = REDUCING | MOVING
"""All collectives that there is code for, by the names of their nodes."""

IN_PARTS = frozenset({"all_to_all"}) | frozenset(f"reduce_scatter_{kind}" for kind in REDUCED)
"""Those of which each rank has a part for each: their number divides the first dimension."""
UNORDERED = frozenset(name for name in REDUCING if not name.endswith("_sum"))
"""Those for which gloo has no order between a NaN and a number."""


def base_of(op: str) -> str:
    """Return a collective without how it reduces."""
    return op.rpartition("_")[0] if op in REDUCING else op
