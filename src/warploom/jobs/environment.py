"""The environment of work: what programs and GPUs need, and nothing that could be a key."""

import os
import re
from collections.abc import Mapping, Sequence

_NAMES = frozenset(
    (
        "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR", "TERM", "CC", "CXX",
        "LD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH", "VIRTUAL_ENV", "MODULEPATH", "LOADEDMODULES",
        "HOSTNAME", "PWD",
    )
)  # fmt: skip
_PREFIXES = (
    "LC_", "XDG_", "PYTHON", "WARPLOOM_", "CONDA_", "CUDA_", "NVIDIA_", "NCCL_", "OMP_", "OMPI_",
    "OPAL_", "PMIX_", "PMI_", "PRTE_", "UCX_", "HYDRA_", "MPI_", "SLURM_", "SLURMD_",
    "SUBMITIT_", "RAY_",
)  # fmt: skip
SECRET_WORDS = ("KEY", "TOKEN", "SECRET", "PASSW", "CREDENTIAL", "JWT", "AUTH", "COOKIE")
_SECRET = re.compile("|".join(SECRET_WORDS), re.IGNORECASE)


def job_environment(
    given: Mapping[str, str] | None = None, further: Sequence[str] = ()
) -> dict[str, str]:
    """Return the part of an environment, by default ours, that work may have.

    What programs need is listed; of it, nothing goes along whose name says that it is a secret.
    `further` are names that the user vouches for.
    """
    found = os.environ if given is None else given
    return {
        name: value
        for name, value in found.items()
        if name in further
        or ((name in _NAMES or name.startswith(_PREFIXES)) and not _SECRET.search(name))
    }
