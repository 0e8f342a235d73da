"""The GPUs of this machine, as nvidia-smi tells of them."""

import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from warploom.core.errors import MissingToolError
from warploom.core.process import run_process
from warploom.core.records import Limits

_QUERY = "index,name,compute_cap,memory.total,driver_version"
_QUICK = Limits(seconds=30.0, memory_mb=2048, output_mb=1)
_CURE = (
    "run this on a machine with NVIDIA GPUs and their driver; without one, leave out "
    "--backend cuda: the emulator needs no GPU"
)


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU: `arch` is nvcc's name of its architecture (sm_90), memory is in MiB."""

    index: int
    name: str
    arch: str
    memory_mb: int
    driver: str

    def describe(self) -> str:
        """Return one line about it."""
        return f"{self.name}, {self.arch}, {self.memory_mb} MiB, driver {self.driver}"


def parse_gpus(text: str) -> tuple[Gpu, ...]:
    """Read what nvidia-smi prints for our query as CSV; lines of another form are left out."""
    found: list[Gpu] = []
    for line in text.splitlines():
        parts = [part.strip() for part in line.split(",")]
        if len(parts) != 5 or not parts[0].isdigit() or not re.fullmatch(r"\d+\.\d+", parts[2]):
            continue
        memory = re.match(r"\d+", parts[3])
        arch = "sm_" + parts[2].replace(".", "")
        found.append(Gpu(int(parts[0]), parts[1], arch, int(memory[0]) if memory else 0, parts[4]))
    return tuple(found)


def find_gpus() -> tuple[Gpu, ...]:
    """Return the GPUs that programs may use: all, or those of CUDA_VISIBLE_DEVICES by index."""
    if shutil.which("nvidia-smi") is None:
        return ()
    command = ["nvidia-smi", f"--query-gpu={_QUERY}", "--format=csv,noheader"]
    environment = {k: os.environ[k] for k in ("PATH", "LD_LIBRARY_PATH") if k in os.environ}
    result = run_process(command, limits=_QUICK, environment=environment)
    gpus = parse_gpus(result.stdout.decode(errors="replace")) if result.ok else ()
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None or not re.fullmatch(r"[\d, ]*", visible):
        return gpus
    chosen = {int(part) for part in visible.split(",") if part.strip()}
    return tuple(gpu for gpu in gpus if gpu.index in chosen)


def require_gpus() -> tuple[Gpu, ...]:
    """Return the GPUs, which one build must serve.

    Raises:
        MissingToolError: there is none, or they are of several architectures.
    """
    gpus = find_gpus()
    if not gpus:
        how = "nvidia-smi is not found" if shutil.which("nvidia-smi") is None else "it shows none"
        raise MissingToolError(f"the cuda backend needs a GPU, but {how}", hint=_CURE)
    return one_kind(gpus)


def one_kind(gpus: Sequence[Gpu]) -> tuple[Gpu, ...]:
    """Return GPUs that one build serves.

    Raises:
        MissingToolError: there are none, or they are of several architectures.
    """
    if not gpus:
        raise MissingToolError(
            "the cuda backend needs a GPU, but the machines have none", hint=_CURE
        )
    kinds = sorted({gpu.arch for gpu in gpus})
    if len(kinds) > 1:
        raise MissingToolError(
            f"the GPUs must be of one architecture, but here are {', '.join(kinds)}",
            hint="choose some of them by index in CUDA_VISIBLE_DEVICES",
        )
    return tuple(gpus)


def gpu_devices() -> tuple[Path, ...]:
    """Return the device files that a confined program needs to use GPUs and RDMA NICs."""
    found = [path for path in sorted(Path("/dev").glob("nvidia*")) if not path.is_dir()]
    folders = (Path("/dev/nvidia-caps"), Path("/dev/infiniband"))
    return (*found, *(path for path in folders if path.is_dir()))
