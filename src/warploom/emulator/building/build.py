"""Builds a program for the emulator: rewritten, compiled with access hooks, one shared object."""

import json
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from warploom.core.errors import SourceError, ToolFailedError
from warploom.core.ids import digest
from warploom.core.process import ProcessResult, Stop
from warploom.core.records import BuildSpec
from warploom.emulator.building.build_records import (
    CompilePass,
    EmulatorBuild,
    ImportNames,
    Unit,
)
from warploom.emulator.building.compiler_warnings import (
    Warned,
    sure_warnings,
    uses_unset,
    watching,
)
from warploom.emulator.building.definitions import replaced_names
from warploom.emulator.building.diagnostics import (
    NotEmulatedError,
    RefusedAssemblyError,
    compile_failure,
    farther,
)
from warploom.emulator.building.elf import dynamic_symbols
from warploom.emulator.building.guard_tool import (
    GuardedUnit,
    Refusal,
    build_guard,
    guard_identity,
    guard_unit,
)
from warploom.emulator.building.host_imports import unknown_imports, unseen_calls
from warploom.emulator.building.link import USER_ROOT, Linker, as_written, strip_root
from warploom.emulator.building.prefix import precompiled_prefix
from warploom.emulator.building.process_library import process_library_digest
from warploom.emulator.building.runtime_build import (
    build_runtime,
    folder_digest,
    in_parallel,
    run_compiler,
)
from warploom.emulator.building.unit_flags import (
    PASS_FLAGS,
    alignment_flags,
    device_flags,
    in_cpp,
    language_flags,
    own_macros,
    program_flags,
)
from warploom.emulator.building.unset_values import PATTERN, unit_flags, with_high_pattern
from warploom.emulator.rewriting.rewrite import SHIM_DIR, Overlay, UserFile, rewrite
from warploom.emulator.rewriting.shifts import has_plain_shifts
from warploom.emulator.rewriting.template_keyword import (
    PLACE_FLAGS,
    may_lack_keyword,
    with_keywords,
)
from warploom.toolchain.cache import cached_folder
from warploom.toolchain.compilers import find_compiler

_MACROS = "warploom-macros.h"  # in the folder of a build
_OVERLAY = re.compile(rb'#[ \t]*include[ \t]*"(u\d+_[^"\n]+)"')
_REGION = re.compile(
    rb"""(?:\#[ \t]*pragma|_Pragma[ \t]*\([ \t]*")[ \t]*omp\b[^\n]*\b(?:parallel|task|sections)\b"""
)


