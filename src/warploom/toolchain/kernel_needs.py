"""What kernels need of a block (`nvcc -Xptxas -v`), against what launches ask for."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from warploom.toolchain.demangle import readable_names

REGISTERS = 65536
"""32-bit registers of a block (CUDA C++ Programming Guide, "Technical Specifications", 9.0)."""
UNASKED_SHARED = 48 << 10
"""Bytes of shared memory of a block that need no `cudaFuncSetAttribute` (there)."""
MOST_SHARED = 227 << 10
"""Bytes of shared memory of a block (there)."""

_ENTRY = re.compile(r"Compiling entry function '([^']+)'")
_REGISTERS = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")
_STEP = 8  # registers of a thread are handed out in this many
_WARP = 32


@dataclass(frozen=True, slots=True)
class KernelNeeds:
    """Registers of each thread, and bytes of `__shared__` variables of each block."""

    registers: int
    shared: int

    def joined(self, other: "KernelNeeds") -> "KernelNeeds":
        """Return what both take at most."""
        return KernelNeeds(max(self.registers, other.registers), max(self.shared, other.shared))


@dataclass(frozen=True, slots=True)
class LargestBlock:
    """The most that launches of a kernel asked for, for a block.

    That is threads, bytes of dynamic shared memory, and how many of these `cudaFuncSetAttribute`
    had allowed (0: it was not called).
    """

    threads: int
    dynamic_shared: int = 0
    allowed_shared: int = 0

    def joined(self, other: "LargestBlock") -> "LargestBlock":
        """Return what both ask for at most."""
        return LargestBlock(
            max(self.threads, other.threads),
            max(self.dynamic_shared, other.dynamic_shared),
            max(self.allowed_shared, other.allowed_shared),
        )


def needs_of(log: str) -> dict[str, KernelNeeds]:
    """Return what each kernel in a log needs, by its name without parameters: `ns::sum<float>`."""
    by_symbol: dict[str, KernelNeeds] = {}
    symbol = ""
    for line in log.splitlines():
        if entry := _ENTRY.search(line):
            symbol = entry[1]
        elif (used := _REGISTERS.search(line)) and symbol:
            shared = _SHARED.search(line)
            by_symbol[symbol] = KernelNeeds(int(used[1]), int(shared[1]) if shared else 0)
            symbol = ""
    names = readable_names(list(by_symbol), parameters=False)
    found: dict[str, KernelNeeds] = {}
    for readable, needs in zip(names, by_symbol.values(), strict=True):
        name = re.sub(r"\s+", "", re.sub(r"^void ", "", readable))
        found[name] = needs.joined(found.get(name, needs))
    return found


def named(launched: str, needs: Mapping[str, KernelNeeds], text: str) -> KernelNeeds | None:
    """Return the most that a launch by this name may need, of all kernels that it may mean.

    The very instance of a template where the launch spells its arguments so; else all kernels of
    the name; where it names none, or a variable of `text` has the name, all kernels. None: there
    is no kernel.
    """
    spelled = re.sub(r"\s+", "", launched)
    base = _base(spelled)
    every = list(needs.values())
    if re.search(rf"[*&\s]\s*{re.escape(base)}\s*(?:\)\s*\(|=[^=]|\{{)", text):
        same = every
    else:
        exact = [n for name, n in needs.items() if ("::" + name).endswith("::" + spelled)]
        same = exact or [n for name, n in needs.items() if _base(name) == base] or every
    found = same[0] if same else None
    for item in same[1:]:
        found = item.joined(found) if found else item
    return found


def _base(name: str) -> str:
    """Return the last part of a name, without scopes and arguments of templates."""
    while "<" in name and ">" in name[name.index("<") :]:
        shorter = re.sub(r"<[^<>]*>", "", name)
        if shorter == name:
            break
        name = shorter
    return re.split(r"::|\.|->|[*&(]", name.rstrip(")"))[-1]


def lacks(needs: KernelNeeds, block: LargestBlock) -> str:
    """Say what a block of such a launch lacks on a GPU; "" where it has all."""
    given = -(-needs.registers // _STEP) * _STEP
    if -(-block.threads // _WARP) * _WARP * given > REGISTERS:
        return (
            f"takes {needs.registers} registers per thread, as nvcc compiles it, and is launched "
            f"with {block.threads} threads per block: a block has {REGISTERS} registers"
        )
    together = needs.shared + block.dynamic_shared
    if needs.shared + block.allowed_shared > MOST_SHARED:
        return (
            f"has {needs.shared} bytes of __shared__ variables, so that cudaFuncSetAttribute "
            f"cannot allow {block.allowed_shared} more: a block has {MOST_SHARED}"
        )
    allowed = needs.shared + block.allowed_shared if block.allowed_shared else UNASKED_SHARED
    if together > max(allowed, UNASKED_SHARED):
        return (
            f"has {needs.shared} bytes of __shared__ variables and is launched with "
            f"{block.dynamic_shared} bytes of dynamic shared memory: together more than "
            f"{max(allowed, UNASKED_SHARED)}, which is allowed"
        )
    return ""
