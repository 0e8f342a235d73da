"""What reductions do: where they begin, how they join values, and the joins of whole blocks."""

from dataclasses import dataclass
from typing import Any

from warploom.synthesis.codegen import ctypes_of, pointwise
from warploom.synthesis.codegen.graph import Node
from warploom.synthesis.codegen.refusal import BeyondRulesError

_ALL = "0xffffffffu"
ALIKE = "other == value || (other != other && value != value)"
"""Whether `other` and `value` are equals in the order of extremes."""
NOWHERE = "0x7fffffffffffffffLL"
"""The place of a thread that saw nothing."""


@dataclass(frozen=True, slots=True)
class Reduction:
    """A kind of reduction over values of the type `ctype`.

    `join` is C text over `{a}` and `{b}`, `first` the value to begin with; `places` says that the
    place of the extreme is what is asked for.
    """

    kind: str
    dtype: str
    ctype: str
    first: str
    join: str
    places: bool = False

    @property
    def helper(self) -> str:
        """The name of the function that joins the values of a block."""
        return f"block_{self.kind}_{self.ctype.replace(' ', '_')}"


def dims_of(node: Node, rank: int) -> list[int]:
    """Return the dimensions that a reduction reduces."""
    given = node.args[1] if len(node.args) > 1 else node.kwargs.get("dim")
    if given is None or given == []:
        return list(range(rank))
    dims: list[Any] = given if isinstance(given, list) else [given]  # pyright: ignore[reportUnknownVariableType]
    return sorted(int(d) % rank for d in dims) if rank else []


def reduction_of(node: Node, source: Node) -> Reduction:
    """Return what kind of reduction a node is."""
    op = node.op
    dtype = source.dtype if op in ("argmax", "argmin") else node.dtype
    if op in ("any", "all"):
        first, join = ("false", "({a} | {b})") if op == "any" else ("true", "({a} & {b})")
        return Reduction(op, "bool", "bool", first, join)
    ctype = ctypes_of.computed(dtype)
    if op == "sum":
        return Reduction("sum", dtype, ctype, pointwise.literal(0, dtype), "({a} + {b})")
    if op == "prod":
        return Reduction("prod", dtype, ctype, pointwise.literal(1, dtype), "({a} * {b})")
    if op in ("amax", "max", "argmax", "amin", "min", "argmin"):
        largest = op.endswith("max")
        sign = ">" if largest else "<"
        first = _extreme(dtype, least=largest, line=node.line)
        if op.startswith("arg"):
            return Reduction(f"arg{'max' if largest else 'min'}", dtype, ctype, first, sign, True)
        join = f"({{a}} {sign} {{b}} || {{a}} != {{a}} ? {{a}} : {{b}})"
        return Reduction("max" if largest else "min", dtype, ctype, first, join)
    raise BeyondRulesError(f"the reduction {op}", line=node.line)


def _extreme(dtype: str, *, least: bool, line: int | None) -> str:
    if dtype in ctypes_of.FLOATING:
        return pointwise.literal(float("-inf") if least else float("inf"), dtype)
    bits = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}.get(dtype)
    if dtype in ("uint8", "bool"):
        return "0" if least else "255"
    if bits is None:
        raise BeyondRulesError(f"extremes of the type {dtype}", line=line)
    most = (1 << bits - 1) - 1
    tail = "LL" if bits == 64 else ""
    return f"(-{most}{tail} - 1)" if least else f"{most}{tail}"


def helper_text(kind: Reduction) -> str:
    """Return the function that joins one value of each thread of a block, for all of them."""
    if kind.places:
        return _places_text(kind)
    join = kind.join.format(a="value", b="other")
    moved = "int" if kind.ctype == "bool" else kind.ctype
    return f"""// Joins one value of each thread; every thread gets the result.
static __device__ {kind.ctype} {kind.helper}({kind.ctype} value) {{
  __shared__ {kind.ctype} part[32];
  for (int step = 16; step > 0; step >>= 1) {{
    const {moved} other = __shfl_xor_sync({_ALL}, static_cast<{moved}>(value), step);
    value = {join};
  }}
  const int lane = threadIdx.x & 31;
  if (lane == 0) part[threadIdx.x >> 5] = value;
  __syncthreads();
  value = lane < static_cast<int>(blockDim.x >> 5) ? part[lane] : {kind.first};
  for (int step = 16; step > 0; step >>= 1) {{
    const {moved} other = __shfl_xor_sync({_ALL}, static_cast<{moved}>(value), step);
    value = {join};
  }}
  __syncthreads();
  return value;
}}
"""


def ahead(kind: Reduction, value: str, other: str) -> str:
    """Return whether `other` comes before `value`, wherever it is; NaN comes first."""
    return f"{other} {kind.join} {value} || ({other} != {other} && {value} == {value})"


def _places_text(kind: Reduction) -> str:
    in_warp = kind.helper.replace("block_", "warp_", 1)
    return f"""// Finds the place of the extreme value of a warp, of equal ones the first, for all.
static __device__ void {in_warp}({kind.ctype}& value, long long& place) {{
  for (int step = 16; step > 0; step >>= 1) {{
    const {kind.ctype} other = __shfl_xor_sync({_ALL}, value, step);
    const long long at = __shfl_xor_sync({_ALL}, place, step);
    if ({ahead(kind, "value", "other")}) {{
      value = other;
      place = at;
    }} else if ({ALIKE}) {{
      place = min(place, at);
    }}
  }}
}}

// The same of a block.
static __device__ long long {kind.helper}({kind.ctype} value, long long place) {{
  __shared__ {kind.ctype} part[32];
  __shared__ long long places[32];
  {in_warp}(value, place);
  const int lane = threadIdx.x & 31;
  if (lane == 0) {{
    part[threadIdx.x >> 5] = value;
    places[threadIdx.x >> 5] = place;
  }}
  __syncthreads();
  const bool filled = lane < static_cast<int>(blockDim.x >> 5);
  value = filled ? part[lane] : {kind.first};
  place = filled ? places[lane] : {NOWHERE};
  {in_warp}(value, place);
  __syncthreads();
  return place;
}}
"""
