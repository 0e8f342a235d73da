"""What the reference says of inputs: in double precision, as PyTorch computes it, and how surely.

`spread` is how far a result moves when each input moves by a rounding of the type that is computed
in: the error that an honest kernel cannot avoid.
"""

import math
from dataclasses import dataclass
from typing import Any

from warploom.synthesis.reference.failures import ReferenceFailedError, first_line, line_in
from warploom.synthesis.reference.loading import Loaded
from warploom.synthesis.reference.torch_module import attention, is_tensor, torch

_PERTURBED = 6
_ROUNDED = 4
_REDUCING = frozenset(
    {"sum", "mean", "cumsum", "mm", "bmm", "addmm", "prod", "cumprod", "logsumexp", "matmul", "var",
     "var_mean", "std", "linalg_vector_norm"}
)  # fmt: skip
_NO_ROUNDING = frozenset(
    {"clone", "_to_copy", "copy", "where", "amax", "amin", "max", "min", "maximum", "minimum",
     "relu", "neg", "abs", "cat", "index", "gather", "embedding", "floor", "ceil", "round", "sign",
     "clamp", "masked_fill", "constant_pad_nd", "flip", "roll", "sort", "topk", "full", "zeros",
     "ones", "arange", "scalar_tensor", "index_select", "stack", "repeat", "all_gather",
     "all_to_all", "broadcast", "all_reduce_max", "all_reduce_min", "reduce_scatter_max",
     "reduce_scatter_min"}
)  # fmt: skip
_ON_THE_CPU = "the reference is run on the CPU: leave .cuda() and device='cuda' out of it"
_HINTS = {
    "process group": "--ranks 2, if it calls torch.distributed",
    "CUDA": _ON_THE_CPU,
    "NVIDIA": _ON_THE_CPU,
}
"""What helps, by a word of PyTorch's message."""
_STEP = 2.0**-32  # the least that double precision tells from its own roundings, in long sums
_ROUGH = 2.0**-5  # much more than roundings, much less than another computation
_FEW = 0.1  # share of integers that roundings may move
_NARROW = frozenset(
    {torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2}
)


class _InDouble(torch.utils._python_dispatch.TorchDispatchMode):
    """Computes in float64 whatever the reference asks for."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        def wide(value: Any) -> Any:
            if isinstance(value, torch.dtype) and value in _NARROW:
                return torch.float64
            if is_tensor(value) and value.dtype in _NARROW:
                return value.double()
            return value

        mapped = torch.utils._pytree.tree_map(wide, (args, kwargs or {}))
        return torch.utils._pytree.tree_map(wide, func(*mapped[0], **mapped[1]))


class _Rounded(_InDouble):
    """Computes in float64, and moves what each operation returns by a rounding of another type.

    A reduction has as many roundings, one after the other, as a tree of it has levels.
    """

    def __init__(self, eps: float, generator: Any) -> None:
        super().__init__()  # pyright: ignore[reportUnknownMemberType]
        self._eps, self._generator = eps, generator

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = super().__torch_dispatch__(func, types, args, kwargs)
        name = func.overloadpacket.__name__
        if func._schema.is_mutable or func.is_view or name in _NO_ROUNDING:
            return result
        first = args[0] if args and is_tensor(args[0]) else None
        levels = 1.0
        if name in _REDUCING and first is not None and first.dim():
            levels = max(1.0, math.log2(max(first.shape[-1], first.numel() // _rows(result), 1)))

        def moved(value: Any) -> Any:
            if not is_tensor(value) or value.dtype is not torch.float64:
                return value
            noise = _drawn(value, self._generator)
            return value * (1 + self._eps * levels * (2 * noise - 1))

        return torch.utils._pytree.tree_map(moved, result)


def _drawn(like: Any, generator: Any) -> Any:
    """Return numbers from zero to one, of a tensor's shape and where it is."""
    return torch.rand(like.shape, generator=generator, dtype=torch.float64, device=like.device)


def _rows(result: Any) -> int:
    return max(result.numel(), 1) if is_tensor(result) else 1


@dataclass(frozen=True, slots=True)
class Said:
    """What the reference says of one output: see `correctness.compare.Expected`."""

    exact: Any
    eager: Any
    low: Any
    high: Any
    rounded: Any

    def wide(self) -> dict[str, Any]:
        """Return what is written in double precision, by name."""
        names = ("exact", "eager", "low", "high", "rounded")
        return {name: getattr(self, name) for name in names}


def say(
    loaded: Loaded, inputs: list[Any], eps: float, generator: Any, *, rounded: bool
) -> list[Said]:
    """Return what the reference says of each output, on the host; the inputs' device computes.

    Where nothing is `rounded`, results are expected to the bit.

    Raises:
        ReferenceFailedError: it fails, or returns other shapes in double precision.
    """
    eager = evaluate(loaded, inputs)
    exact = evaluate(loaded, inputs, double=True)
    if any(near.shape != right.shape for near, right in zip(eager, exact, strict=True)):
        raise ReferenceFailedError("the reference's shapes depend on the precision")
    bounds = [(value, value) for value in exact]
    moved = [torch.zeros_like(value, dtype=torch.float64) for value in exact]
    if rounded:
        bounds = spread_of(loaded, inputs, exact, eps, generator)
        moved = roundings_of(loaded, inputs, exact, eps, generator)
    parts = zip(exact, eager, bounds, moved, strict=True)
    return [
        Said(right.cpu(), near.cpu(), low.cpu(), high.cpu(), far.cpu())
        for right, near, (low, high), far in parts
    ]


