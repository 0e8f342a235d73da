"""PyTorch, found when the worker starts: no other module of warploom imports it."""

import importlib
from typing import Any

torch: Any = importlib.import_module("torch")
"""The module; it has no types here, as it need not be installed where types are checked."""

attention: Any = importlib.import_module("torch.nn.attention")
"""The choice of an implementation of `scaled_dot_product_attention`."""

DTYPES: dict[str, Any] = {
    name: getattr(torch, name)
    for name in (
        "float32", "float16", "bfloat16", "float64", "int32", "int64", "int8", "uint8", "bool",
        "int16", "float8_e4m3fn", "float8_e5m2",
    )
}  # fmt: skip
"""PyTorch's types by the names that records use."""


def dtype_name(dtype: Any) -> str:
    """Return the plain name of one of PyTorch's types, such as `float32`."""
    return str(dtype).removeprefix("torch.")


def is_tensor(value: Any) -> bool:
    """Whether `value` is a tensor."""
    return isinstance(value, torch.Tensor)
