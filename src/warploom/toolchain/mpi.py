"""Finds an MPI to build and launch real jobs with."""

import functools
import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from warploom.core.errors import MissingToolError
from warploom.core.process import ProcessResult, default_environment, run_process
from warploom.core.records import Limits

_QUICK = Limits(seconds=20.0, memory_mb=1024, output_mb=1)
_CURE = (
    "install one (Debian: apt-get install openmpi-bin libopenmpi-dev) or name its folder, the one "
    "that holds bin/mpirun and bin/mpicc, in WARPLOOM_MPI_HOME"
)


@dataclass(frozen=True, slots=True)
class Mpi:
    """One MPI: how to launch, and nvcc's flags to compile and link with it.

    `kind` is "openmpi" or "hydra" (MPICH and its children); `rank_variable` names the environment
    variable that holds a process's rank.
    """

    launcher: Path
    kind: str
    compile_flags: tuple[str, ...]
    link_flags: tuple[str, ...]

    @property
    def rank_variable(self) -> str:
        """The environment variable of a process's rank."""
        return "OMPI_COMM_WORLD_RANK" if self.kind == "openmpi" else "PMI_RANK"

    def command(self, ranks: int) -> list[str]:
        """Return the command line before the program: `ranks` processes, all on this machine."""
        if self.kind == "openmpi":
            return [str(self.launcher), "--oversubscribe", "--bind-to", "none", "-n", str(ranks)]
        return [str(self.launcher), "-bind-to", "none", "-n", str(ranks)]


def _homes() -> Iterator[str]:
    home = os.environ.get("WARPLOOM_MPI_HOME")
    if home:
        yield str(Path(home).expanduser() / "bin")
        return
    yield os.environ.get("PATH", os.defpath)


def nvcc_flags(show: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Turn what `mpicc -show` prints into nvcc's flags to compile, and to link."""
    compiling: list[str] = []
    linking: list[str] = []
    for word in shlex.split(show)[1:]:
        if word.startswith(("-I", "-D")):
            compiling.append(word)
        elif word.startswith(("-L", "-l")):
            linking.append(word)
        elif word.startswith("-Wl,"):
            for part in word.split(",")[1:]:
                linking += ["-Xlinker", part]
    return tuple(compiling), tuple(linking)


def _ask(command: list[str]) -> ProcessResult:
    # Open MPI 5 wants a home, even to say how programs are built.
    with tempfile.TemporaryDirectory(prefix="warploom-") as home:
        return run_process(
            command, limits=_QUICK, environment={**default_environment(), "HOME": home}
        )


def _first_line(text: str) -> str:
    return next((line for line in text.splitlines() if line.strip()), "it says nothing")


@functools.cache
def find_mpi() -> Mpi:
    """Return the MPI of `WARPLOOM_MPI_HOME`, or of PATH.

    Raises:
        MissingToolError: there is no launcher, or nothing to compile against.
    """
    for path in _homes():
        launcher = shutil.which("mpirun", path=path) or shutil.which("mpiexec", path=path)
        wrapper = shutil.which("mpicc", path=path)
        if launcher is None:
            continue
        if wrapper is None:
            raise MissingToolError(
                f"MPI programs need mpicc to be built, but beside {launcher} there is none",
                hint=_CURE,
            )
        show = _ask([wrapper, "-show"])
        if show.exit_code != 0:
            raise MissingToolError(
                f"{wrapper} does not say how MPI programs are built: {_first_line(show.log)}",
                hint=_CURE,
            )
        version = _ask([launcher, "--version"]).log
        kind = "openmpi" if re.search(r"open.?mpi|open.?rte", version, re.IGNORECASE) else "hydra"
        return Mpi(Path(launcher), kind, *nvcc_flags(show.stdout.decode(errors="replace")))
    raise MissingToolError("MPI programs need mpirun to be run, but none is found", hint=_CURE)
