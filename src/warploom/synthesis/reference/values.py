"""Inputs that the harness draws itself, of kinds that wrong kernels fail on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from warploom.synthesis.reference.torch_module import dtype_name, is_tensor, torch

_HALF_LARGE = 30.0
_HALF_BELOW = 100.0
_LARGE = 1000.0
_SMALL = 1e-3
_POWER = 40  # of two: squares and cubes of it are finite
_POWERS = {
    torch.float16: 6, torch.float8_e4m3fn: 4, torch.float8_e5m2: 6, torch.float64: 200,
}  # fmt: skip
_STREWN = 0.3
_ALONG_LAST = 0.7
_MANY = 0.25  # share of values
_FEW = 12  # extreme values in the longest dimension, half of them the largest
_WHOLE = (
    1, -1, 2, 3, -3, 7, 2**24, 2**24 + 1, -(2**24) - 1, 2**53, 2**53 + 1, -(2**53) - 1,
)  # fmt: skip
"""Of integers those that others are divided by, and what a float or a double does not hold."""
_LARGEST = 3e38  # of the types that have its power: a quick division by it gives nothing
_ZEROS = 9  # one in so many weights is nothing
_DENSE, _SPARSE = 31, 61  # one in so many values is special: where rows are reduced, fewer
_NAN_BITS = {
    torch.float16: (torch.int16, (0x7E00, -0x200, 0x7FFF, -1, 0x7C01)),
    torch.bfloat16: (torch.int16, (0x7FC0, -0x40, 0x7FFF, -1, 0x7F81)),
    torch.float32: (torch.int32, (0x7FC00000, -0x400000, 0x7FFFFFFF, -1, 0x7F800001)),
    torch.float64: (torch.int64, (0x7FF8 << 48, -0x8 << 48, 2**63 - 1, -1, (0x7FF << 52) + 1)),
}
"""Of each type some bits that are NaN: the plain one, with a sign, all ones, a signaling one."""
_SPECIAL = (float("nan"), float("inf"), float("-inf"), 0.0, -0.0)


@dataclass(frozen=True)
class Domain:
    """What values of one input are like, as its examples show: bounds, and the sign of numbers.

    `index_of` is the size that an integer input counts below, as text; "" where it is no index.
    Only where an example has negative ones may an index count from the end. `besides` are values
    that an index may have which count nothing.
    """

    low: float
    high: float
    floating: bool
    index_of: str = ""
    besides: tuple[int, ...] = ()

    @property
    def nonnegative(self) -> bool:
        """Whether no example is below zero."""
        return self.low >= 0


def domain_of(tensors: list[Any], index_of: str, besides: Sequence[int] = ()) -> Domain:
    """Return the domain of an input from its examples, which may have `besides`."""
    filled = [t.double().flatten() for t in tensors]
    filled = [t[~torch.isin(t, torch.tensor(besides, dtype=t.dtype))] for t in filled]
    filled = [t for t in filled if t.numel()]
    low = min((float(t.min()) for t in filled), default=0.0)
    high = max((float(t.max()) for t in filled), default=0.0)
    return Domain(low, high, tensors[0].is_floating_point(), index_of, tuple(besides))


@dataclass(frozen=True)
class Among:
    """An input among those of as many elements: its `number` of their `count`.

    Their special values are at the same places, which follow from `seed`: each meets each.
    `pointwise`: nothing is reduced, so that many may be special.
    """

    number: int = 0
    count: int = 1
    seed: int = 0
    pointwise: bool = False


def strewn_with(tensor: Any, words: Sequence[int], generator: Any) -> Any:
    """Return integers of which some are `words` instead."""
    chosen = torch.tensor(words, dtype=tensor.dtype)[
        torch.randint(0, len(words), tensor.shape, generator=generator)
    ]
    return torch.where(torch.rand(tensor.shape, generator=generator) < _STREWN, chosen, tensor)


def draw(
    shape: list[int],
    dtype: Any,
    domain: Domain,
    kind: str,
    generator: Any,
    bound: int,
    *,
    distinct: bool = False,
    subnormals: bool = True,
    strewn: Sequence[float] = (),
    whole: bool = False,
    largest: bool = True,
    among: Among = Among(),
) -> Any:
    """Return a tensor of one kind: normal, large, small, positive, negative, flat, ties, and more.

    In zero ones nothing else is, in halves ones whole numbers and halves of both signs; in
    few-ties ones the extreme value is a few times in a row or column, in few-nans ones NaN is, and
    in nans ones often; in wide ones magnitudes are of many powers of two, in scales ones of one for
    each row or column; in special ones some values are no finite numbers, in rows whole rows are,
    in late ones one at the end of each dimension, to which a loop comes in a later turn, in early
    ones one at the beginning, which a later turn may lose.

    `bound` is the value of `index_of`, 0 where there is none. `distinct`: no special value twice,
    where places are asked for: of equal values any place may be right. `subnormals`: these are
    among special values. `strewn` are put among them.
    `whole`: integers of the kind large have all values of their type. `largest`: no input has more
    elements. In a short one every special value is; of weights and their like few are special, as
    what is infinite in each of two is NaN in one order of operations and not in another. `among`
    says which of several inputs it is, whose special values meet.
    """
    if not domain.floating:
        whole = whole and kind == "large"
        return _integers(shape, dtype, domain, generator, bound, whole=whole)
    values = _of_kind(shape, dtype, kind, generator)
    if strewn and values.numel():
        words = [*strewn, *(() if domain.nonnegative else (-word for word in strewn))]
        values = _strewn(values, words, generator, distinct)
    if domain.nonnegative or kind == "positive":
        values = values.abs()
    if domain.low >= 0 and domain.high <= 1:
        values = values.clamp(0, 1)
    if domain.low > 0:
        values = values + domain.low
    if values.numel():
        if kind == "special":
            words = _special_words(
                domain, dtype, distinct=distinct, subnormals=subnormals, large=among.pointwise
            )
            if distinct or not largest:
                values = _with_special(values, words, generator, largest=largest)
            else:
                values = _with_each(values, words, among)
        else:
            values = _marked(values, domain, kind, generator)
    return _of_any_nan(values.to(dtype), generator)


def _strewn(values: Any, words: list[float], generator: Any, distinct: bool) -> Any:
    """Return values with words among them, each once if `distinct`."""
    chosen = torch.tensor(words, dtype=torch.float64)
    if distinct:
        flat = values.flatten()
        places = torch.randperm(flat.numel(), generator=generator)[: len(words)]
        flat[places] = chosen[: len(places)]
        return flat.reshape(values.shape)
    at = torch.randint(0, len(words), values.shape, generator=generator)
    share = torch.rand(values.shape, generator=generator)
    return torch.where(share < _STREWN, chosen[at], values)


def _of_any_nan(values: Any, generator: Any) -> Any:
    """Return values in which NaN has any of its bits: a cast must not make a number of them."""
    if values.dtype not in _NAN_BITS or not bool(values.isnan().any()):
        return values
    kind, words = _NAN_BITS[values.dtype]
    chosen = torch.randint(0, len(words), values.shape, generator=generator)
    bits = torch.tensor(words, dtype=kind)[chosen]
    return torch.where(values.isnan(), bits, values.view(kind)).view(values.dtype)


def _of_kind(shape: list[int], dtype: Any, kind: str, generator: Any) -> Any:
    """Return normal values, or values of the magnitudes and signs of a kind."""
    values = torch.randn(shape, generator=generator, dtype=torch.float64)
    halves = (torch.float16, torch.float8_e4m3fn, torch.float8_e5m2)
    if kind == "large":
        return values * (_HALF_LARGE if dtype in halves else _LARGE)
    if kind == "small":
        return values * _SMALL
    if kind == "flat":
        return 3.0 + 1e-3 * values
    if kind == "negative":
        return -(values.abs() + 1) * (_HALF_BELOW if dtype in halves else _LARGE)
    if kind == "halves":
        return torch.round(4 * values) / 2
    if kind == "ties":
        return torch.round(values).clamp(-1, 1)
    if kind in ("few-ties", "nans", "few-nans"):
        share = _MANY if kind == "nans" else min(_FEW / max((1, *shape)), 1.0)
        chosen = torch.rand(shape, generator=generator) < share
        if kind != "few-ties":
            return torch.where(chosen, float("nan"), values)
        return torch.where(chosen, torch.sign(values), torch.zeros_like(values))
    if kind == "zero":
        return torch.zeros_like(values)
    if kind == "wide":
        power = _POWERS.get(dtype, _POWER)
        return values * 2.0 ** torch.randint(-power, power + 1, shape, generator=generator)
    if kind == "scales":
        return values * 2.0 ** _powers_of_rows(values, dtype, generator)
    return values


def _powers_of_rows(values: Any, dtype: Any, generator: Any) -> Any:
    """Return a power for each row, or for each column: norms of some are below any floor."""
    power = _POWERS.get(dtype, _POWER)
    shape = list(values.shape)
    if shape:
        last = len(shape) == 1 or bool(torch.rand(1, generator=generator) < _ALONG_LAST)
        other = int(torch.randint(0, len(shape), (1,), generator=generator))
        shape[-1 if last else other] = 1
    return torch.randint(-power, power // 4 + 1, shape, generator=generator)


def _marked(values: Any, domain: Domain, kind: str, generator: Any) -> Any:
    """Return values of which whole rows, or a single one, are no numbers, if the kind says so."""
    if kind == "rows" and values.dim():
        return _with_rows(values, domain, generator)
    if kind in ("early", "late"):
        return _with_one(values, generator, late=kind == "late")
    return values


def _integers(
    shape: list[int], dtype: Any, domain: Domain, generator: Any, bound: int, *, whole: bool
) -> Any:
    """Return integers: as in the examples, below `bound`, or, where `whole`, all of the type."""
    if dtype is torch.bool:
        return torch.randint(0, 2, shape, generator=generator).to(torch.bool)
    low, high = int(domain.low), int(domain.high)
    if domain.index_of:
        low, high = -bound if low < 0 else 0, max(bound - 1, 0)
    elif whole:
        low, high = torch.iinfo(dtype).min, min(torch.iinfo(dtype).max, 2**63 - 2)
    drawn = torch.randint(low, high + 1, shape, generator=generator, dtype=torch.int64)
    words = domain.besides or [w for w in _WHOLE if whole and low <= w <= high]
    return (strewn_with(drawn, words, generator) if words else drawn).to(dtype)


def _with_rows(values: Any, domain: Domain, generator: Any) -> Any:
    """Return values with rows that are one special value: empty ones of a mask, for one."""
    words = [w for w in (*_SPECIAL[:3], 0.0) if not (domain.nonnegative and w < 0)]
    rows = values.reshape(-1, values.shape[-1]).clone() if values.numel() else values
    for at in range(min(len(words), rows.shape[0] // 2 if values.numel() else 0)):
        place = int(torch.randint(0, rows.shape[0], (1,), generator=generator))
        rows[place] = words[at]
    return rows.reshape(values.shape)


def _with_one(values: Any, generator: Any, *, late: bool) -> Any:
    """Return values of which one, in the first or the last quarter of each dimension, is NaN."""
    values = values.clone()
    place = [
        int(torch.randint(0, max(size // 4, 1), (1,), generator=generator)) for size in values.shape
    ]
    if late:
        place = [size - 1 - at for at, size in zip(place, values.shape, strict=True)]
    values[tuple(place)] = float("nan")
    return values


def _special_words(
    domain: Domain, dtype: Any, *, distinct: bool, subnormals: bool, large: bool
) -> list[float]:
    """Return the special values of an input, with both zeros as one where places are asked for."""
    tiny = float(torch.finfo(dtype).tiny) / 4
    words = [*_SPECIAL, *((tiny, -tiny) if subnormals else ())]
    if large and float(torch.finfo(dtype).max) > _LARGEST:
        words += [_LARGEST, -_LARGEST]
    if domain.nonnegative:
        words = [w for w in words if not w < 0]
    return [w for w in words if w != 0] + [0.0] if distinct else words


def _with_special(values: Any, words: list[float], generator: Any, *, largest: bool) -> Any:
    """Return values with each special one once; with a few where others have more elements."""
    flat = values.flatten()
    few = min(len(words), max(flat.numel() // 2, 1)) if largest else 1
    most = len(words) if largest else max(few, flat.numel() // _SPARSE)
    places = torch.randperm(flat.numel(), generator=generator).tolist()
    first = int(torch.randint(0, len(words), (1,), generator=generator)) if largest else 0
    for at, place in enumerate(places[:most]):
        flat[place] = words[(first + at) % len(words)]
    if not largest:  # what a weight of nothing multiplies may be no number
        flat[places[most : most + flat.numel() // _ZEROS]] = 0.0
    return flat.reshape(values.shape)


def _with_each(values: Any, words: list[float], among: Among) -> Any:
    """Return values with special ones, each beside each of the other inputs', and alone."""
    flat, size = values.flatten(), len(words)
    common = torch.Generator().manual_seed(among.seed ^ flat.numel())
    share = _DENSE if among.pointwise else _SPARSE
    most = max(min(size, max(flat.numel() // 2, 1)), flat.numel() // share)
    places = torch.randperm(flat.numel(), generator=common)[:most].tolist()
    first = int(torch.randint(0, size**among.count, (1,), generator=common))
    for at, place in enumerate(places):
        turn = first + at
        if among.count > 1:
            turn = first + at // 2
            if at % 2 and turn % among.count != among.number:  # another one's, alone
                continue
        step = turn // among.count if among.count > 1 and at % 2 else turn // size**among.number
        flat[place] = words[step % size]
    return flat.reshape(values.shape)


def describe(value: Any) -> dict[str, Any]:
    """Return the shape and the type of an example."""
    if is_tensor(value):
        return {"shape": list(value.shape), "dtype": dtype_name(value.dtype)}
    return {"scalar": value}
