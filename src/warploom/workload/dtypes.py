"""Element types of outputs: sizes, names in C and MPI, and how close is close enough."""

from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Dtype:
    """An element type; `rtol` is the default tolerance (0: compared bit by bit).

    The defaults leave room for another order of summation over at most a few hundred terms
    and for no lower precision: a result computed in fp16 passes no float32 tolerance.
    """

    name: str
    size: int
    rtol: float = 0.0

    @property
    def is_float(self) -> bool:
        """Whether elements are compared with a tolerance."""
        return self.rtol > 0


_ALL = (
    Dtype("float64", 8, 1e-11),
    Dtype("float32", 4, 1e-5),
    Dtype("float16", 2, 1e-2),
    Dtype("bfloat16", 2, 3e-2),
    Dtype("int8", 1),
    Dtype("uint8", 1),
    Dtype("int16", 2),
    Dtype("uint16", 2),
    Dtype("int32", 4),
    Dtype("uint32", 4),
    Dtype("int64", 8),
    Dtype("uint64", 8),
    Dtype("bytes", 1),
)

DTYPES = MappingProxyType({dtype.name: dtype for dtype in _ALL})

_C_NAMES = {
    "float64": ("double", "double2", "double4", "ncclDouble", "ncclFloat64", "fp64"),
    "float32": ("float", "float2", "float3", "float4", "ncclFloat", "ncclFloat32", "fp32"),
    "float16": ("half", "__half", "half2", "__half2", "ncclHalf", "ncclFloat16", "fp16"),
    "bfloat16": ("__nv_bfloat16", "nv_bfloat16", "__nv_bfloat162", "ncclBfloat16", "bf16"),
    "int8": ("char", "signed char", "int8_t", "ncclInt8", "ncclChar"),
    "uint8": ("unsigned char", "uint8_t", "bool", "ncclUint8"),
    "int16": ("short", "short int", "int16_t"),
    "uint16": ("unsigned short", "ushort", "uint16_t"),
    "int32": ("int", "signed int", "signed", "int32_t", "int2", "int4", "ncclInt", "ncclInt32"),
    "uint32": ("unsigned", "unsigned int", "uint", "uint32_t", "uint2", "uint4", "ncclUint32"),
    "int64": (
        "long",
        "long int",
        "long long",
        "long long int",
        "int64_t",
        "ptrdiff_t",
        "ncclInt64",
    ),
    "uint64": ("unsigned long", "unsigned long long", "uint64_t", "size_t", "ncclUint64"),
    "bytes": ("void", "std::byte", "byte"),
}
_MPI_NAMES = {
    "float64": ("MPI_DOUBLE",),
    "float32": ("MPI_FLOAT",),
    "int8": ("MPI_CHAR", "MPI_SIGNED_CHAR", "MPI_INT8_T"),
    "uint8": ("MPI_UNSIGNED_CHAR", "MPI_UINT8_T", "MPI_C_BOOL"),
    "int16": ("MPI_SHORT", "MPI_INT16_T"),
    "uint16": ("MPI_UNSIGNED_SHORT", "MPI_UINT16_T"),
    "int32": ("MPI_INT", "MPI_INT32_T", "MPI_2INT", "MPI_WCHAR"),
    "uint32": ("MPI_UNSIGNED", "MPI_UINT32_T"),
    "int64": ("MPI_LONG", "MPI_LONG_LONG_INT", "MPI_INT64_T", "MPI_AINT"),
    "uint64": ("MPI_UNSIGNED_LONG", "MPI_UNSIGNED_LONG_LONG", "MPI_UINT64_T"),
}
_BY_C_NAME = {
    spelling: name
    for names in (_C_NAMES, _MPI_NAMES)
    for name, spellings in names.items()
    for spelling in spellings
}


def dtype_of(spelling: str | None) -> Dtype:
    """Return the type for a canonical name or a C, NCCL or MPI spelling; unknown ones are `bytes`.

    Qualifiers, pointers, references and `std::` are ignored: `const float *` is float32.
    """
    if not spelling:
        return DTYPES["bytes"]
    words = spelling.replace("*", " ").replace("&", " ").split()
    plain = " ".join(word for word in words if word not in ("const", "volatile", "struct"))
    if plain not in _BY_C_NAME and plain not in DTYPES:
        plain = plain.removeprefix("std::")
    return DTYPES.get(_BY_C_NAME.get(plain, plain), DTYPES["bytes"])
