"""What a program defines that the runtime or a library has: calls would go there.

`imports` tell what a program takes. This is the other way round: a function of the program's own
that has the name of one of theirs stands in its place wherever the program calls it.
"""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from warploom.core.process import run_process
from warploom.core.records import Limits
from warploom.emulator.building.elf import defined_symbols, dynamic_symbols
from warploom.emulator.building.process_library import process_objects
from warploom.toolchain.compilers import Compiler, compiler_environment

# Each begins with letters: Python looks for these ten times as fast as for a line's begin.
_GLOBAL = [
    re.compile(rb"\." + word + rb"[ \t]+\"?([^\s\",]+)") for word in (b"globl", b"global", b"weak")
]
_LIBRARIES = ("libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1")
# What headers of the C++ library define in each program, and what stands for types.
_BY_TEMPLATES = re.compile(r"_Z(?:T[A-Z]|GV|GR)?(?:N[rVKRO]*)?(?:S[tabsiod]|9__gnu_cxx)|_ZT[IS]")
_WRAP = "__wrap_"


def replaced_names(
    assembly: Iterable[Path], offered: frozenset[str], compiler: Compiler
) -> list[str]:
    """Return the names that a program's `assembly` defines, and the runtime or a library does too.

    Args:
        assembly: the files of all units, as they are assembled.
        offered: what the runtime exports.
        compiler: finds the libraries.
    """
    theirs = set(offered) | {name.removeprefix(_WRAP) for name in offered}
    theirs |= _of_libraries(compiler)
    found: set[str] = set()
    for path in assembly:
        text = path.read_bytes()
        names = {name.decode("latin-1") for word in _GLOBAL for name in word.findall(text)}
        shared = {name for name in (names & theirs) - {"main"} if not _BY_TEMPLATES.match(name)}
        found |= {name for name in shared if _is_defined(name, text)}
    return sorted(found)


def _is_defined(name: str, assembly: bytes) -> bool:
    """Whether `assembly` defines `name`, by a label or as another's."""
    wanted = name.encode("latin-1")
    if any(b"\n%b:" % label in assembly for label in (wanted, b'"%b"' % wanted)):
        return True
    return re.search(rb'\.set[ \t]+"?%b[",\s]' % re.escape(wanted), assembly) is not None


@cache
def _of_libraries(compiler: Compiler) -> frozenset[str]:
    """Return what the libraries that each program is linked with define."""
    names: set[str] = set()
    for path in process_objects(compiler):
        names |= defined_symbols(Path(path))
    for path in _libraries(compiler):
        names |= dynamic_symbols(path).exports
    return frozenset(names)


def _libraries(compiler: Compiler) -> Iterable[Path]:
    """Yield the libraries of C and C++ that the compiler links; one that it has not is left out."""
    for name in _LIBRARIES:
        result = run_process(
            [*compiler.command, f"-print-file-name={name}"],
            limits=Limits(seconds=60, memory_mb=2048, output_mb=1),
            environment=compiler_environment(),
        )
        path = result.stdout.decode(errors="replace").strip()
        if result.ok and path.startswith("/") and Path(path).exists():
            yield Path(path)