def roundings_of(
    loaded: Loaded, inputs: list[Any], exact: tuple[Any, ...], eps: float, generator: Any
) -> list[Any]:
    """Return how far each result moves where every operation rounds: what inputs do not show.

    Where a result is a small difference of large ones, no kernel can do better.
    """
    far = [torch.zeros_like(value, dtype=torch.float64) for value in exact]
    step = step_of(eps)
    for _ in range(_ROUNDED):
        found = evaluate(loaded, inputs, double=True, mode=_Rounded(step, generator))
        for at, (value, right) in enumerate(zip(found, exact, strict=True)):
            off = (value.double() - right.double()).abs() * (eps / step)
            far[at] = torch.fmax(far[at], torch.nan_to_num(off, nan=0.0, posinf=0.0))
    return far


def evaluate(
    loaded: Loaded, inputs: list[Any], *, double: bool = False, mode: Any = None
) -> tuple[Any, ...]:
    """Return the reference's outputs; its inputs stay as they are. `mode` is how it is computed.

    Raises:
        ReferenceFailedError: it fails, changes its inputs or returns something else than tensors.
    """
    if double:
        inputs = [_wide(value) for value in inputs]
    copies = [value.clone() if is_tensor(value) else value for value in inputs]
    try:
        with torch.no_grad():
            if double:  # an attention's steps one by one: each of them rounds
                with attention.sdpa_kernel(attention.SDPBackend.MATH), mode or _InDouble():
                    result = loaded.function(*copies)
            else:
                result = loaded.function(*copies)
    except ReferenceFailedError:
        raise
    except Exception as error:
        raise ReferenceFailedError(
            f"the reference fails: {first_line(error)}",
            line=line_in(loaded.file, error),
            hint=next((hint for word, hint in _HINTS.items() if word in str(error)), ""),
        ) from error
    for before, after in zip(inputs, copies, strict=True):
        if is_tensor(before) and not same(before, after):
            raise ReferenceFailedError(
                "the reference must not change its inputs, but does",
                hint="return a new tensor instead",
            )
    return outputs_of(result)


def outputs_of(result: Any) -> tuple[Any, ...]:
    """Return the tensors of a result.

    Raises:
        ReferenceFailedError: there are others or none.
    """
    values: list[Any] = list(result) if isinstance(result, tuple | list) else [result]  # pyright: ignore[reportUnknownArgumentType]
    for value in values:
        if not is_tensor(value):
            raise ReferenceFailedError(
                "the reference must return a tensor or a flat tuple of tensors, "
                f"got {type(value).__name__} in it"
                if isinstance(result, tuple | list)
                else "the reference must return a tensor or a tuple of tensors, "
                f"got {type(value).__name__}"
            )
    if not values:
        raise ReferenceFailedError("the reference must return a tensor, got an empty tuple")
    return tuple(value.detach() for value in values)


def same(one: Any, other: Any) -> bool:
    """Whether two tensors are equal bit by bit (any NaN is like another)."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if one.is_floating_point():
        one, other = one.double(), other.double()
        return bool(((one == other) | (one.isnan() & other.isnan())).all())
    return bool((one == other).all())


def alike(one: Any, other: Any) -> bool:
    """Whether two tensors have one shape and about the same numbers."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if not one.is_floating_point():
        return bool((one != other).double().mean() < _FEW) if one.numel() else True
    a, b = one.double(), other.double()
    room = _ROUGH * (1 + float(b[b.isfinite()].abs().max()) if b.isfinite().any() else 1)
    return bool(torch.allclose(a, b, rtol=_ROUGH, atol=room, equal_nan=True))


def _wide(value: Any) -> Any:
    return value.double() if is_tensor(value) and value.dtype in _NARROW else value


def step_of(eps: float) -> float:
    """Return by how much inputs are moved to see what a rounding of `eps` moves."""
    return max(eps, _STEP)


def spread_of(
    loaded: Loaded, inputs: list[Any], exact: tuple[Any, ...], eps: float, generator: Any
) -> list[tuple[Any, Any]]:
    """Return the least and the greatest of each result over inputs that are a rounding away.

    A step of a rounding of double precision is lost in the reference's own roundings: a larger one
    is taken then (`step_of`).
    """
    eps = step_of(eps)
    low = [value.double().clone() for value in exact]
    high = [value.double().clone() for value in exact]
    for _ in range(_PERTURBED):
        moved: list[Any] = []
        for value in inputs:
            if is_tensor(value) and value.is_floating_point():
                wide = value.double()
                moved.append(wide * (1 + eps * (2 * _drawn(wide, generator) - 1)))
            else:
                moved.append(value)
        found = evaluate(loaded, moved, double=True)
        for at, value in enumerate(found):
            low[at] = torch.fmin(low[at], value.double())
            high[at] = torch.fmax(high[at], value.double())
    return list(zip(low, high, strict=True))
