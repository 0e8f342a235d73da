"""Builds a program for the emulator: rewritten, compiled with access hooks, one shared object."""

import json
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict, cast

from warploom.core.errors import SourceError, ToolFailedError
from warploom.core.ids import digest
from warploom.core.process import ProcessResult, Stop
from warploom.core.records import BuildSpec
from warploom.emulator.diagnostics import (
    compile_failure,
)
from warploom.emulator.elf import dynamic_symbols
from warploom.emulator.guard_tool import (
    GuardedUnit,
    Refusal,
    build_guard,
    guard_identity,
    guard_unit,
)
from warploom.emulator.host_imports import unknown_imports
from warploom.emulator.link import USER_ROOT, Linker, as_written, strip_root
from warploom.emulator.prefix import precompiled_prefix
from warploom.emulator.process_library import process_library_digest
from warploom.emulator.rewrite import SHIM_DIR, Overlay, UserFile, file_named, rewrite
from warploom.emulator.runtime_build import build_runtime, folder_digest, in_parallel, run_compiler
from warploom.emulator.template_keyword import PLACE_FLAGS, may_lack_keyword, with_keywords
from warploom.emulator.unit_flags import device_flags, language_flags, program_flags
from warploom.toolchain.cache import cached_folder
from warploom.toolchain.compilers import find_compiler


class _Imports(TypedDict):
    imports: list[str]
    denied: list[str]


@dataclass(frozen=True, slots=True)
class EmulatorBuild:
    """A program ready to run: `library` for `runtime`, both in the cache.

    `key` names the content of the build, `files` are the user's files in it, `imports` the symbols
    that its text takes from the runtime and the libraries, and `denied` those that the process
    library alone takes: the program may not go there by a pointer. `library_objects`: whether it
    may have objects of library classes that call through tables of theirs. `guard` is what the
    guard says of each unit, as it wrote it: JSON. `seconds` is what this call took.
    """

    library: Path
    runtime: Path
    spec: BuildSpec
    key: str
    files: tuple[UserFile, ...]
    imports: frozenset[str]
    cached: bool
    seconds: float
    guard: str = "[]"
    denied: frozenset[str] = frozenset()
    library_objects: bool = False

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
    """One file to compile, with everything its objects depend on.

    `passes` are the flags of the host pass and, if it is CUDA, of the device pass.
    """

    overlay: str
    passes: tuple[tuple[str, ...], ...]
    wants_prefix: bool


@dataclass(frozen=True, slots=True)
class _Pass:
    """One reading of a unit by the compiler, into `target`."""

    unit: _Unit
    flags: tuple[str, ...]
    target: str


