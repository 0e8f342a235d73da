"""How many registers kernels take, as ptxas says it (`nvcc -Xptxas -v`), and what a block has."""

import re
from collections.abc import Mapping

PER_BLOCK = 65536
"""32-bit registers of a block (CUDA C++ Programming Guide, "Technical Specifications", 9.0)."""

_ENTRY = re.compile(r"Compiling entry function '([^']+)'")
_USED = re.compile(r"Used (\d+) registers")
_STEP = 8  # registers of a thread are handed out in this many
_WARP = 32


def registers_of(log: str) -> dict[str, int]:
    """Return the registers per thread of each kernel in a log, by its name in the text.

    Of kernels that share a name (instances of a template, overloads), the most.
    """
    found: dict[str, int] = {}
    name = ""
    for line in log.splitlines():
        if entry := _ENTRY.search(line):
            name = base_name(entry[1])
        elif (used := _USED.search(line)) and name:
            found[name] = max(found.get(name, 0), int(used[1]))
            name = ""
    return found


def base_name(symbol: str) -> str:
    """Return the last name of a symbol, without scopes, arguments of templates and parameters.

    Symbols are those of the Itanium C++ ABI: `_ZN2ns3sumIfEEvPKf` is `sum`. Any other is a name.
    """
    if not symbol.startswith("_Z"):
        return symbol
    at = 3 if (nested := symbol.startswith("_ZN")) else 2
    name = ""
    while number := re.compile(r"K?(\d+)").match(symbol, at):
        end = number.end() + int(number[1])
        name = symbol[number.end() : end]
        at = end
        if not nested:
            break
    return name or symbol


def written_name(launched: str) -> str:
    """Return the last name of a kernel as a launch spells it: `ns::sum<float>` is `sum`."""
    plain = launched.strip()
    while plain.endswith(">") and "<" in plain:
        plain = re.sub(r"<[^<>]*>", "", plain)
    return re.split(r"::|\.|->|[\s&*(]", plain.rstrip(")"))[-1]


def too_many(
    registers: Mapping[str, int], largest_blocks: Mapping[str, int]
) -> dict[str, tuple[int, int]]:
    """Return registers and threads of the launches whose blocks have too few registers.

    Args:
        registers: of a thread, by kernel (`registers_of`).
        largest_blocks: threads of a block, by what the launch names. One that names no kernel (a
            pointer, a macro) may be any of them.
    """
    found: dict[str, tuple[int, int]] = {}
    for launched, threads in largest_blocks.items():
        known = registers.get(written_name(launched))
        used = known if known is not None else max(registers.values(), default=0)
        given = -(-used // _STEP) * _STEP
        if -(-threads // _WARP) * _WARP * given > PER_BLOCK:
            found[launched] = used, threads
    return found
