"""Bytes of tensors as numbers, without PyTorch."""

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
_PLAIN = {
    "float32": np.float32, "float64": np.float64, "float16": np.float16, "int32": np.int32,
    "int64": np.int64, "int16": np.int16, "int8": np.int8, "uint8": np.uint8, "bool": np.uint8,
}  # fmt: skip
UNIT = {
    "float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8,
    "float8_e4m3fn": 2.0**-4, "float8_e5m2": 2.0**-3,
}  # fmt: skip
"""The unit roundoff of each floating-point type."""
LARGEST = {
    "float64": 1.7976931348623157e308, "float32": 3.4028234663852886e38, "float16": 65504.0,
    "bfloat16": 3.3895313892515355e38, "float8_e4m3fn": 448.0, "float8_e5m2": 57344.0,
}  # fmt: skip
"""The largest finite value of each."""
TINY = {
    "float64": 2.0**-1022, "float32": 2.0**-126, "float16": 2.0**-24, "bfloat16": 2.0**-126,
    "float8_e4m3fn": 2.0**-9, "float8_e5m2": 2.0**-16,
}  # fmt: skip
"""What may be lost at zero: subnormal numbers may be flushed where a type has hardly others."""


def is_floating(dtype: str) -> bool:
    """Whether a type is a floating-point one."""
    return dtype in UNIT


def decode(data: bytes | memoryview, dtype: str) -> Array:
    """Return the elements of a tensor as doubles; integers beyond 2^53 are rounded."""
    if dtype == "bfloat16":
        words = np.frombuffer(data, dtype=np.uint16).astype(np.uint32) << 16
        with np.errstate(invalid="ignore"):
            return words.view(np.float32).astype(np.float64)
    if dtype.startswith("float8"):
        return _eights(dtype)[np.frombuffer(data, dtype=np.uint8)]
    with np.errstate(invalid="ignore"):  # NaN of a kind that signals
        return np.frombuffer(data, dtype=_PLAIN[dtype]).astype(np.float64)


def decode_integers(data: bytes | memoryview, dtype: str) -> npt.NDArray[np.int64]:
    """Return the elements of a tensor of integers or truth values."""
    return np.frombuffer(data, dtype=_PLAIN[dtype]).astype(np.int64)


def _eights(dtype: str) -> Array:
    """Return the value of each byte as a number of eight bits."""
    exponent, mantissa, bias = (4, 3, 7) if dtype == "float8_e4m3fn" else (5, 2, 15)
    values: list[float] = []
    for byte in range(256):
        sign = -1.0 if byte & 0x80 else 1.0
        power = (byte >> mantissa) & ((1 << exponent) - 1)
        rest = byte & ((1 << mantissa) - 1)
        if dtype == "float8_e4m3fn" and byte & 0x7F == 0x7F:
            values.append(float("nan"))
        elif dtype == "float8_e5m2" and power == 31:
            values.append(sign * float("inf") if rest == 0 else float("nan"))
        elif power == 0:
            values.append(sign * rest * 2.0 ** (1 - bias - mantissa))
        else:
            values.append(sign * (1 + rest / (1 << mantissa)) * 2.0 ** (power - bias))
    return np.array(values, dtype=np.float64)
