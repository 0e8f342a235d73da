"""Cases for references that need sizes to be multiples of numbers, or of one length."""

import math
from collections.abc import Iterator
from dataclasses import replace

from warploom.synthesis.correctness.cases import CasePlan
from warploom.synthesis.records import KernelSpec

_GROUP = 16  # the most neighbors that are moved as one


def tied(spec: KernelSpec, plan: CasePlan) -> Iterator[CasePlan]:
    """Yield cases for references that need multiples, or equal sizes.

    Sizes that are divided are multiples; in the second one those are equal too that are equal in
    the example: to the first of them, or to 0 or 1 where one is.
    """
    whole = {s.name: _rounded_up(plan.symbols[s.name], s.multiple) for s in spec.symbols}
    alike: dict[int, list[int]] = {}
    for symbol in spec.symbols:
        alike.setdefault(symbol.example, []).append(plan.symbols[symbol.name])
    equal: dict[str, int] = {}
    for symbol in spec.symbols:
        sizes = alike[symbol.example]
        size = next((least for least in (0, 1) if least in sizes), sizes[0])
        equal[symbol.name] = _rounded_up(size, symbol.multiple)
    for symbols in (whole, equal) if whole != equal else (whole,):
        if symbols != plan.symbols:
            yield replace(plan, symbols=symbols)


def _rounded_up(size: int, multiple: int) -> int:
    """Return the next multiple; of a size that groups fit into, one that they fit into too."""
    step = math.lcm(multiple, math.gcd(size, _GROUP)) if size else multiple
    return -(-size // step) * step
