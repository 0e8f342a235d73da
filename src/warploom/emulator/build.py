"""Builds a program for the emulator: rewritten, compiled with access hooks, one shared object."""

import json
import os
import re
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from warploom.core.errors import BadInputError, SourceError, ToolFailedError
from warploom.core.ids import digest
from warploom.core.process import ProcessResult, Stop
from warploom.core.records import BuildSpec
from warploom.emulator.diagnostics import (
    ApiUse,
    NotEmulatedError,
    compile_failure,
    undefined_symbols,
)
from warploom.emulator.elf import dynamic_symbols
from warploom.emulator.prefix import precompiled_prefix
from warploom.emulator.rewrite import SHIM_DIR, Overlay, UserFile, file_named, rewrite
from warploom.emulator.runtime_build import build_runtime, folder_digest, in_parallel, run_compiler
from warploom.emulator.template_keyword import PLACE_FLAGS, may_lack_keyword, with_keywords
from warploom.emulator.unsupported import is_api_name
from warploom.toolchain.cache import cached_folder
from warploom.toolchain.compilers import Compiler, find_compiler

USER_ROOT = "/wl-user"
"""The folder that debug information gives for the program's own folder."""

# The runtime enters here. `main` is hidden, so that the linker finds one in the program or fails.
_ENTRY = """\
extern "C" __attribute__((visibility("hidden"))) int wl_user_main(int, char**, char**)
    __asm__("main");
extern "C" int warploom_main(int argc, char** argv) {
  static char* environment[] = {nullptr};
  return wl_user_main(argc, argv, environment);
}
"""
_LINK_CHECKS = (
    "-Wl,-z,lazy",
    "-Wl,-z,defs",
    "-Wl,--warn-unresolved-symbols",
    "-Wl,--no-demangle",
)
# What device code takes from the device's heap goes through the runtime: see device_heap.cpp.
_WRAPPED = tuple(
    f"-Wl,--wrap={name}"
    for name in (
        "malloc", "free", "_Znwm", "_Znam", "_ZnwmRKSt9nothrow_t", "_ZnamRKSt9nothrow_t",
        "_ZnwmSt11align_val_t", "_ZnamSt11align_val_t", "_ZdlPv", "_ZdaPv", "_ZdlPvm", "_ZdaPvm",
        "_ZdlPvSt11align_val_t", "_ZdaPvSt11align_val_t", "_ZdlPvmSt11align_val_t",
        "_ZdaPvmSt11align_val_t",
    )
)  # fmt: skip
_NO_MAIN = re.compile(r"hidden symbol[:`' ]+main\b")
_CUDA_SUFFIXES = (".cu", ".cuh")
_C_HEADERS = {
    "cuda_runtime.h",
    "cuda_runtime_api.h",
    "driver_types.h",
    "mpi.h",
    "mpi-ext.h",
    "nccl.h",
}
_DEVICE_CODE = re.compile(rb"<<<|\b__(?:global|device)__\b")
_DEFINE = re.compile(r"[A-Za-z_]\w*(?:\([\w, .]*\))?")
_VERSION = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")


@dataclass(frozen=True, slots=True)
class EmulatorBuild:
    """A program ready to run: `library` for `runtime`, both in the cache.

    `key` names the content of the build, `files` are the user's files in it, `imports` the symbols
    that it takes from the runtime and the C library. `seconds` is what this call took.
    """

    library: Path
    runtime: Path
    spec: BuildSpec
    key: str
    files: tuple[UserFile, ...]
    imports: frozenset[str]
    cached: bool
    seconds: float

    def file_named(self, name: str) -> UserFile | None:
        """Return the user's file that debug information calls `name`."""
        return file_named(self.files, name)

    @property
    def uses_mpi(self) -> bool:
        """Whether the program calls MPI."""
        return any(name.startswith("MPI_") for name in self.imports)

    @property
    def uses_nccl(self) -> bool:
        """Whether the program calls NCCL on the host."""
        return any(name.startswith("nccl") for name in self.imports)


