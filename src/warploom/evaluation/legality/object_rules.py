"""What a built program runs by itself: its functions of initialization and termination.

The rules on text look for code before main in declarations; the object has the last word. `guard`
lists what a build puts into `.init_array`, `.fini_array` and `.ctors`, and what it makes `ifunc`.
The same holds for names: whatever text it came from, a definition of a function of the runtime or
of a library stands in the object.
"""

import json
import re
from collections.abc import Set
from typing import TypedDict, cast

from warploom.core.records import Finding, Severity
from warploom.emulator.rewriting.device_variables import REGISTERS

# The compiler names a unit's initializers after its first function, which is the candidate's.
_UNIT = re.compile(r"(?:_GLOBAL__(?:sub_)?[ID]_|__cxx_global_var_init|_GLOBAL__I_)")
# What the rewriter adds for each variable of the device. Only it can have a function run by itself:
# attributes of candidates are refused, and their variables' initializers have the unit's name.
_OURS = re.compile(rf"_Z(?:N.*)?L?\d+{REGISTERS}\w+")
_DEVICE_SUFFIX = re.compile(r"(?:\.(?:cold|part|constprop|isra)[.\w]*)+\Z")


class _Pass(TypedDict):
    init: list[str]


class _Unit(TypedDict):
    passes: dict[str, _Pass]


def runs_by_itself(guard: str) -> frozenset[str]:
    """Return the functions that a build runs before or after main.

    Args:
        guard: what the guard says of each unit (`EmulatorBuild.guard`).
    """
    units = cast("list[_Unit]", json.loads(guard))
    return frozenset(
        symbol for unit in units for one in unit["passes"].values() for symbol in one["init"]
    )


def init_findings(candidate_inits: Set[str], trusted_inits: Set[str], name: str) -> list[Finding]:
    """Return a finding for code that the loader would run in a candidate, not in `trusted`.

    Args:
        candidate_inits: symbols of the functions that the candidate's object runs when it is
            loaded or unloaded.
        trusted_inits: those of the trusted program's object.
        name: the candidate's file, for messages.
    """
    ours = {_DEVICE_SUFFIX.sub("", symbol) for symbol in trusted_inits}
    extra = sorted(
        symbol
        for symbol in candidate_inits
        if _DEVICE_SUFFIX.sub("", symbol) not in ours and not _OURS.match(symbol)
    )
    # One initializer of a unit stands for all of its variables: its name may differ, where the
    # trusted program has one too, as what it does is then judged by the rules on text.
    spare = sum(1 for symbol in trusted_inits if _UNIT.match(symbol))
    found: list[Finding] = []
    for symbol in extra:
        if _UNIT.match(symbol) and spare > 0:
            spare -= 1
            continue
        found.append(
            Finding(
                kind="static_constructor",
                severity=Severity.ERROR,
                message=f"the built program runs {symbol} before or after main, and the trusted "
                "program has no such code",
                hint="make variables constexpr, or local to a function",
                file=name,
            )
        )
    return found


def replaced_findings(candidate: Set[str], trusted: Set[str], name: str) -> list[Finding]:
    """Return a finding for each name of the system that a candidate defines, not the trusted one.

    Args:
        candidate: what its object defines of the runtime's and the libraries' names
            (`EmulatorBuild.replaced`).
        trusted: what the trusted program's does.
        name: the candidate's file, for messages.
    """
    return [
        Finding(
            kind="redefinition",
            severity=Severity.ERROR,
            message=f"the built program defines {symbol}, which belongs to CUDA, NCCL, MPI or the "
            "system's libraries: calls would go there",
            hint="give it another name, or make it static",
            file=name,
        )
        for symbol in sorted(candidate - trusted)
    ]
