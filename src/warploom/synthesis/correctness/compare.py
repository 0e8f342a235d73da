"""Compares an output with what the reference says, by a tolerance that nobody else can widen.

The error budget of an element has three parts: roundings of the output's type; how far it moves
when each input moves by a rounding (an honest kernel cannot know better), times a factor for the
length of reductions, and when each operation rounds; and what PyTorch itself is off by, at elements
of the same magnitude.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warploom.synthesis.correctness.numbers import (
    LARGEST,
    TINY,
    UNIT,
    Array,
    decode,
    decode_integers,
    is_floating,
)
from warploom.synthesis.records import PrecisionTolerance

_MOVING = frozenset(
    {"view", "permute", "clone", "slice", "flip", "cat", "gather", "index", "embedding", "expand",
     "select", "constant_pad_nd", "unsqueeze", "squeeze", "alias", "roll", "arange", "full",
     "scalar_tensor", "where", "index_select", "diagonal", "repeat", "split_with_sizes",
     "le", "lt", "ge", "gt", "eq", "ne", "bitwise_not", "logical_not", "logical_and", "all_gather",
     "all_to_all", "broadcast"}
)  # fmt: skip
_CHOOSING = frozenset(
    {
        "amax",
        "amin",
        "maximum",
        "minimum",
        "relu",
        "clamp",
        "neg",
        "abs",
        "floor",
        "ceil",
        "round",
        "trunc",
        "sign",
        "all_reduce_max",
        "all_reduce_min",
        "reduce_scatter_max",
        "reduce_scatter_min",
    }
)
_CASTS = frozenset({"_to_copy"})
_EAGER_ROOM = 3.0
_ROOM = 4.0
_OVERFLOWN = 2.0**-10  # of the largest number: a product that an earlier one may have passed
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Expected:
    """What the reference says of one output, one number for each element.

    `exact` in double precision, `eager` as PyTorch computes it, `low` and `high` over inputs that
    are a rounding away; `native` are PyTorch's bytes. `length` is that of the longest reduction;
    `places`: they are places of extremes. `scale`: what a rounding is of the step to those inputs.
    `rounded` is how far each element moves where every operation of the reference rounds.
    `products`: they are taken along a dimension, so that an earlier one may have overflowed.
    `open`: where this is no finite number, any is right.
    """

    dtype: str
    shape: tuple[int, ...]
    exact: Array
    eager: Array
    low: Array
    high: Array
    native: bytes
    length: int = 1
    places: bool = False
    scale: float = 1.0
    rounded: Array | None = None
    products: bool = False
    open: bool = False


def same_values(one: bytes, other: bytes, dtype: str) -> bool:
    """Whether two outputs hold the same bits; a NaN is like any other NaN."""
    if one == other or len(one) != len(other) or not is_floating(dtype):
        return one == other
    a, b = decode(one, dtype), decode(other, dtype)
    words = f"u{len(one) // len(a)}"
    equal = np.frombuffer(one, dtype=words) == np.frombuffer(other, dtype=words)
    return bool((equal | (np.isnan(a) & np.isnan(b))).all())


@dataclass(frozen=True, slots=True)
class Comparison:
    """How an output compares: elements that are wrong, and the worst of them."""

    elements: int
    wrong: int
    worst: int = -1
    got: float | int = 0.0
    expected: float | int = 0.0
    allowed: float = 0.0
    share: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether no element is wrong."""
        return self.wrong == 0

    def describe(self, shape: tuple[int, ...]) -> str:
        """Return where the worst element is and what is wrong with it."""
        place = tuple(int(at) for at in np.unravel_index(self.worst, shape)) if shape else ()
        return (
            f"{self.wrong} of {self.elements} elements are wrong; {place} is {_shown(self.got)}, "
            f"expected {_shown(self.expected)} within {self.allowed:.3g}"
        )


def _shown(number: float | int) -> str:
    return str(number) if isinstance(number, int) else f"{number:.9g}"