def version_code(version: str) -> int:
    """Return NCCL's number for a version: 23203 for "2.32.3".

    Raises:
        BadInputError: `version` has not the form MAJOR.MINOR or MAJOR.MINOR.PATCH.
    """
    match = _VERSION.fullmatch(version)
    if match is None:
        raise BadInputError(f"an NCCL version must look like 2.30.7, got {version!r}")
    return int(match[1]) * 10000 + int(match[2]) * 100 + int(match[3] or 0)


def _flags(spec: BuildSpec, compiler: Compiler) -> list[str]:
    """Return the flags of every unit of the program."""
    for name in spec.defines:
        if not _DEFINE.fullmatch(name):
            raise BadInputError(f"a macro's name must be an identifier, got {name!r}")
    hooks = (
        ["--param", "tsan-distinguish-volatile=1", "--param", "tsan-instrument-func-entry-exit=0"]
        if compiler.family == "gcc"
        else [
            "-mllvm",
            "-tsan-distinguish-volatile",
            "-mllvm",
            "-tsan-instrument-func-entry-exit=0",
        ]
    )
    # Small functions are inlined, as GPU compilers inline nearly all: a local variable whose
    # address goes to no other function takes no hook. No library replaces functions of the program.
    special = (
        [
            "-fno-gnu-unique",
            "-fno-semantic-interposition",
            "-finline-small-functions",
            "-finline-functions",
            "--param",
            "max-inline-insns-auto=60",
        ]
        if compiler.family == "gcc"
        else []
    )
    defines = [f"-D{n}={v}" if v else f"-D{n}" for n, v in sorted(spec.defines.items())]
    # DWARF 5 names file 0 and file 1 differently after #line, and older binutils mix them up.
    return [
        "-O1", "-g1", "-gdwarf-4", "-fPIC", "-fno-omit-frame-pointer",
        "-fno-optimize-sibling-calls",
        "-fno-strict-aliasing", "-fno-plt", *special, "-fsanitize=thread", *hooks, "-w",
        "-fdiagnostics-color=never", "-DWARPLOOM_EMULATOR",
        f"-DWARPLOOM_NCCL_VERSION={version_code(spec.nccl)}", *defines,
    ]  # fmt: skip


def _language(source: Path, text: bytes, *, is_program: bool) -> list[str]:
    """Return the flags that say which language a unit is in."""
    if source.suffix == ".c" and _is_c(text):
        return ["-x", "c", "-std=gnu17", "-Werror=implicit-function-declaration"]
    if is_program or source.suffix in _CUDA_SUFFIXES:
        return ["-x", "c++", "-std=c++20", "-D__CUDACC__", "-D__NVCC__"]
    return ["-x", "c++", "-std=c++20"]


def _is_c(text: bytes) -> bool:
    """Whether a `.c` file has no device code and includes none of our headers that are C++ only."""
    names = {os.fsdecode(n) for n in re.findall(rb'#[ \t]*include[ \t]*[<"]([^>"\n]+)', text)}
    ours = {name for name in names if (SHIM_DIR / name).is_file()}
    return ours <= _C_HEADERS and not _DEVICE_CODE.search(text)


@dataclass(frozen=True, slots=True)
class _Unit:
    """One file to compile, with everything its object depends on."""

    overlay: str
    flags: tuple[str, ...]
    wants_prefix: bool


