"""What the reference says of inputs: in double precision, as PyTorch computes it, and how surely.

`spread` is how far a result moves when each input moves by a rounding of the type that is computed
in: the error that an honest kernel cannot avoid.
"""

from typing import Any

from warploom.synthesize.reference.failures import ReferenceFailedError, first_line, line_in
from warploom.synthesize.reference.loading import Loaded
from warploom.synthesize.reference.torch_module import is_tensor, torch

_PERTURBED = 6
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


def evaluate(loaded: Loaded, inputs: list[Any], *, double: bool = False) -> tuple[Any, ...]:
    """Return the reference's outputs; its inputs stay as they are.

    Raises:
        ReferenceFailedError: it fails, changes its inputs or returns something else than tensors.
    """
    if double:
        inputs = [_wide(value) for value in inputs]
    copies = [value.clone() if is_tensor(value) else value for value in inputs]
    try:
        with torch.no_grad():
            if double:
                with _InDouble():
                    result = loaded.function(*copies)
            else:
                result = loaded.function(*copies)
    except Exception as error:
        raise ReferenceFailedError(
            f"the reference fails: {first_line(error)}", line=line_in(loaded.file, error)
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
                else f"the reference must return a tensor, got {type(value).__name__}"
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
                noise = torch.rand(wide.shape, generator=generator, dtype=torch.float64) * 2 - 1
                moved.append(wide * (1 + eps * noise))
            else:
                moved.append(value)
        found = evaluate(loaded, moved, double=True)
        for at, value in enumerate(found):
            low[at] = torch.fmin(low[at], value.double())
            high[at] = torch.fmax(high[at], value.double())
    return list(zip(low, high, strict=True))