def exactness_of(operations: Iterable[str], inputs: Sequence[str], dtype: str) -> str:
    """Return what an output of a graph must equal: "bits", "values", or "" where it is rounded."""
    used = set(operations)
    if not is_floating(dtype):  # whole, or a truth, of numbers that nothing rounded
        return "values" if used <= _MOVING | _CHOOSING | _CASTS else ""
    if dtype not in inputs or not used <= _MOVING | _CHOOSING:
        return ""
    return "bits" if used <= _MOVING else "values"


def tolerance_for(dtype: str, computed_in: str, text: str, exact: str = "") -> PrecisionTolerance:
    """Return the tolerance of an output; `text` is the length of its longest reduction."""
    if exact:
        return PrecisionTolerance(dtype, computed_in, 0.0, 0.0, text, exact)
    if not is_floating(dtype):
        return PrecisionTolerance(dtype, computed_in, 0.0, 0.0, text)
    rtol = 2 * UNIT[dtype] + 8 * UNIT[computed_in]
    return PrecisionTolerance(dtype, computed_in, rtol, _ROOM, text)


def _room(rule: PrecisionTolerance, length: int) -> float:
    """Return how often the reach of a rounding is allowed.

    A sum of `length` numbers of one sign, one after the other, is off by about a sixth of that
    many times what a rounding of each number moves it, and a softmax of such sums by more.
    """
    return rule.room + length / 2


def compare(got: bytes | memoryview, expected: Expected, rule: PrecisionTolerance) -> Comparison:
    """Compare the bytes of an output."""
    if not is_floating(expected.dtype):
        return _compare_integers(got, expected, exact=bool(rule.exact))
    if rule.exact:
        return _compare_exactly(got, expected, rule.exact)
    values = decode(got, expected.dtype)
    if values.shape != expected.exact.shape:
        return Comparison(expected.exact.size, expected.exact.size)
    return compare_values(values, expected, rule)


def compare_values(values: Array, expected: Expected, rule: PrecisionTolerance) -> Comparison:
    """Compare numbers with what is expected of a floating-point output."""
    with np.errstate(all="ignore"):
        allowed = _allowed(expected, rule)
        most = LARGEST[expected.dtype] * (1 + UNIT[expected.dtype])
        exact = np.where(np.abs(expected.exact) > most, np.copysign(np.inf, expected.exact),
                         expected.exact)  # fmt: skip
        sure = np.isfinite(exact) & np.isfinite(expected.eager)
        error = np.abs(values - expected.exact)
        near = np.isfinite(values) & (error <= allowed)
        alike = _same_kind(values, exact) | _same_kind(values, expected.eager)
        unsure = ~np.isfinite(exact) | ~np.isfinite(expected.eager)
        good = np.where(sure, near, expected.open | alike & unsure)
        # Where a type ends an honest sum may be beyond it or not: infinite, or the largest number.
        ends = np.abs(expected.exact) + allowed >= LARGEST[expected.dtype]
        good |= np.isfinite(expected.exact) & near & ~np.isfinite(exact)
        good |= np.isfinite(expected.exact) & ends & (values == np.copysign(np.inf, exact))
        if expected.products:  # PyTorch takes them in double precision: a float stays infinite
            good |= (values == np.copysign(np.inf, exact)) & (np.abs(exact) > most * _OVERFLOWN)
        # Beyond eight bits PyTorch 2.11 has no number, 2.13 the largest.
        if expected.dtype.startswith("float8"):
            largest = np.copysign(LARGEST[expected.dtype], expected.exact)
            good |= np.isinf(exact) & (values == largest)
        share = np.where(near & (allowed > 0), error / allowed, 0.0)
    wrong = np.flatnonzero(~good)
    top = float(np.max(share)) if share.size else 0.0
    if wrong.size == 0:
        return Comparison(values.size, 0, share=top)
    errors = np.where(np.isfinite(error[wrong]), error[wrong], np.inf)
    worst = int(wrong[int(np.argmax(errors))])
    return Comparison(
        values.size, int(wrong.size), worst, float(values[worst]), float(expected.exact[worst]),
        float(allowed[worst]), top,
    )  # fmt: skip


