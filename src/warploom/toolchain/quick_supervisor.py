"""Compiles the supervisor of confined commands: an interpreter's start is longer than theirs."""

import functools
import os
import platform
import subprocess
import threading
from pathlib import Path

from warploom.core.errors import ToolFailedError, WarploomError
from warploom.core.ids import digest
from warploom.core.process import QUICK_SUPERVISOR, run_process, use_supervisor
from warploom.core.records import Limits
from warploom.toolchain.cache import cached_folder
from warploom.toolchain.compilers import compiler_environment, find_compiler

_FLAGS = ("-std=c++20", "-O1", "-s", "-Wall", "-Wextra")
_LIMITS = Limits(seconds=120, memory_mb=2048, output_mb=4)
_making = threading.local()


def use_quick_supervisor() -> None:
    """Have all commands from now on watched by the compiled supervisor, where it can be had."""
    if not getattr(_making, "now", False):  # its own compiler needs a supervisor too
        _use_once()


@functools.cache
def _use_once() -> None:
    _making.now = True
    try:
        use_supervisor(build_supervisor())
    except (WarploomError, OSError):
        use_supervisor(None)  # no compiler, no cache: supervisor.py does the same, later
    finally:
        _making.now = False


def build_supervisor() -> Path:
    """Return the path of the compiled supervisor, made where it is not cached.

    Raises:
        MissingToolError: there is no compiler.
        ToolFailedError: it does not compile, or does not work.
    """
    source = QUICK_SUPERVISOR.read_bytes()
    # No compiler's name: to ask for that is what takes long. What it makes needs the C library.
    key = digest([source, *_FLAGS, platform.machine(), *platform.libc_ver()])
    return cached_folder("supervisor", key, _make)[0] / "supervisor"


def _make(folder: Path) -> None:
    program = folder / "supervisor"
    compiler = find_compiler()
    # Not every system has the libraries to link it statically, which starts sooner.
    for how in (["-static"], []):
        result = run_process(
            [*compiler.command, *_FLAGS, *how, QUICK_SUPERVISOR, "-o", program],
            limits=_LIMITS,
            environment=compiler_environment(),
            folder=folder,
        )
        if result.ok and _works(program):
            return
    raise ToolFailedError(f"the supervisor must compile and work, but:\n{result.log[-4000:]}")


def _works(program: Path) -> bool:
    nothing = ["0", "0", "0", "", "", ""]
    done = subprocess.run(
        [program, str(os.getpid()), *nothing, "/bin/sh", "-c", "exit 7"], check=False
    )
    return done.returncode == 7