class _Builder:
    """One build: the overlay of a program, and how to compile it."""

    def __init__(
        self, spec: BuildSpec, *, strict: bool = False, overlay: Overlay | None = None
    ) -> None:
        self.spec = spec
        self.compiler = find_compiler()
        self.runtime = build_runtime(self.compiler, strict=strict)
        self.flags = program_flags(spec, self.compiler)
        self.overlay: Overlay = overlay or rewrite(spec)
        offered = dynamic_symbols(self.runtime).exports
        self.prefixes: dict[str, Path] = {}  # the header that each unit includes first
        self.warned: set[Warned] = set()
        self.filled = True
        self.macros = own_macros(spec)  # what it includes next defines them
        self.linker = Linker(self.compiler, spec.program, self.overlay, offered)
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
            "replaced names, unseen calls 2",  # what is kept of a build's symbols
            "what the compiler is sure of 2",
        ]
        self.key = digest(
            [
                *self.base,
                guard_identity(self.compiler),
                *(["whole price"] if self.spec.unread else []),
                *(part for u in self.units for p in u.passes for part in (u.overlay, *p)),
            ]
        )

    def _unit(self, overlay: str, source: Path, *, is_program: bool) -> Unit:
        whole = self._whole(overlay)
        language = language_flags(source, self.overlay.texts[overlay], whole, is_program=is_program)
        fill = unit_flags(whole, self.spec.filled, self.compiler)
        self.filled = self.filled and bool(fill)
        special = (*alignment_flags(whole), *fill)
        host = (*language, *self.flags, *special)
        if "-D__CUDACC__" not in language:
            return Unit(overlay, (host,), wants_prefix=False)
        host = (*host, *PASS_FLAGS)
        return Unit(overlay, (host, (*host, *device_flags(self.spec))), wants_prefix=True)

    def _whole(self, overlay: str) -> bytes:
        """Return the text of a unit and of the program's files that it includes."""
        todo, known = [overlay], {overlay}
        for name in todo:
            more = {found.decode() for found in _OVERLAY.findall(self.overlay.texts[name])} - known
            more &= self.overlay.texts.keys()
            todo += sorted(more)
            known |= more
        return b"\n".join(self.overlay.texts[name] for name in todo)

    def make(self, folder: Path) -> None:
        """Fill `folder` with the shared object and its symbols.

        Where files named `.c` do not do as C, they are tried as C++.
        """
        try:
            self._make(folder)
        except RefusedAssemblyError:  # it does as C
            raise
        except (SourceError, NotEmulatedError) as error:
            in_c = [in_cpp(unit.passes[0]) is not None for unit in self.units]
            if not any(in_c):
                raise
            self.units = tuple(
                replace(unit, passes=(in_cpp(unit.passes[0]) or unit.passes[0], *unit.passes[1:]))
                for unit in self.units
            )
            try:
                self._make(folder)
            except (SourceError, NotEmulatedError) as other:
                raise farther(error, other) from None

    def _make(self, folder: Path) -> None:
        with tempfile.TemporaryDirectory(prefix="warploom-build-") as name:
            work = Path(name)
            self._texts(self.overlay.texts, work)
            guarded = self._guarded(work)
            objects = [path for unit in guarded for path in unit.assembly]
            if len(guarded) > 1:  # the files of one unit are assembled as they are linked
                objects = in_parallel(
                    lambda path, cancel: self._assemble(path, work, cancel), objects
                )
            library = folder / "program.so"
            self.linker.link(objects, library, work)
            symbols = self._imports(library, guarded)
            calls = unseen_calls(symbols["imports"], self.linker.runtime)
            symbols["unseen"] = dict(self.linker.mentions(calls, objects, library, work))
            symbols["warned"] = sorted(self.warned)
        (folder / "imports.json").write_text(json.dumps(symbols))
        reports = ",".join(unit.report for unit in guarded)
        (folder / "guard.json").write_text(f"[{reports}]")

    def _imports(self, library: Path, guarded: Sequence[GuardedUnit]) -> ImportNames:
        """Say what the program takes from elsewhere, and what only the process library does."""
        everything = as_written(dynamic_symbols(library).imports)
        named = {name for unit in guarded for name in unit.names}
        imports = [name for name in everything if name in named]
        return {
            "imports": imports,
            "denied": [name for name in everything if name not in named],
            "replaced": replaced_names(
                [path for unit in guarded for path in unit.assembly],
                self.linker.runtime,
                self.compiler,
            ),
            "unseen": {},
            "warned": [],
        }

    def _guarded(self, work: Path) -> list[GuardedUnit]:
        """Return the assembly of all units, judged and with its passes joined."""
        for unit in self.units:
            if unit.wants_prefix and unit.overlay not in self.prefixes:
                headers = self._early_headers()
                self.prefixes[unit.overlay] = precompiled_prefix(
                    self.compiler, unit.passes[0], headers, self.shims
                )
        self._compile_all(work)
        if self.spec.timed:
            for path in work.glob("unit*.s"):
                path.write_bytes(with_high_pattern(path.read_bytes()))
        guard = build_guard(self.compiler)

        def judge(number: int, cancel: threading.Event) -> GuardedUnit:
            host, device = (work / f"unit{number}.{kind}.s" for kind in ("host", "device"))
            both = len(self.units[number].passes) == 2
            second = device if both else None
            timed, whole = self.spec.timed, self.spec.unread
            return guard_unit(
                guard, f"u{number}", host, second, SHIM_DIR, cancel, counted=timed, whole=whole
            )

        guarded = in_parallel(judge, range(len(self.units)))
        for unit in guarded:
            for refusal in unit.refused:
                self._refuse(refusal)
        return guarded

    def _early_headers(self) -> Sequence[str]:
        """Return what may be read before the program's own macros."""
        headers = self.overlay.headers
        if any(b"SKIP_MPICXX" in text for text in self.overlay.texts.values()):
            return [name for name in headers if name != "mpi.h"]
        return headers

    def _compile_all(self, work: Path) -> None:
        """Write the assembly of all passes of all units."""
        units = [
            [
                CompilePass(unit, flags, f"unit{number}.{kind}.s")
                for kind, flags in zip(("host", "device"), unit.passes, strict=False)
            ]
            for number, unit in enumerate(self.units)
        ]
        todo = [one for passes in units for one in passes]
        # Our headers for clang differ by pass, and so do flags that stop shifts by too much.
        alike = self.compiler.family == "gcc" and not any(
            has_plain_shifts(text) for text in self.overlay.texts.values()
        )
        if alike:
            both = [passes for passes in units if len(passes) > 1]
            once = in_parallel(
                lambda passes, cancel: self._compile_once(passes, work, cancel),
                [passes for passes in both if self._same_text(passes, work)],
            )
            done = {one.target for passes in once for one in passes}
            todo = [one for one in todo if one.target not in done]
        in_parallel(lambda one, cancel: self._compile(one, work, cancel), todo)

    def _same_text(self, passes: list[CompilePass], work: Path) -> bool:
        """Preprocess a unit in each of its passes; return whether they read the same."""
        results = in_parallel(
            lambda one, cancel: self._run_compiler(one, work, cancel, preprocess=True), passes
        )
        return (
            all(result.ok for result in results)
            and len({one.text_read(work) for one in passes}) == 1
        )

    def _compile_once(
        self, passes: list[CompilePass], work: Path, cancel: threading.Event
    ) -> list[CompilePass]:
        """Compile passes that read the same text once; return them, or none if that fails.

        It is the text that was compared which is compiled: there is nothing left in it that could
        depend on a macro. Where it fails, the passes are compiled for their messages.
        """
        first, *others = passes
        result = self._run_watching(first, work, cancel, preprocessed=True)
        if result.stopped:  # it would be stopped again
            self._check(result, work)
        if not result.ok:
            return []
        for other in others:
            shutil.copyfile(work / first.target, work / other.target)
        return passes

    def _refuse(self, refusal: Refusal) -> None:
        """Raise for something that the assembler must not read."""
        name = strip_root(refusal["file"])
        users = self.linker.is_users(name)
        raise RefusedAssemblyError(
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

    def _compile(self, one: CompilePass, work: Path, cancel: threading.Event) -> None:
        result = self._run_watching(one, work, cancel)
        if not result.ok and may_lack_keyword(result.log):
            log = result.log
            if self.compiler.family == "gcc":  # clang has said where
                flags = (*(flag for flag in one.flags if flag != "-w"), *PLACE_FLAGS)
                log = self._run_compiler(replace(one, flags=flags), work, cancel).log
            texts = with_keywords(log, self.overlay)
            if texts != self.overlay.texts:
                # A folder of its own: other units may be reading `work`.
                target = work / one.target
                work = Path(tempfile.mkdtemp(dir=work))
                self._texts(texts, work)
                result = self._run_compiler(replace(one, target=str(target)), work, cancel)
        self._check(result, work)

    def _without_macros(self, flags: tuple[str, ...]) -> tuple[str, ...]:
        """Return the flags without those of macros that have a header of their own."""
        defined = {f"-D{n}={v}" if v else f"-D{n}" for n, v in self.macros.items()}
        return tuple(flag for flag in flags if flag not in defined)

    def _texts(self, texts: Mapping[str, bytes], work: Path) -> None:
        """Write what the compiler reads: overlays, and the program's own macros."""
        for overlay, text in texts.items():
            (work / overlay).write_bytes(text)
        lines = [f"#define {name} {value or 1}\n" for name, value in self.macros.items()]
        (work / _MACROS).write_text("".join(lines))

    def _run_watching(
        self, one: CompilePass, work: Path, cancel: threading.Event, *, preprocessed: bool = False
    ) -> ProcessResult:
        """Compile a pass: with a pattern in what nobody sets, where the compiler sees its use."""
        watched = replace(one, flags=watching(one.flags, self.compiler))
        result = self._run_compiler(watched, work, cancel, preprocessed=preprocessed)
        if result.ok:
            found = sure_warnings(result.log)
            self.warned |= {one for one in found if self.linker.is_users(one.file)}
            if self.filled or not uses_unset(result.log):
                return result
            one = replace(one, flags=(*one.flags, PATTERN))
        elif watched == one:
            return result
        return self._run_compiler(one, work, cancel, preprocessed=preprocessed)

    def _run_compiler(
        self,
        one: CompilePass,
        work: Path,
        cancel: threading.Event,
        *,
        preprocess: bool = False,
        preprocessed: bool = False,
    ) -> ProcessResult:
        """Compile a pass; or only `preprocess` its text; or compile what that wrote."""
        prefix: list[str | Path] = []
        readable: list[Path] = []
        flags = one.flags
        if one.unit.wants_prefix:
            header = self.prefixes[one.unit.overlay]
            # Preprocessed text names the precompiled header, and has no macros left.
            prefix = [] if preprocessed else ["-include", header, "-include", _MACROS]
            readable = [header.parent]
            flags = self._without_macros(flags)
        source = ["-S", one.unit.overlay, "-o", work / one.target]
        if preprocess:
            source = ["-E", "-fpch-preprocess", one.unit.overlay, "-o", work / one.preprocessed]
        if preprocessed:
            source = ["-S", "-fpreprocessed", work / one.preprocessed, "-o", work / one.target]
        return run_compiler(
            self.compiler,
            [
                *flags, f"-I{SHIM_DIR}", f"-fdebug-prefix-map={work}={USER_ROOT}",
                *prefix, *source,
            ],
            work,
            cancel,
            readable,
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


def build(
    spec: BuildSpec, *, strict: bool = False, overlay: Overlay | None = None
) -> EmulatorBuild:
    """Build the program of `spec` and the runtime, or find both in the cache.

    Args:
        spec: program, further sources, include folders, macros and NCCL version.
        strict: compile the runtime with warnings as errors.
        overlay: what an earlier build of the same text read, to not rewrite it again.

    Raises:
        BadInputError: the spec breaks a rule.
        SourceError: the program is missing, is not text, does not compile or has no `main`.
        NotEmulatedError: it uses what is not emulated.
        MissingToolError: there is no C++20 compiler.
        ToolFailedError: our own sources do not compile.
    """
    started = time.monotonic()
    try:
        builder = _Builder(spec, strict=strict, overlay=overlay)
    except RecursionError:
        raise SourceError(
            "expressions and statements must lie in each other less deeply than these",
            file=str(spec.program),
        ) from None
    folder, cached = cached_folder("programs", builder.key, builder.make)
    known = cast("ImportNames", json.loads((folder / "imports.json").read_text()))
    return EmulatorBuild(
        library=folder / "program.so",
        runtime=builder.runtime,
        spec=spec,
        key=builder.key,
        files=builder.overlay.files,
        imports=frozenset(known["imports"]),
        denied=frozenset(known["denied"]),
        replaced=frozenset(known["replaced"]),
        unseen={
            name: at and (builder.linker.real_path(at[0]), at[1])
            for name, at in known["unseen"].items()
        },
        filled=builder.filled,
        overlay=builder.overlay,
        warned=tuple(
            Warned(kind, message, builder.linker.real_path(file), line)
            for kind, message, file, line in known["warned"]
        ),
        library_objects=bool(unknown_imports(known["imports"], builder.linker.runtime)),
        regions_in_turn=_has_parallel_regions(builder.overlay.files),
        guard=(folder / "guard.json").read_text(),
        cached=cached,
        seconds=time.monotonic() - started,
    )


def _has_parallel_regions(files: Sequence[UserFile]) -> bool:
    """Whether the text has regions of OpenMP."""
    return any(_REGION.search(file.path.read_bytes()) for file in files if file.path.is_file())
