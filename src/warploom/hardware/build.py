"""Builds an executable with nvcc for the GPU that is here."""

import os
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from warploom.core.errors import SourceError, ToolFailedError
from warploom.core.ids import digest
from warploom.core.records import BuildSpec, Limits
from warploom.toolchain.cache import cached_folder
from warploom.toolchain.mpi import Mpi
from warploom.toolchain.nccl import NcclHeaders, headers_digest, nccl_library
from warploom.toolchain.nvcc import find_nvcc, parse_nvcc_errors, run_nvcc, user_contents

_OPENMP = re.compile(rb"^[ \t]*#[ \t]*(?:pragma[ \t]+omp\b|include[ \t]*<omp\.h>)", re.MULTILINE)
_FLAGS = ("-std=c++17",)
_LIMITS = Limits(seconds=900.0, memory_mb=16384, output_mb=16)


@dataclass(frozen=True, slots=True)
class HardwareBuild:
    """An executable: `files` are the user's files by their base names, for reports."""

    program: Path
    spec: BuildSpec
    arch: str
    seconds: float
    cached: bool

    def user_file(self, name: str) -> str | None:
        """Return the path of the user's file called `name` (a path or a base name), if it is one.

        Debug information of device code may hold the base name alone.
        """
        base = self.spec.program.absolute().parent
        for known in user_contents(self.spec):
            path = os.path.normpath(base / known)
            if name == path or Path(known).name == Path(name).name:
                return path
        return None


def nvcc_command(
    spec: BuildSpec,
    arch: str,
    nccl: NcclHeaders,
    mpi: Mpi | None,
    output: Path,
    flags: Sequence[str] = _FLAGS,
) -> list[str]:
    """Return nvcc's command line, to be run in the program's folder.

    The CUDA runtime is linked as a shared library, so that our read-back library can stand before
    it. Line tables (`-g` for the host, `-lineinfo` for kernels) leave the code as it is, but a call
    must not become a jump, or the library could not tell which line made it. All back
    ends of GIN are compiled, since NCCL chooses one of them when the program starts.
    """
    base = spec.program.absolute().parent
    library = nccl_library(nccl).parent
    threads = any(_OPENMP.search(text) for text in user_contents(spec).values())
    defines = [f"-D{n}={v}" if v else f"-D{n}" for n, v in sorted(spec.defines.items())]
    users = [f"-I{os.path.relpath(d.absolute(), base)}" for d in spec.include_dirs]
    sources = [os.path.relpath(p.absolute(), base) for p in (spec.program, *spec.sources)]
    return [
        str(find_nvcc().path), *flags, "-O2", "-g", "-lineinfo", "-w", f"-arch={arch}",
        "--cudart", "shared", "-Xcompiler", "-fno-optimize-sibling-calls", *defines,
        f"-I{nccl.include}", *users,
        *(mpi.compile_flags if mpi else ()), "-x", "cu", *sources, "-o", str(output),
        f"-L{library}", "-l:libnccl.so.2", "-Xlinker", f"-rpath={library}",
        *(mpi.link_flags if mpi else ()), "-lpthread",
        *(["-Xcompiler", "-fopenmp"] if threads else []),
    ]  # fmt: skip


def build_executable(
    spec: BuildSpec,
    arch: str,
    nccl: NcclHeaders,
    mpi: Mpi | None,
    flags: Sequence[str] = _FLAGS,
) -> HardwareBuild:
    """Build `spec` for `arch` (such as sm_90) against `nccl` and `mpi`; cached by content.

    `flags` say of what language it is, and how nvcc computes with real numbers.

    Raises:
        SourceError: nvcc rejects the program; names the first error's file and line.
        MissingToolError: nvcc or the NCCL library is not here.
        ToolFailedError: nvcc broke or passed its limits.
    """
    started = time.monotonic()
    base = spec.program.absolute().parent
    contents = user_contents(spec)
    name = "program"
    command = nvcc_command(spec, arch, nccl, mpi, Path(name), flags)
    parts: Sequence[str | bytes] = [
        find_nvcc().identity, *command, headers_digest(nccl), str(base),
        *(part for item in sorted(contents.items()) for part in item),
    ]  # fmt: skip

    def make(folder: Path) -> None:
        made = nvcc_command(spec, arch, nccl, mpi, folder / name)
        result = run_nvcc(made, spec, _LIMITS, _library_paths())
        if result.ok:
            return
        errors = parse_nvcc_errors(result.log, base)
        if errors:
            first = errors[0]
            raise SourceError(
                f"nvcc must accept the program, but says: {first.message}",
                file=first.file,
                line=first.line,
                hint=f"{len(errors)} errors in all" if len(errors) > 1 else "",
            )
        raise ToolFailedError(
            f"nvcc must build the program, but failed:\n{result.log[-2000:]}",
            file=str(spec.program),
        )

    folder, cached = cached_folder("hardware", digest(parts), make)
    return HardwareBuild(folder / name, spec, arch, time.monotonic() - started, cached)


def _library_paths() -> dict[str, str]:
    return {k: os.environ[k] for k in ("LIBRARY_PATH", "NVCC_CCBIN") if k in os.environ}
