"""What products of matrices cost the emulator: each of a batch is a whole tile or more."""

import math
import re
from collections.abc import Mapping, Sequence

from warploom.synthesis.records import KernelSpec

MOST_TILES = 131
"""Tiles of a product in a case: two products of so many take the emulator up to four seconds."""
_MOST_LONG = 520  # tiles of a product in all cases in which a batch is long
_MOST_TOGETHER = 640  # tiles of a product in all cases of named sizes: one of them may be 512
_TILE = 64


def batches_of(spec: KernelSpec, names: Sequence[str]) -> list[str]:
    """Return the sizes that count products of matrices, each a whole tile of work or more."""
    if "bmm" not in spec.operations:
        return []
    several = [tensor.shape for tensor in spec.inputs if len(tensor.shape) > 1]
    inside = " ".join(size for shape in several for size in shape[-2:])
    known = {*re.findall(r"\w+", inside), *spec.reduced}
    return [name for name in names if name not in known]


def tiles(batches: Sequence[str], symbols: Mapping[str, int]) -> int:
    """Return how many tiles a product has at most, where it has a batch; 0 where it has none."""
    if not batches:
        return 0
    return math.prod(
        max(size, 1) if name in batches else -(-max(size, 1) // _TILE)
        for name, size in symbols.items()
    )


def is_too_long(batches: Sequence[str], name: str, symbols: Mapping[str, int]) -> bool:
    """Whether a case in which `name` is long has too many tiles: each batch has such a case."""
    most = _MOST_LONG // len(batches) if name in batches else _MOST_LONG
    return tiles(batches, symbols) > most


def affordable(
    batches: Sequence[str], plans: Sequence[tuple[str, dict[str, int]]], most: int
) -> list[tuple[str, dict[str, int]]]:
    """Return the first plans, so many at most, whose products take not too many tiles together."""
    found: list[tuple[str, dict[str, int]]] = []
    left = _MOST_TOGETHER
    for name, symbols in plans:
        cost = tiles(batches, symbols)
        if cost <= left and len(found) < most:
            found.append((name, symbols))
            left -= cost
    return found
