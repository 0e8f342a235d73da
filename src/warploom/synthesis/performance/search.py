"""Which settings of generated code are tried: the default, then one change at a time."""

import random
from collections.abc import Iterator
from dataclasses import replace

from warploom.synthesis.codegen import Generated, TuningParameters

_CHOICES: dict[str, dict[str, tuple[int, ...]]] = {
    "elements": {"element_threads": (64, 128, 256, 512), "vector_bytes": (4, 8, 16),
                 "turns": (1, 2, 4)},
    "scan": {"threads": (128, 256, 512)},
    "columns": {"threads": (128, 256, 512), "vector_bytes": (4, 8, 16), "turns": (1, 2, 4)},
    "rows": {"row_threads": (64, 128, 256, 512), "held_bytes": (0, 64, 128),
             "once_bytes": (0, 32, 64), "vector_bytes": (4, 8, 16), "turns": (1, 2, 4)},
    "product": {"tile_k": (8, 16, 32), "tile_m": (32, 64, 128), "tile_n": (32, 64)},
}  # fmt: skip


def settings(first: Generated, count: int, seed: int) -> Iterator[TuningParameters]:
    """Yield `count` settings for the forms that a kernel has, the default before all others."""
    yield first.parameters
    choices = random.Random(seed)  # noqa: S311 - repeatable
    options = [
        replace(first.parameters, **{name: value})
        for form in dict.fromkeys(first.forms)
        for name, values in _CHOICES[form].items()
        for value in values
        if value != getattr(first.parameters, name)
    ]
    unique = list(dict.fromkeys(options))
    yield from choices.sample(unique, min(count - 1, len(unique)))
