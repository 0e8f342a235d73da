"""How PyTorch's types look in CUDA: in memory, and as what is computed in."""

from warploom.synthesis.codegen.refusal import BeyondRulesError

_STORED = {
    "float32": "float", "float64": "double", "float16": "__half", "bfloat16": "__nv_bfloat16",
    "int32": "int", "int64": "long long", "int16": "short", "int8": "signed char",
    "uint8": "unsigned char", "bool": "unsigned char", "float8_e4m3fn": "__nv_fp8_e4m3",
    "float8_e5m2": "__nv_fp8_e5m2",
}  # fmt: skip
_COMPUTED = {**_STORED, "float16": "float", "bfloat16": "float", "bool": "bool",
             "float8_e4m3fn": "float", "float8_e5m2": "float"}  # fmt: skip
BYTES = {
    "float32": 4, "float64": 8, "float16": 2, "bfloat16": 2, "int32": 4, "int64": 8, "int16": 2,
    "int8": 1, "uint8": 1, "bool": 1, "float8_e4m3fn": 1, "float8_e5m2": 1,
}  # fmt: skip
"""Bytes of an element."""
HEADERS = {
    "float16": "cuda_fp16.h", "bfloat16": "cuda_bf16.h", "float8_e4m3fn": "cuda_fp8.h",
    "float8_e5m2": "cuda_fp8.h",
}  # fmt: skip
"""The headers of types that need one."""
FLOATING = frozenset(name for name in _STORED if "float" in name)
"""The floating-point types."""
_RANK = ("bool", "uint8", "int8", "int16", "int32", "int64", "float8_e5m2", "float8_e4m3fn",
         "float16", "bfloat16", "float32", "float64")  # fmt: skip


def is_known(dtype: str) -> bool:
    """Whether there is code for a type."""
    return dtype in _STORED


def stored(dtype: str) -> str:
    """Return the type of an element in memory."""
    if dtype not in _STORED:
        raise BeyondRulesError(f"the type {dtype}")
    return _STORED[dtype]


def computed(dtype: str) -> str:
    """Return the type that values are computed in."""
    if dtype not in _COMPUTED:
        raise BeyondRulesError(f"the type {dtype}")
    return _COMPUTED[dtype]


def is_narrow(dtype: str) -> bool:
    """Whether values are computed in a wider type than they are stored in."""
    return dtype in HEADERS


def load(dtype: str, place: str) -> str:
    """Return the expression for the element at `place`."""
    if dtype == "float16":
        return f"__half2float({place})"
    if dtype == "bfloat16":
        return f"__bfloat162float({place})"
    if dtype.startswith("float8"):
        return f"static_cast<float>({place})"
    return f"({place} != 0)" if dtype == "bool" else place


def store(dtype: str, value: str) -> str:
    """Return `value`, of the computed type, as it is stored."""
    if dtype == "float16":
        return f"__float2half_rn({value})"
    if dtype == "bfloat16":
        return f"__float2bfloat16_rn({value})"
    return f"static_cast<{stored(dtype)}>({value})"


def rounded(dtype: str, value: str) -> str:
    """Return `value` as it would be after it was stored."""
    return load(dtype, store(dtype, value)) if is_narrow(dtype) else value


def promoted(dtypes: list[str]) -> str:
    """Return the type in which values of these types meet."""
    if {"float16", "bfloat16"} <= set(dtypes):
        return "float32"
    if {"uint8", "int8"} <= set(dtypes) and not set(dtypes) - {"uint8", "int8", "bool"}:
        return "int16"
    return max(dtypes, key=_RANK.index)