class _Builder:
    """One build: the overlay of a program, and how to compile it."""

    def __init__(self, spec: BuildSpec) -> None:
        self.spec = spec
        self.compiler = find_compiler()
        self.flags = _flags(spec, self.compiler)
        self.overlay: Overlay = rewrite(spec)
        self.shims = folder_digest(SHIM_DIR)
        sources = (spec.program, *spec.sources)
        self.units = tuple(
            self._unit(overlay, source, is_program=at == 0)
            for at, (overlay, source) in enumerate(zip(self.overlay.units, sources, strict=True))
        )
        texts = [part for item in sorted(self.overlay.texts.items()) for part in item]
        self.base = [self.compiler.identity, self.shims, *self.flags, _ENTRY, *texts]
        self.key = digest([*self.base, *(p for u in self.units for p in (u.overlay, *u.flags))])

    def _unit(self, overlay: str, source: Path, *, is_program: bool) -> _Unit:
        language = _language(source, self.overlay.texts[overlay], is_program=is_program)
        cuda = "-D__CUDACC__" in language
        return _Unit(overlay, (*language, *self.flags), cuda)

    def is_users(self, name: str) -> bool:
        """Whether a compiler's message is about a file of the user's."""
        return self.overlay.file_named(name) is not None

    def real_path(self, name: str) -> str:
        """Return where the file that messages call `name` lies."""
        file = self.overlay.file_named(name)
        return str(file.path) if file else name

    def make(self, folder: Path) -> None:
        """Fill `folder` with the shared object and its symbols."""
        with tempfile.TemporaryDirectory(prefix="warploom-build-") as name:
            work = Path(name)
            for overlay, text in self.overlay.texts.items():
                (work / overlay).write_bytes(text)
            objects = in_parallel(lambda unit, cancel: self._object(unit, work, cancel), self.units)
            library = folder / "program.so"
            self._link(objects, library, work)
        symbols = dynamic_symbols(library)
        (folder / "imports.json").write_text(json.dumps(sorted(symbols.imports)))

    def _object(self, unit: _Unit, work: Path, cancel: threading.Event) -> Path:
        """Return the object of one unit; only those of larger programs are worth keeping."""
        if len(self.units) == 1:
            self._compile(unit, work, work / "unit.o", cancel)
            return work / "unit.o"

        def make(folder: Path) -> None:
            self._compile(unit, work, folder / "unit.o", cancel)

        key = digest([*self.base, unit.overlay, *unit.flags])
        return cached_folder("objects", key, make)[0] / "unit.o"

    def _entry(self) -> Path:
        """Return the object through which the runtime enters any program."""

        def make(folder: Path) -> None:
            (folder / "entry.cpp").write_text(_ENTRY)
            arguments = ["-O1", "-fPIC", "-c", "entry.cpp", "-o", "entry.o"]
            result = run_compiler(self.compiler, arguments, folder)
            if not result.ok:
                raise ToolFailedError(f"the entry must compile, but:\n{result.log}")

        key = digest([self.compiler.identity, _ENTRY])
        return cached_folder("objects", key, make)[0] / "entry.o"

    def _compile(self, unit: _Unit, work: Path, target: Path, cancel: threading.Event) -> None:
        result = self._run_compiler(unit, unit.flags, work, target, cancel)
        if not result.ok and may_lack_keyword(result.log):
            log = result.log
            if self.compiler.family == "gcc":  # clang has said where
                flags = (*(flag for flag in unit.flags if flag != "-w"), *PLACE_FLAGS)
                log = self._run_compiler(unit, flags, work, target, cancel).log
            # A folder of its own: other units may be reading `work`.
            work = Path(tempfile.mkdtemp(dir=work))
            for overlay, text in with_keywords(log, self.overlay).items():
                (work / overlay).write_bytes(text)
            result = self._run_compiler(unit, unit.flags, work, target, cancel)
        self._check(result, work)

    def _run_compiler(
        self,
        unit: _Unit,
        flags: Sequence[str],
        work: Path,
        target: Path,
        cancel: threading.Event,
    ) -> ProcessResult:
        prefix: list[str] = []
        if unit.wants_prefix:
            header = precompiled_prefix(self.compiler, unit.flags, self.overlay.headers, self.shims)
            prefix = ["-include", str(header)]
        return run_compiler(
            self.compiler,
            [
                *flags, f"-I{SHIM_DIR}", f"-fdebug-prefix-map={work}={USER_ROOT}",
                *prefix, "-c", unit.overlay, "-o", target,
            ],
            work,
            cancel,
        )  # fmt: skip

    def _check(self, result: ProcessResult, work: Path) -> None:
        if result.stopped in (Stop.TIMEOUT, Stop.MEMORY, Stop.OUTPUT):
            raise SourceError(
                f"the program must compile within limits, but the compiler was stopped: "
                f"{result.stopped} after {result.seconds:.0f} s and {result.memory_mb} MiB",
                file=str(self.spec.program),
            )
        if not result.ok:
            log = result.log.replace(f"{work}/", "")
            raise compile_failure(log, self.is_users, self.real_path)

    def _link(self, objects: Sequence[Path], library: Path, work: Path) -> None:
        # The linker of zig takes few options; what is missing is read from its output instead.
        options = () if self.compiler.is_zig else (*_LINK_CHECKS, *_WRAPPED)
        result = run_compiler(
            self.compiler,
            ["-shared", self._entry(), *objects, "-o", library, "-Wl,-Bsymbolic", *options],
            work,
        )
        undefined = dict(undefined_symbols(result.log))
        if _NO_MAIN.search(result.log) or "main" in undefined:
            raise SourceError(
                "a program must have a function main, but there is none",
                file=str(self.spec.program),
                hint="name the file that has main first; its other files are further sources",
            )
        if result.ok:
            found = dynamic_symbols(library).unresolved
            undefined = {name: undefined.get(name) for name in sorted(found | undefined.keys())}
        exports = dynamic_symbols(build_runtime(self.compiler)).exports
        self._check_symbols({n: p for n, p in undefined.items() if n not in exports})
        if not result.ok:
            raise SourceError(
                f"the program must link, but:\n{result.log.strip()}", file=str(self.spec.program)
            )

    def _check_symbols(self, missing: Mapping[str, tuple[str, int] | None]) -> None:
        """Raise for what neither the program nor the runtime nor the C++ library defines."""
        uses = tuple(
            ApiUse(name, *self._place(name, place))
            for name, place in missing.items()
            if is_api_name(name)
        )
        if uses:
            raise NotEmulatedError(uses)
        for name, place in missing.items():
            file, line = self._place(name, place)
            names = ", ".join(map(plain_name, missing))
            raise SourceError(
                f"every function must be defined, but these are not: {names}",
                file=file,
                line=line,
                hint="name the sources that define them",
            )

    def _place(self, symbol: str, place: tuple[str, int] | None) -> tuple[str, int]:
        """Return where the program uses `symbol`: the linker's word, or the first mention."""
        if place is not None and self.is_users(strip_root(place[0])):
            return self.real_path(strip_root(place[0])), place[1]
        word = re.compile(rb"\b" + re.escape(plain_name(symbol).encode()) + rb"\b")
        for file in self.overlay.files:
            found = word.search(self.overlay.texts[file.overlay])
            if found:
                before = self.overlay.texts[file.overlay][: found.start()]
                return str(file.path), before.count(b"\n")
        return str(self.spec.program), 1


