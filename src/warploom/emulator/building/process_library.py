"""Builds what is linked into each program: the state that each emulated process has for itself.

All ranks share one C library. The functions of it that remember something from call to call are
here instead, in objects that are part of the program, of which each rank loads a copy of its own.
They are compiled with access hooks, as the program is: to the runtime they are the program's code.
"""

import threading
from pathlib import Path

from warploom.core.errors import ToolFailedError
from warploom.core.ids import digest
from warploom.emulator.building.runtime_build import (
    PROCESS_DIR,
    folder_digest,
    in_parallel,
    run_compiler,
)
from warploom.emulator.building.unit_flags import hook_flags
from warploom.toolchain.cache import cached_folder
from warploom.toolchain.compilers import Compiler

# No guard reads these: their slot for the routine of exceptions would be the program's to write.
_FLAGS = ("-std=c++20", "-fno-builtin", "-fno-exceptions")


def process_library_digest() -> str:
    """Return a digest of the sources and their flags: what a program's own is made of."""
    return digest([folder_digest(PROCESS_DIR), *_FLAGS])


def process_objects(compiler: Compiler) -> tuple[Path, ...]:
    """Return the objects to link into each program, its entry among them.

    Raises:
        ToolFailedError: one of them does not compile.
    """
    flags = (*hook_flags(compiler), *_FLAGS)
    sources = sorted(PROCESS_DIR.glob("*.cpp"))

    def compile_one(source: Path, cancel: threading.Event, folder: Path) -> None:
        arguments = [*flags, f"-I{PROCESS_DIR}", "-c", source, "-o", folder / f"{source.stem}.o"]
        result = run_compiler(compiler, arguments, folder, cancel)
        if not result.ok:
            raise ToolFailedError(
                f"{source.name} of the process library must compile, but:\n{result.log[-6000:]}",
                hint=f"this compiler is {compiler.identity}; name another one in WARPLOOM_CXX",
            )

    def make(folder: Path) -> None:
        in_parallel(lambda source, cancel: compile_one(source, cancel, folder), sources)

    key = digest([compiler.identity, *flags, process_library_digest()])
    folder = cached_folder("objects", key, make)[0]
    return tuple(folder / f"{source.stem}.o" for source in sources)
