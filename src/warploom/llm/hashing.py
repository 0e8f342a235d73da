"""Vectors of CUDA text without a model: the same everywhere, for free, with no network.

Feature hashing (Weinberger et al., "Feature Hashing for Large Scale Multitask Learning", ICML 2009)
of C++ tokens and pairs of neighbors: each adds its sign to one of the dimensions; counts enter as
1 + log(count), vectors have length 1. Comments and white space do not count, so two programs that
differ in those alone have the same vector.
"""

import functools
import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

_SKIP = re.compile(r"//(?:\\\n|[^\n])*|/\*.*?\*/", re.DOTALL)
_TOKEN = re.compile(
    r'"(?:\\.|[^"\\\n])*"|'  # strings
    r"[A-Za-z_]\w*|"  # names
    r"\.?\d(?:[eEpP][+-]|[\w.'])*|"  # numbers
    r"<<<|>>>|::|->|[-+*/%&|^=<>!]=|<<|>>|&&|\|\||\+\+|--|\S"
)


def hash_vectors(texts: Sequence[str], dimensions: int = 256) -> NDArray[np.float32]:
    """Return one row for each text: shape (len(texts), dimensions), float32, length 1 or 0."""
    rows = np.zeros((len(texts), dimensions), dtype=np.float32)
    for row, text in zip(rows, texts, strict=True):
        for feature, count in Counter(_features(text)).items():
            number, sign = _marked(feature)
            row[number % dimensions] += sign * (1.0 + math.log(count))
        length = float(np.linalg.norm(row))
        if length > 0:
            row /= length
    return rows


@functools.lru_cache(maxsize=1 << 16)  # the texts of a search have most of their features in common
def _marked(feature: str) -> tuple[int, float]:
    """Return the number and the sign that a feature stands for."""
    mark = hashlib.blake2b(feature.encode(), digest_size=8).digest()
    return int.from_bytes(mark[:7], "little"), 1.0 if mark[7] & 1 else -1.0


def _features(text: str) -> Iterator[str]:
    before = ""
    for token in _TOKEN.findall(_SKIP.sub(" ", text)):
        yield token
        yield f"{before} {token}"
        before = token
