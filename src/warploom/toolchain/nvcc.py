"""The nvcc gate: does the real compiler take a program, against the real CUDA and NCCL headers?"""

import functools
import json
import os
import re
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warploom.core.errors import MissingToolError, SourceError, ToolFailedError
from warploom.core.ids import digest
from warploom.core.process import (
    ProcessResult,
    default_environment,
    run_process,
    run_tool,
)
from warploom.core.records import BuildSpec, Limits
from warploom.toolchain.cache import cached_folder
from warploom.toolchain.compilers import folders_of
from warploom.toolchain.folders import is_of_system, names_in
from warploom.toolchain.nccl import NcclHeaders, get_nccl, headers_digest
from warploom.toolchain.sandbox import run_sandboxed

_LIMITS = Limits(seconds=600.0, memory_mb=16384, output_mb=16)
_MPI_STUB = Path(__file__).with_name("mpi_stub")
_MPI_FOLDERS = (
    "/usr/lib/x86_64-linux-gnu/openmpi/include",
    "/usr/lib/aarch64-linux-gnu/openmpi/include",
    "/usr/include/openmpi-x86_64",
    "/usr/include/x86_64-linux-gnu/mpich",
    "/usr/include/mpich-x86_64",
    "/usr/include",
    "/usr/local/include",
)
# Back ends of GIN that a program need not be compiled for to know that it is valid.
_ONE_BACK_END = ("GDAKI", "GPI", "EFA_GDA")
_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]', re.MULTILINE)
_ERRORS = (
    # The device pass: `a.cu(12): error: ...`; the host compiler: `a.cu:12:3: error: ...`.
    re.compile(
        r"^(?P<file>[^\s(][^(\n]*)\((?P<line>\d+)\): (?:catastrophic )?error[^:]*: (?P<text>.*)"
    ),
    re.compile(r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?:\d+:)? (?:fatal )?error: (?P<text>.*)"),
)
_WRONG_HOST = re.compile(r"host_config\.h.*error|unsupported GNU version|cudafe\+\+.*not found")


@dataclass(frozen=True, slots=True)
class Nvcc:
    """An nvcc: `identity` is its version, for cache keys."""

    path: Path
    identity: str


@dataclass(frozen=True, slots=True)
class NvccError:
    """One error of nvcc's."""

    file: str
    line: int
    message: str


@dataclass(frozen=True, slots=True)
class NvccResult:
    """What nvcc said of a program; `nccl` is the version of the headers that it saw.

    The log tells what kernels need of a block, too (`kernel_needs.py`).
    """

    ok: bool
    log: str
    seconds: float
    cached: bool
    errors: tuple[NvccError, ...]
    nccl: str


def _candidates() -> Iterator[Path]:
    if os.environ.get("WARPLOOM_NVCC"):
        yield Path(os.environ["WARPLOOM_NVCC"])
        return
    on_path = shutil.which("nvcc")
    if on_path:
        yield Path(on_path)
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(variable):
            yield Path(os.environ[variable]) / "bin" / "nvcc"
    yield Path("/usr/local/cuda/bin/nvcc")
    for entry in sys.path:
        for major in ("cu13", "cu12", "cuda_nvcc"):
            yield Path(entry or ".") / "nvidia" / major / "bin" / "nvcc"


@functools.lru_cache(maxsize=8)
def _probe(path: Path) -> Nvcc | None:
    result = run_process(
        [path, "--version"], limits=Limits(seconds=60, memory_mb=2048, output_mb=1)
    )
    found = re.search(r"release [\d.]+, V[\d.]+", result.log)
    return Nvcc(path, found.group(0)) if result.ok and found else None


@functools.lru_cache(maxsize=8)
def _toolkit(path: Path) -> tuple[Path, ...]:
    """Return the folders that nvcc needs beside the system's: it says where its parts lie."""
    asked = [path, "--dryrun", "-x", "cu", "-c", "/dev/null", "-o", "/dev/null"]
    said = run_process(asked, limits=Limits(seconds=60, memory_mb=2048, output_mb=1)).log
    top = re.search(r"^#\$ TOP=(.+)$", said, re.MULTILINE)
    home = Path(os.path.realpath(top.group(1) if top else path.resolve().parent.parent))
    # Wheels are folders side by side below `nvidia`.
    home = home.parent if home.parent.name == "nvidia" else home
    return tuple(folder for folder in (path.parent, home) if not is_of_system(folder))


