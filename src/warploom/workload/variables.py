"""Environment variables that a program may be given."""

import re
from collections.abc import Mapping

from warploom.core.errors import BadInputError

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# What the loader, the C library and the emulator look at before the program does.
_NOT_THE_PROGRAMS = re.compile(
    r"(?:LD|WARPLOOM|GLIBC|GLIBCXX|MALLOC|GCONV|LSAN|ASAN|TSAN|UBSAN)_.*"
    r"|GETCONF_DIR|HOSTALIASES|LOCALDOMAIN|LOCPATH|NIS_PATH|NLSPATH|RESOLV_HOST_CONF|RES_OPTIONS"
)
# machine/environment.cpp
_LAUNCHERS = re.compile(
    r"OMPI_COMM_WORLD_(?:LOCAL_)?(?:RANK|SIZE)|PMI_(?:RANK|SIZE)|MPI_LOCAL(?:RANKID|NRANKS)"
    r"|SLURM_(?:PROCID|NTASKS|NPROCS|LOCALID)|(?:LOCAL_)?(?:RANK|WORLD_SIZE)"
)


def check_variables(env: Mapping[str, str]) -> None:
    """Raise BadInputError where a variable is none that a program may be given."""
    for name, value in env.items():
        if not _VARIABLE.fullmatch(name) or "\0" in value:
            raise BadInputError(f"env must name variables such as OMP_NUM_THREADS, got {name!r}")
        if _NOT_THE_PROGRAMS.fullmatch(name):
            raise BadInputError(
                f"env must not set {name}: the loader, the C library or warploom would read it",
                hint="only variables that the program itself asks for can be given",
            )
        if _LAUNCHERS.fullmatch(name):
            raise BadInputError(
                f"env must not set {name}: each process gets its own from its launcher",
                hint="--ranks, --processes and --node-size say how many there are",
            )
