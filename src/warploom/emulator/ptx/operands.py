"""One PTX instruction, and its operands as C++."""

import re
from collections.abc import Callable
from dataclasses import dataclass

PTX = "::warploom::ptx::"
"""The namespace of what instructions become."""

TYPES = {
    "b8": "std::uint8_t", "u8": "std::uint8_t", "s8": "std::int8_t",
    "b16": "std::uint16_t", "u16": "std::uint16_t", "s16": "std::int16_t",
    "b32": "std::uint32_t", "u32": "std::uint32_t", "s32": "std::int32_t",
    "b64": "std::uint64_t", "u64": "std::uint64_t", "s64": "std::int64_t",
    "f32": "float", "f64": "double", "pred": "bool",
}  # fmt: skip
ORDERS = {
    "relaxed": "Relaxed", "acquire": "Acquire", "release": "Release", "acq_rel": "AcqRel",
    "sc": "SeqCst", "volatile": "Relaxed",
}  # fmt: skip
SCOPES = {
    name: f"::warploom::Scope::{scope}"
    for name, scope in (("cta", "Block"), ("gpu", "Device"), ("sys", "System"))
}
# Without clusters a block is one by itself. Of several blocks it is taken for the device.
SCOPES["cluster"] = f"(::warploom::cluster_size() > 1 ? {SCOPES['gpu']} : {SCOPES['cta']})"
# Where a datum is cached, and how numbers are rounded and flushed: no difference here.
_HINTS = re.compile(
    r"ca|cg|cs|lu|cv|wb|wt|nc|weak|L1__\w+|L2__\w+|ftz|rn|rz|rm|rp|rna|approx|full|sat|noftz|ru|rd"
)
REGISTERS = {
    "laneid": "::warploom::lane_index()",
    "warpid": f"{PTX}warp_index()",
    "nwarpid": "64u",
    "smid": f"{PTX}sm_index()",
    "nsmid": "132u",
    "gridid": "1u",
    "clock": "static_cast<unsigned>(::warploom::device_clock())",
    "clock64": "::warploom::device_clock()",
    "globaltimer": "::warploom::global_timer()",
    "globaltimer_lo": "static_cast<unsigned>(::warploom::global_timer())",
    "globaltimer_hi": "static_cast<unsigned>(::warploom::global_timer() >> 32)",
    "dynamic_smem_size": f"{PTX}dynamic_shared_bytes()",
    "lanemask_eq": "(1u << ::warploom::lane_index())",
    "lanemask_lt": "((1u << ::warploom::lane_index()) - 1u)",
    "lanemask_le": "((2u << ::warploom::lane_index()) - 1u)",
    "lanemask_gt": "~((2u << ::warploom::lane_index()) - 1u)",
    "lanemask_ge": "~((1u << ::warploom::lane_index()) - 1u)",
    **{f"tid.{c}": f"threadIdx.{c}" for c in "xyz"},
    **{f"ntid.{c}": f"blockDim.{c}" for c in "xyz"},
    **{f"ctaid.{c}": f"blockIdx.{c}" for c in "xyz"},
    **{f"nctaid.{c}": f"gridDim.{c}" for c in "xyz"},
    "cluster_ctarank": "::warploom::cluster_rank()",
    "cluster_nctarank": "::warploom::cluster_size()",
    **{f"cluster_ctaid.{c}": f"::warploom::cluster_place().{c}" for c in "xyz"},
    **{f"cluster_nctaid.{c}": f"::warploom::cluster_shape().{c}" for c in "xyz"},
    **{f"clusterid.{c}": f"(blockIdx.{c} / ::warploom::cluster_shape().{c})" for c in "xyz"},
    **{f"nclusterid.{c}": f"(gridDim.{c} / ::warploom::cluster_shape().{c})" for c in "xyz"},
}
"""Special registers, by name without the percent sign."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: `name`, what follows it after dots, operands, and what operands are in C++.

    `::` in a suffix reads `__`.
    """

    name: str
    suffixes: tuple[str, ...]
    operands: tuple[str, ...]
    reference: Callable[[str], str]

    @property
    def type(self) -> str | None:
        """The C++ type that the last suffix names, None if it names none."""
        return TYPES.get(self.suffixes[-1]) if self.suffixes else None

    def has(self, *words: str) -> bool:
        """Whether one of `words` is among the suffixes."""
        return any(word in self.suffixes for word in words)

    def others(self, *known: frozenset[str] | dict[str, str]) -> list[str]:
        """Return the suffixes before the type that are in none of `known`, and no mere hints."""
        return [
            s
            for s in self.suffixes[:-1]
            if not _HINTS.fullmatch(s) and not any(s in group for group in known)
        ]

    def value(self, index: int, kind: str) -> str:
        """Return operand `index` read as the C++ type `kind`."""
        return f"{PTX}read<{kind}>({self.reference(self.operands[index])})"

    def result(self, value: str, index: int = 0) -> str:
        """Return the statement that gives operand `index` a value; `_` takes none."""
        if self.operands[index] == "_":
            return f"(void)({value});"
        return f"{PTX}write({self.reference(self.operands[index])}, {value});"

    def address(self, index: int, space: str | None = None) -> str:
        """Return the pointer that the operand `[register+offset]` means.

        `space` is "shared" or "generic"; by default the suffixes say.
        """
        found = re.fullmatch(r"\[\s*([^+\]]+?)\s*(?:\+\s*(-?\w+)\s*)?\]", self.operands[index])
        if found is None:
            return f"{PTX}{space or 'generic'}_address({self.value(index, 'std::uint64_t')})"
        base = f"{PTX}read<std::uint64_t>({self.reference(found[1])})"
        offset = f" + ({found[2]})" if found[2] else ""
        spaces = ("shared", "shared__cta", "shared__cluster")
        kind = "shared" if self.has(*spaces) else "generic"
        return f"{PTX}{space or kind}_address({base}{offset})"

    def order(self, default: str = "Relaxed") -> str:
        """Return the memory order that the suffixes name."""
        found = [ORDERS[s] for s in self.suffixes if s in ORDERS]
        return f"::warploom::Order::{found[0] if found else default}"

    def scope(self, default: str) -> str:
        """Return the scope that the suffixes name."""
        found = [SCOPES[s] for s in self.suffixes if s in SCOPES]
        return found[0] if found else f"::warploom::Scope::{default}"

    def elements(self, index: int) -> list[str]:
        """Return the operands in the vector `{a, b}` that operand `index` is."""
        return [part.strip() for part in self.operands[index].strip("{} ").split(",")]
