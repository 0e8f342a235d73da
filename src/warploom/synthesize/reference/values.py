"""Inputs that the harness draws itself, of kinds that wrong kernels fail on."""

from dataclasses import dataclass
from typing import Any

from warploom.synthesize.reference.torch_module import dtype_name, is_tensor, torch

_HALF_LARGE = 30.0
_HALF_BELOW = 100.0
_LARGE = 1000.0
_SMALL = 1e-3
_SPECIAL = (float("nan"), float("inf"), float("-inf"), 0.0, -0.0)


@dataclass(frozen=True)
class Domain:
    """What values of one input are like, as its examples show: bounds, and the sign of numbers.

    `index_of` is the size that an integer input counts below, as text; "" where it is no index.
    """

    low: float
    high: float
    floating: bool
    index_of: str = ""

    @property
    def nonnegative(self) -> bool:
        """Whether no example is below zero."""
        return self.low >= 0


def domain_of(tensors: list[Any], index_of: str) -> Domain:
    """Return the domain of an input from its examples."""
    filled = [t.double() for t in tensors if t.numel()]
    low = min((float(t.min()) for t in filled), default=0.0)
    high = max((float(t.max()) for t in filled), default=0.0)
    return Domain(low, high, tensors[0].is_floating_point(), index_of)


def draw(
    shape: list[int],
    dtype: Any,
    domain: Domain,
    kind: str,
    generator: Any,
    bound: int,
    *,
    distinct: bool = False,
) -> Any:
    """Return a tensor of one kind: normal, large, small, positive, negative, flat, ties, special.

    `bound` is the value of `index_of`, 0 where there is none. `distinct`: no special value twice,
    where places are asked for: of equal values any place may be right.
    """
    if dtype is torch.bool:
        return torch.randint(0, 2, shape, generator=generator).to(torch.bool)
    if not domain.floating:
        low, high = int(domain.low), int(domain.high)
        if domain.index_of:
            low, high = 0, max(bound - 1, 0)
        return torch.randint(low, high + 1, shape, generator=generator, dtype=torch.int64).to(dtype)
    values = torch.randn(shape, generator=generator, dtype=torch.float64)
    halves = (torch.float16, torch.float8_e4m3fn, torch.float8_e5m2)
    if kind == "large":
        values = values * (_HALF_LARGE if dtype in halves else _LARGE)
    elif kind == "small":
        values = values * _SMALL
    elif kind == "flat":
        values = 3.0 + 1e-3 * values
    elif kind == "negative":
        values = -(values.abs() + 1) * (_HALF_BELOW if dtype in halves else _LARGE)
    elif kind == "ties":
        values = torch.round(values).clamp(-1, 1)
    if domain.nonnegative or kind == "positive":
        values = values.abs()
    if domain.low >= 0 and domain.high <= 1:
        values = values.clamp(0, 1)
    if domain.low > 0:
        values = values + domain.low
    if kind == "special" and values.numel():
        values = _with_special(values, domain, dtype, generator, distinct)
    return values.to(dtype)


def _with_special(values: Any, domain: Domain, dtype: Any, generator: Any, distinct: bool) -> Any:
    flat = values.flatten()
    tiny = float(torch.finfo(dtype).tiny) / 4
    words = [*_SPECIAL, tiny, -tiny]
    if domain.nonnegative:
        words = [w for w in words if not w < 0]
    if distinct:
        words = [w for w in words if w != 0] + [0.0]
    most = len(words) if distinct else max(1, flat.numel() // 61)
    places = torch.randperm(flat.numel(), generator=generator)[:most]
    for at, place in enumerate(places.tolist()):
        flat[place] = words[at % len(words)]
    return flat.reshape(values.shape)


def describe(value: Any) -> dict[str, Any]:
    """Return the shape and the type of an example."""
    if is_tensor(value):
        return {"shape": list(value.shape), "dtype": dtype_name(value.dtype)}
    return {"scalar": value}
