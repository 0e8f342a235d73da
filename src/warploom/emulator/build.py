"""Builds a program for the emulator: rewritten, compiled with access hooks, one shared object."""

import json
import re
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from warploom.core.errors import SourceError, ToolFailedError
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
from warploom.emulator.unit_flags import language_flags, program_flags
from warploom.emulator.unsupported import is_api_name
from warploom.toolchain.cache import cached_folder
from warploom.toolchain.compilers import find_compiler

USER_ROOT = "/wl-user"
"""The folder that debug information gives for the program's own folder."""

# The runtime enters here.
_ENTRY = """\
extern "C" int wl_user_main(int, char**, char**) __asm__("main");
extern "C" __attribute__((weak)) void warploom_loaded(const void*);
// Before the program's own constructors.
static void wl_loaded() {
  if (warploom_loaded) warploom_loaded(reinterpret_cast<const void*>(&wl_loaded));
}
__attribute__((section(".init_array.00000"), used)) static void (*wl_first)() = wl_loaded;
extern "C" int warploom_main(int argc, char** argv) {
  static char* environment[] = {nullptr};
  return wl_user_main(argc, argv, environment);
}
"""
_LINK_OPTIONS = ("-Wl,-z,lazy", "-Wl,--no-demangle")
# They name each use of each function of the runtime: megabytes in a large program.
_NAME_UNDEFINED = ("-Wl,-z,defs", "-Wl,--warn-unresolved-symbols")


_WRAP = "__wrap_"  # before a name that the linker gave another meaning


def wrapped(runtime: Path) -> tuple[str, ...]:
    """Return the linker's options by which the program's calls go to what `runtime` has for them.

    That is the device's heap (device_heap.cpp), and what looks at the arguments of the C library's
    functions (libc_*.cpp).
    """
    names = sorted(dynamic_symbols(runtime).exports)
    return tuple(f"-Wl,--wrap={n.removeprefix(_WRAP)}" for n in names if n.startswith(_WRAP))


def _as_written(imports: frozenset[str]) -> list[str]:
    """Return the names as the program has them, not as the linker does."""
    return sorted({name.removeprefix(_WRAP) for name in imports})


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
        self.flags = program_flags(spec, self.compiler)
        self.wrapped = wrapped(build_runtime(self.compiler))
        self.overlay: Overlay = rewrite(spec)
        self.shims = folder_digest(SHIM_DIR)
        sources = (spec.program, *spec.sources)
        self.units = tuple(
            self._unit(overlay, source, is_program=at == 0)
            for at, (overlay, source) in enumerate(zip(self.overlay.units, sources, strict=True))
        )
        texts = [part for item in sorted(self.overlay.texts.items()) for part in item]
        self.base = [self.compiler.identity, self.shims, *self.flags, _ENTRY, *texts, *self.wrapped]
        self.key = digest([*self.base, *(p for u in self.units for p in (u.overlay, *u.flags))])

    def _unit(self, overlay: str, source: Path, *, is_program: bool) -> _Unit:
        language = language_flags(source, self.overlay.texts[overlay], is_program=is_program)
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
        (folder / "imports.json").write_text(json.dumps(_as_written(symbols.imports)))

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
            texts = with_keywords(log, self.overlay)
            if texts != self.overlay.texts:
                # A folder of its own: other units may be reading `work`.
                work = Path(tempfile.mkdtemp(dir=work))
                for overlay, text in texts.items():
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
        options = () if self.compiler.is_zig else (*_LINK_OPTIONS, *self.wrapped)
        result = self._run_linker(objects, library, work, options)
        undefined = dict(undefined_symbols(result.log))
        if result.ok:
            found = dynamic_symbols(library).unresolved
            undefined = {name: undefined.get(name) for name in sorted(found | undefined.keys())}
        if "main" in undefined:
            raise SourceError(
                "a program must have a function main, but there is none",
                file=str(self.spec.program),
                hint="name the file that has main first; its other files are further sources",
            )
        exports = dynamic_symbols(build_runtime(self.compiler)).exports
        missing = {name: place for name, place in undefined.items() if name not in exports}
        if missing and result.ok and not self.compiler.is_zig:
            again = self._run_linker(objects, work / "again.so", work, (*options, *_NAME_UNDEFINED))
            places = dict(undefined_symbols(again.log))
            missing = {name: places.get(name) for name in missing}
        self._check_symbols(missing)
        if not result.ok:
            raise SourceError(
                f"the program must link, but:\n{result.log.strip()}", file=str(self.spec.program)
            )

    def _run_linker(
        self, objects: Sequence[Path], library: Path, work: Path, options: Sequence[str]
    ) -> ProcessResult:
        return run_compiler(
            self.compiler,
            ["-shared", self._entry(), *objects, "-o", library, "-Wl,-Bsymbolic", *options],
            work,
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