def plain_name(symbol: str) -> str:
    """Return the name of a function without scopes and parameters: `f` for `_ZN2ns1fEi`."""
    found = re.match(r"_ZN?K?", symbol)
    at = found.end() if found else len(symbol)
    name = symbol
    # In a mangled name each part follows its length.
    while length := re.match(r"\d+", symbol[at:]):
        start = at + length.end()
        at = start + int(length[0])
        name = symbol[start:at]
        if not symbol.startswith("_ZN"):
            break  # what follows are the parameters
    return name


def strip_root(name: str) -> str:
    """Return the name of a user's file from the path that debug information gives."""
    return name.removeprefix(USER_ROOT + "/")


def build(spec: BuildSpec, *, strict: bool = False) -> EmulatorBuild:
    """Build the program of `spec` and the runtime, or find both in the cache.

    Args:
        spec: program, further sources, include folders, macros and NCCL version.
        strict: compile the runtime with warnings as errors.

    Raises:
        BadInputError: the spec breaks a rule.
        SourceError: the program is missing, is not text, does not compile or has no `main`.
        NotEmulatedError: it uses what is not emulated.
        MissingToolError: there is no C++20 compiler.
        ToolFailedError: our own sources do not compile.
    """
    started = time.monotonic()
    builder = _Builder(spec)
    runtime = build_runtime(builder.compiler, strict=strict)
    folder, cached = cached_folder("programs", builder.key, builder.make)
    return EmulatorBuild(
        library=folder / "program.so",
        runtime=runtime,
        spec=spec,
        key=builder.key,
        files=builder.overlay.files,
        imports=frozenset(json.loads((folder / "imports.json").read_text())),
        cached=cached,
        seconds=time.monotonic() - started,
    )