class _Builder:
    """One build: the overlay of a program, and how to compile it."""

    def __init__(self, spec: BuildSpec) -> None:
        self.spec = spec
        self.compiler = find_compiler()
        self.flags = program_flags(spec, self.compiler)
        self.overlay: Overlay = rewrite(spec)
        runtime = dynamic_symbols(build_runtime(self.compiler)).exports
        self.linker = Linker(self.compiler, spec.program, self.overlay, runtime)
        self.shims = folder_digest(SHIM_DIR)
        sources = (spec.program, *spec.sources)
        self.units = tuple(
            self._unit(overlay, source, is_program=at == 0)
            for at, (overlay, source) in enumerate(zip(self.overlay.units, sources, strict=True))
        )
        texts = [part for item in sorted(self.overlay.texts.items()) for part in item]
        self.base = [
            self.compiler.identity,
            self.shims,
            process_library_digest(),
            *self.flags,
            *texts,
            *self.linker.wrapped,
        ]
        self.key = digest(
            [
                *self.base,
                guard_identity(self.compiler),
                *(part for u in self.units for p in u.passes for part in (u.overlay, *p)),
            ]
        )

    def _unit(self, overlay: str, source: Path, *, is_program: bool) -> _Unit:
        language = language_flags(source, self.overlay.texts[overlay], is_program=is_program)
        host = (*language, *self.flags)
        if "-D__CUDACC__" not in language:
            return _Unit(overlay, (host,), wants_prefix=False)
        return _Unit(overlay, (host, (*host, *device_flags(self.spec))), wants_prefix=True)

    def make(self, folder: Path) -> None:
        """Fill `folder` with the shared object and its symbols."""
        with tempfile.TemporaryDirectory(prefix="warploom-build-") as name:
            work = Path(name)
            for overlay, text in self.overlay.texts.items():
                (work / overlay).write_bytes(text)
            guarded = self._guarded(work)
            objects = [path for unit in guarded for path in unit.assembly]
            if len(guarded) > 1:  # the files of one unit are assembled as they are linked
                objects = in_parallel(
                    lambda path, cancel: self._assemble(path, work, cancel), objects
                )
            library = folder / "program.so"
            self.linker.link(objects, library, work)
        (folder / "imports.json").write_text(json.dumps(self._imports(library, guarded)))
        reports = ",".join(unit.report for unit in guarded)
        (folder / "guard.json").write_text(f"[{reports}]")

    def _imports(self, library: Path, guarded: Sequence[GuardedUnit]) -> _Imports:
        """Say what the program takes from elsewhere, and what only the process library does."""
        everything = as_written(dynamic_symbols(library).imports)
        named = {name for unit in guarded for name in unit.names}
        imports = [name for name in everything if name in named]
        return {
            "imports": imports,
            "denied": [name for name in everything if name not in named],
        }

    def _guarded(self, work: Path) -> list[GuardedUnit]:
        """Return the assembly of all units, judged and with its passes joined."""
        passes = [
            _Pass(unit, flags, f"unit{number}.{kind}.s")
            for number, unit in enumerate(self.units)
            for kind, flags in zip(("host", "device"), unit.passes, strict=False)
        ]
        in_parallel(lambda one, cancel: self._compile(one, work, cancel), passes)
        guard = build_guard(self.compiler)

        def judge(number: int, cancel: threading.Event) -> GuardedUnit:
            host, device = (work / f"unit{number}.{kind}.s" for kind in ("host", "device"))
            both = len(self.units[number].passes) == 2
            return guard_unit(guard, f"u{number}", host, device if both else None, SHIM_DIR, cancel)

        guarded = in_parallel(judge, range(len(self.units)))
        for unit in guarded:
            for refusal in unit.refused:
                self._refuse(refusal)
        return guarded

    def _refuse(self, refusal: Refusal) -> None:
        """Raise for something that the assembler must not read."""
        name = strip_root(refusal["file"])
        users = self.linker.is_users(name)
        raise SourceError(
            f"{refusal['reason']}: {refusal['text']}",
            file=self.linker.real_path(name) if users else str(self.spec.program),
            line=refusal["line"] if users else None,
        )

    def _assemble(self, path: Path, work: Path, cancel: threading.Event) -> Path:
        target = path.with_suffix(".o")
        result = run_compiler(self.compiler, ["-c", path.name, "-o", target.name], work, cancel)
        if not result.ok:
            raise ToolFailedError(
                f"what the guard writes must assemble, but:\n{result.log[-4000:]}"
            )
        return target

    def _compile(self, one: _Pass, work: Path, cancel: threading.Event) -> None:
        target = work / one.target
        result = self._run_compiler(one.unit, one.flags, work, target, cancel)
        if not result.ok and may_lack_keyword(result.log):
            log = result.log
            if self.compiler.family == "gcc":  # clang has said where
                flags = (*(flag for flag in one.flags if flag != "-w"), *PLACE_FLAGS)
                log = self._run_compiler(one.unit, flags, work, target, cancel).log
            texts = with_keywords(log, self.overlay)
            if texts != self.overlay.texts:
                # A folder of its own: other units may be reading `work`.
                work = Path(tempfile.mkdtemp(dir=work))
                for overlay, text in texts.items():
                    (work / overlay).write_bytes(text)
                result = self._run_compiler(one.unit, one.flags, work, target, cancel)
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
            header = precompiled_prefix(self.compiler, flags, self.overlay.headers, self.shims)
            prefix = ["-include", str(header)]
        return run_compiler(
            self.compiler,
            [
                *flags, f"-I{SHIM_DIR}", f"-fdebug-prefix-map={work}={USER_ROOT}",
                *prefix, "-S", unit.overlay, "-o", target,
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
            raise compile_failure(log, self.linker.is_users, self.linker.real_path)


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
    known = cast("_Imports", json.loads((folder / "imports.json").read_text()))
    return EmulatorBuild(
        library=folder / "program.so",
        runtime=runtime,
        spec=spec,
        key=builder.key,
        files=builder.overlay.files,
        imports=frozenset(known["imports"]),
        denied=frozenset(known["denied"]),
        library_objects=bool(unknown_imports(known["imports"], builder.linker.runtime)),
        guard=(folder / "guard.json").read_text(),
        cached=cached,
        seconds=time.monotonic() - started,
    )
