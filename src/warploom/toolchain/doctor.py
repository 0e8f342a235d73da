"""What this machine has and lacks, as a record."""

import importlib.metadata
import os
import platform
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from warploom.core.errors import MissingToolError
from warploom.core.usage import available_memory_mb
from warploom.toolchain.agent_states import AgentState, examine_agents
from warploom.toolchain.cache import cache_root, cache_sizes
from warploom.toolchain.compilers import find_compiler
from warploom.toolchain.confine import find_agents
from warploom.toolchain.gpu import find_gpus
from warploom.toolchain.mpi import find_mpi
from warploom.toolchain.nccl import NcclHeaders, find_nccl
from warploom.toolchain.nvcc import find_mpi_include, find_nvcc, find_sanitizer
from warploom.toolchain.sandbox import SandboxKind, find_sandbox

_PACKAGES = (
    "warploom", "numpy", "pydantic", "rich", "tree-sitter", "tree-sitter-cuda", "typer", "ziglang",
    "nvidia-nccl-cu13", "cuda-toolkit",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ToolState:
    """One thing that we look for: `found` describes it, or is None and `cure` says what to do.

    `needed_for` names what does not work without it; `required` things make everything fail.
    """

    name: str
    found: str | None
    needed_for: str
    cure: str = ""
    required: bool = False


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """Everything found on the machine.

    `agents` maps programs of coding agents to their paths, `coding_agents` says which of them could
    be run, and how.
    """

    python: str
    platform: str
    processors: int
    memory_mb: int
    tools: tuple[ToolState, ...]
    nccl: tuple[NcclHeaders, ...]
    gpus: tuple[str, ...]
    packages: Mapping[str, str | None]
    cache: str
    cache_bytes: Mapping[str, int]
    agents: Mapping[str, str | None]
    coding_agents: tuple[AgentState, ...]

    @property
    def ok(self) -> bool:
        """Whether every required tool is here."""
        return all(tool.found is not None for tool in self.tools if tool.required)


def _compiler() -> ToolState:
    need = "check, transform: building programs for the emulator"
    try:
        compiler = find_compiler()
    except MissingToolError as error:
        return ToolState("C++20 compiler", None, need, error.hint, required=True)
    return ToolState("C++20 compiler", f"{compiler.name}: {compiler.identity}", need, required=True)


def _symbolizer() -> ToolState:
    need = "the source lines of findings"
    for name in ("addr2line", "llvm-addr2line", "llvm-symbolizer"):
        path = shutil.which(name)
        if path:
            return ToolState("symbolizer", path, need, required=True)
    return ToolState("symbolizer", None, need, "install binutils", required=True)


def _nvcc() -> ToolState:
    need = "compiling with the real CUDA compiler"
    try:
        nvcc = find_nvcc()
    except MissingToolError as error:
        return ToolState("nvcc", None, need, error.hint)
    return ToolState("nvcc", f"{nvcc.path}: {nvcc.identity}", need)


def _sandbox() -> ToolState:
    sandbox = find_sandbox()
    need = "keeping programs from the user's files and the network"
    if sandbox.kind is SandboxKind.BUBBLEWRAP:
        return ToolState("sandbox", f"{sandbox.program}: {sandbox.holds}", need)
    if sandbox.kind is SandboxKind.LANDLOCK:
        why = f"Landlock and seccomp ({sandbox.reason}): {sandbox.holds}"
        return ToolState("sandbox", why, need)
    cure = (
        f"{sandbox.reason}. Limits hold {sandbox.holds}; programs of a model or an agent run with "
        "--unsafe only. Install bubblewrap"
    )
    return ToolState("sandbox", None, need, cure)


def _mpi() -> ToolState:
    folder = find_mpi_include()
    need = "nvcc compiles of MPI programs (a stub is built in)"
    if folder.name == "mpi_stub":
        return ToolState("mpi.h", None, need, "none needed; libopenmpi-dev gives the real one")
    return ToolState("mpi.h", str(folder), need)


def _launcher() -> ToolState:
    need = "running MPI programs on GPUs (--backend cuda)"
    try:
        mpi = find_mpi()
    except MissingToolError as error:
        return ToolState("mpirun", None, need, error.hint)
    return ToolState("mpirun", f"{mpi.launcher} ({mpi.kind})", need)


def _sanitizer() -> ToolState:
    need = "memory and race checks on GPUs (--backend cuda)"
    try:
        return ToolState("compute-sanitizer", str(find_sanitizer()), need)
    except MissingToolError as error:
        return ToolState("compute-sanitizer", None, need, error.hint)


def _packages() -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for name in _PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = None
    return found


def examine() -> DoctorReport:
    """Look at the machine. Nothing is built or downloaded; takes below a second."""
    root: Path = cache_root()
    return DoctorReport(
        python=f"{platform.python_version()} ({sys.executable})",
        platform=platform.platform(),
        processors=len(os.sched_getaffinity(0)),
        memory_mb=available_memory_mb(),
        tools=(_compiler(), _symbolizer(), _sandbox(), _nvcc(), _mpi(), _launcher(), _sanitizer()),
        nccl=find_nccl(),
        gpus=tuple(gpu.describe() for gpu in find_gpus()),
        packages=_packages(),
        cache=str(root),
        cache_bytes=cache_sizes(root),
        agents=find_agents(),
        coding_agents=examine_agents(),
    )
