"""What a program defines that the runtime or a library has: calls would go there.

`imports` tell what a program takes. This is the other way round: a function of the program's own
that has the name of one of theirs stands in its place wherever the program calls it.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from warploom.core.process import run_process
from warploom.core.records import Limits
from warploom.emulator.building.elf import defined_symbols, dynamic_symbols
from warploom.emulator.building.process_library import process_objects
from warploom.toolchain.compilers import Compiler, compiler_environment

_GLOBAL = re.compile(rb"^[ \t]*\.(?:globl|global|weak)[ \t]+\"?([^\s\",]+)", re.MULTILINE)
_LABEL = re.compile(rb"^\"?([^\s\":#]+)\"?:", re.MULTILINE)
_SET = re.compile(rb"^[ \t]*\.set[ \t]+\"?([^\s\",]+)", re.MULTILINE)
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
    own: set[str] = set()
    for path in assembly:
        text = path.read_bytes()
        labels = set(_LABEL.findall(text)) | set(_SET.findall(text))
        own.update(name.decode("latin-1") for name in labels.intersection(_GLOBAL.findall(text)))
    own = {name for name in own if not _BY_TEMPLATES.match(name)}
    theirs = set(offered) | {name.removeprefix(_WRAP) for name in offered}
    for path in process_objects(compiler):
        theirs |= defined_symbols(Path(path))
    for library in _libraries(compiler):
        theirs |= dynamic_symbols(library).exports
    return sorted((own & theirs) - {"main"})


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