def run_nvcc(
    command: Sequence[str],
    spec: BuildSpec,
    limits: Limits,
    environment: Mapping[str, str],
    cancel: threading.Event | None = None,
) -> ProcessResult:
    """Run nvcc in the program's folder, confined, until it is done or `cancel` is set.

    Of the user's files it sees those of `user_contents`; it can write to the folder of its output.
    """
    base = spec.program.absolute().parent
    host = environment.get("NVCC_CCBIN", "g++")
    read, write = names_in(command)
    return run_sandboxed(
        command,
        limits=limits,
        readable=[
            *_toolkit(Path(command[0])), *folders_of((host,)), *read,
            *(Path(os.path.normpath(base / name)) for name in user_contents(spec)),
        ],
        writable=write,
        cwd=base,
        environment={**default_environment(), **environment, "LC_ALL": "C"},
        cancel=cancel,
    ).process  # fmt: skip


def find_nvcc() -> Nvcc:
    """Return nvcc: `$WARPLOOM_NVCC`, PATH, CUDA_HOME, the usual folder, the wheels.

    Raises:
        MissingToolError: there is none that answers.
    """
    for path in _candidates():
        if path.is_file() and os.access(path, os.X_OK):
            nvcc = _probe(path)
            if nvcc is not None:
                return nvcc
    raise MissingToolError(
        "nvcc is needed to compile with the real CUDA compiler, but none is found",
        hint="install the CUDA toolkit, set CUDA_HOME, or: pip install 'warploom[cuda]'",
    )


@functools.cache
def find_sanitizer() -> Path:
    """Return compute-sanitizer: of PATH, or beside nvcc.

    Raises:
        MissingToolError: it is not there.
    """
    found = shutil.which("compute-sanitizer")
    try:
        beside = find_nvcc().path.resolve().parent / "compute-sanitizer"
    except MissingToolError:
        beside = Path("/usr/local/cuda/bin/compute-sanitizer")
    if found is None and not beside.is_file():
        raise MissingToolError(
            "compute-sanitizer is needed to check memory on a GPU, but is not found",
            hint="it is part of the CUDA toolkit; add its bin folder to PATH",
        )
    return Path(found) if found else beside


@functools.cache
def find_mpi_include() -> Path:
    """Return the folder of the system's mpi.h, or of our stub, which is enough to compile."""
    folders: list[str] = []
    mpicc = shutil.which("mpicc")
    if mpicc:
        limits = Limits(seconds=20, memory_mb=1024, output_mb=1)
        folders = re.findall(r"-I(\S+)", run_process([mpicc, "-show"], limits=limits).log)
    for folder in (*folders, *_MPI_FOLDERS):
        if (Path(folder) / "mpi.h").is_file():
            return Path(folder)
    return _MPI_STUB


def user_contents(spec: BuildSpec) -> dict[str, bytes]:
    """Return the program's files and the user headers that they reach, by relative name.

    Files that the program may not include are left out: they do not exist for a compiler.

    Raises:
        SourceError: the program or a source cannot be read.
    """
    base = spec.program.absolute().parent
    found: dict[str, bytes] = {}
    todo = [path.absolute() for path in (spec.program, *spec.sources)]
    required = set(todo)
    roots = spec.roots
    while todo:
        path = todo.pop()
        name = os.path.relpath(path, base)
        if name in found:
            continue
        try:
            found[name] = path.read_bytes()
        except OSError as error:
            if path in required:
                raise SourceError(
                    f"the source file must be readable, got: {error.strerror}", file=str(path)
                ) from None
            continue
        for match in _INCLUDE.finditer(found[name]):
            included = os.fsdecode(match.group(1))
            for folder in (path.parent, *(d.absolute() for d in spec.include_dirs)):
                if (folder / included).is_file():
                    if roots.hold(folder / included):
                        todo.append(folder / included)
                    break
    return found


def parse_nvcc_errors(log: str, base: Path) -> tuple[NvccError, ...]:
    """Return the errors of a log, files made absolute against `base`, each place once."""
    found: dict[tuple[str, int, str], NvccError] = {}
    for text in log.splitlines():
        for pattern in _ERRORS:
            match = pattern.match(text)
            if match:
                file = os.path.normpath(base / match["file"])
                error = NvccError(file, int(match["line"]), match["text"].strip())
                found.setdefault((error.file, error.line, error.message), error)
                break
    return tuple(found.values())