def _same_kind(values: Array, other: Array) -> Flags:
    """Whether both are NaN, the same infinity, or both finite."""
    return (
        (np.isnan(values) & np.isnan(other))
        | (np.isinf(values) & (values == other))
        | (np.isfinite(values) & np.isfinite(other))
    )


def _allowed(expected: Expected, rule: PrecisionTolerance) -> Array:
    exact = np.where(np.isfinite(expected.exact), expected.exact, 0.0)
    reach = np.maximum(expected.high - expected.exact, expected.exact - expected.low)
    reach = np.where(np.isfinite(reach), np.maximum(reach, 0.0), 0.0) * expected.scale
    off = np.abs(expected.eager - expected.exact)
    off = np.where(np.isfinite(off), off, 0.0)
    own = _by_magnitude(np.abs(exact), off)
    rounded = 0.0 if expected.rounded is None else expected.rounded
    return (
        rule.rtol * np.abs(exact)
        + _ROOM * rounded
        + _room(rule, expected.length) * reach
        + _EAGER_ROOM * own
        + TINY[expected.dtype]
    )


def _by_magnitude(size: Array, off: Array) -> Array:
    """Return for each element the largest error at elements of about its magnitude or less."""
    if size.size == 0:
        return off
    _, power = np.frexp(size)
    power = np.where(size == 0, power.min(), power)
    low, high = int(power.min()), int(power.max())
    most = np.zeros(high - low + 1)
    np.maximum.at(most, power - low, off)
    grown = np.maximum.accumulate(most)
    grown[:-1] = np.maximum(grown[:-1], most[1:])
    result: Array = grown[power - low]
    return result


def _compare_exactly(got: bytes | memoryview, expected: Expected, exact: str) -> Comparison:
    """Compare numbers that no operation rounded; of any NaN another one may be made."""
    values, native = (decode(data, expected.dtype) for data in (got, expected.native))
    if values.shape != native.shape:
        return Comparison(native.size, native.size)
    good = (values == native) | (np.isnan(values) & np.isnan(native))
    if exact == "bits":
        good &= np.isnan(native) | (np.signbit(values) == np.signbit(native))
    wrong = np.flatnonzero(~good)
    if wrong.size == 0:
        return Comparison(values.size, 0)
    worst = int(wrong[0])
    return Comparison(
        values.size, int(wrong.size), worst, float(values[worst]), float(native[worst])
    )


def _compare_integers(got: bytes | memoryview, expected: Expected, *, exact: bool) -> Comparison:
    """Compare integers: as the reference says, for these inputs or some a rounding away.

    Where nothing is rounded (`exact`) PyTorch's own integers count alone.

    Of places of extremes, those are undecided on which PyTorch and double precision differ: values
    that are equal once they are rounded, such as zeros that have underflowed.
    """
    values = decode_integers(got, expected.dtype)
    native = decode_integers(expected.native, expected.dtype)
    if values.shape != native.shape:
        return Comparison(native.size, native.size)
    good = values == native
    close = values.astype(np.float64)
    near = (expected.low, expected.high) if expected.scale == 1.0 else ()
    for other in () if exact else (expected.exact, *near):  # in doubles: not to the last of 2^53
        good |= close == other
    if expected.places:
        good |= native.astype(np.float64) != expected.exact
    if expected.dtype == "bool":
        good &= (values == 0) | (values == 1)
    wrong = np.flatnonzero(~good)
    if wrong.size == 0:
        return Comparison(values.size, 0)
    worst = int(wrong[0])
    return Comparison(values.size, int(wrong.size), worst, int(values[worst]), int(native[worst]))