class _Gate:
    """One question to nvcc: a program, the headers, and the flags."""

    def __init__(
        self,
        spec: BuildSpec,
        nccl: NcclHeaders,
        arch: str,
        *,
        all_back_ends: bool,
        cancel: threading.Event | None,
    ) -> None:
        self.spec = spec
        self.cancel = cancel
        self.nccl = nccl
        self.nvcc = find_nvcc()
        self.base = spec.program.absolute().parent
        self.mpi = find_mpi_include()
        back_ends = () if all_back_ends else _ONE_BACK_END
        defines = [f"-D{n}={v}" if v else f"-D{n}" for n, v in sorted(spec.defines.items())]
        self.flags = [
            "-std=c++17", f"-arch={arch}", "-O2", "-w", "-Xptxas", "-v",
            *(f"-DNCCL_GIN_{name}_ENABLE=0" for name in back_ends), *defines,
        ]  # fmt: skip

    def key(self) -> str:
        """Return the digest of everything that the answer depends on."""
        contents = user_contents(self.spec)
        folders = [os.path.relpath(d.absolute(), self.base) for d in self.spec.include_dirs]
        return digest(
            [
                self.nvcc.identity, *self.flags, *folders, headers_digest(self.nccl),
                (self.mpi / "mpi.h").read_bytes(),
                *(os.path.relpath(s.absolute(), self.base) for s in self.spec.sources),
                *(part for item in sorted(contents.items()) for part in item),
            ]
        )  # fmt: skip

    def includes(self) -> Sequence[str]:
        """Return the include flags; the asked NCCL comes before what else lies around."""
        users = [f"-I{os.path.relpath(d.absolute(), self.base)}" for d in self.spec.include_dirs]
        return [f"-I{self.nccl.include}", *users, f"-I{self.mpi}"]

    def make(self, folder: Path) -> None:
        """Compile every source to an object; keep only what was said."""
        log = ""
        ok = True
        seconds = 0.0
        for path in (self.spec.program, *self.spec.sources):
            with tempfile.TemporaryDirectory(prefix="warploom-nvcc-") as work:
                cuda = path == self.spec.program or path.suffix in (".cu", ".cuh")
                language = ["-x", "cu"] if cuda else []
                name = os.path.relpath(path.absolute(), self.base)
                command = [
                    str(self.nvcc.path), *self.flags, *self.includes(), *language,
                    "-c", name, "-o", f"{work}/unit.o",
                ]  # fmt: skip
                result = run_nvcc(command, self.spec, _LIMITS, {}, self.cancel)
            if result.stopped or result.signal:
                raise ToolFailedError(
                    f"nvcc must end within its limits, but was stopped: "
                    f"{result.stopped or result.signal} after {result.seconds:.0f} s",
                    file=str(path),
                )
            log += result.log
            ok = ok and result.ok
            seconds += result.seconds
        if not ok and _WRONG_HOST.search(log):
            raise ToolFailedError(
                f"nvcc must work with the host's compiler, but does not:\n{log[-2000:]}",
                hint="name another host compiler in NVCC_CCBIN",
            )
        answer = {"ok": ok, "log": log, "seconds": seconds}
        (folder / "result.json").write_text(json.dumps(answer))


def compile_gate(
    spec: BuildSpec,
    nccl_version: str | None = None,
    arch: str = "sm_90",
    *,
    all_back_ends: bool = True,
    cancel: threading.Event | None = None,
) -> NvccResult:
    """Compile a program to objects with nvcc, against the headers of `nccl_version`.

    The answer is cached by the content of everything that nvcc reads of the user's.

    Args:
        spec: program, sources, include folders and macros.
        nccl_version: `spec.nccl` when None.
        arch: GPU architecture, such as `sm_90`.
        all_back_ends: compile every back end of GIN, as a user's build does; without, only the
            proxy one, in about half of the time.
        cancel: when set from another thread, nvcc is ended.

    Raises:
        MissingToolError: nvcc or the NCCL headers are not here.
        SourceError: a source cannot be read.
        ToolFailedError: nvcc broke, passed its limits or was canceled.
    """
    nvcc = find_nvcc()
    headers = get_nccl(nccl_version or spec.nccl)
    gate = _Gate(spec, headers, arch, all_back_ends=all_back_ends, cancel=cancel)
    assert gate.nvcc == nvcc
    folder, cached = cached_folder("nvcc", gate.key(), gate.make)
    answer: dict[str, Any] = json.loads((folder / "result.json").read_text())
    log = str(answer["log"])
    return NvccResult(
        ok=bool(answer["ok"]),
        log=log,
        seconds=0.0 if cached else float(answer["seconds"]),
        cached=cached,
        errors=() if answer["ok"] else parse_nvcc_errors(log, gate.base),
        nccl=headers.version,
    )


def nvcc_version(nvcc: Nvcc) -> str:
    """Return the release of `nvcc`, such as 13.0."""
    result = run_tool([nvcc.path, "--version"])
    found = re.search(r"release ([\d.]+)", result.log)
    return found.group(1) if found else "unknown"
