"""Links a program's objects, and says what they lack: by name, where the program uses it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from warploom.core.errors import SourceError
from warploom.core.process import ProcessResult
from warploom.emulator.building.device_calls import called_from_device
from warploom.emulator.building.diagnostics import ApiUse, NotEmulatedError, undefined_symbols
from warploom.emulator.building.elf import dynamic_symbols
from warploom.emulator.building.process_library import process_objects
from warploom.emulator.building.relocations import Mention, find_mentions
from warploom.emulator.building.runtime_build import run_compiler
from warploom.emulator.rewriting.rewrite import Overlay
from warploom.emulator.rewriting.unsupported import is_api_name
from warploom.toolchain.compilers import Compiler

USER_ROOT = "/wl-user"
"""The folder that debug information gives for the program's own folder."""

# What no kernel reaches goes: device code that the host pass has, too, as host code.
_KEEP_REACHED = ("-Wl,--gc-sections",)
_LINK_OPTIONS = ("-Wl,-z,lazy", "-Wl,--no-demangle")
# They name each use of each function of the runtime: megabytes in a large program.
_NAME_UNDEFINED = ("-Wl,-z,defs", "-Wl,--warn-unresolved-symbols")
_WRAP = "__wrap_"  # before a name that the linker gave another meaning


def as_written(imports: frozenset[str]) -> list[str]:
    """Return the names as the program has them, not as the linker does."""
    return sorted({name.removeprefix(_WRAP) for name in imports})


@dataclass(frozen=True, slots=True)
class Linker:
    """Links one program: its compiler, its file, its text, and the names that the runtime has."""

    compiler: Compiler
    program: Path
    overlay: Overlay
    runtime: frozenset[str]

    @property
    def wrapped(self) -> tuple[str, ...]:
        """The options by which the program's calls go to what the runtime has for them.

        That is the device's heap (device_heap.cpp), and what looks at the arguments of the C
        library's functions (libc_*.cpp).
        """
        names = (name.removeprefix(_WRAP) for name in self.runtime if name.startswith(_WRAP))
        return tuple(f"-Wl,--wrap={name}" for name in sorted(names))

    def is_users(self, name: str) -> bool:
        """Whether a compiler's message is about a file of the user's."""
        return self.overlay.file_named(name) is not None

    def real_path(self, name: str) -> str:
        """Return where the file that messages call `name` lies."""
        file = self.overlay.file_named(name)
        return str(file.path) if file else name

    def link(self, objects: Sequence[Path], library: Path, work: Path) -> None:
        """Make `library` of `objects`; `work` is a folder for what else is written.

        Raises:
            NotEmulatedError: the program uses what is not emulated.
            SourceError: something is not defined, or device code uses what a GPU has not.
        """
        # The linker of zig takes few options; what is missing is read from its output instead.
        options = _KEEP_REACHED
        if not self.compiler.is_zig:
            options = (*options, *_LINK_OPTIONS, *self.wrapped)
        result = self._run_linker(objects, library, work, options)
        undefined = dict(undefined_symbols(result.log))
        if result.ok:
            found = dynamic_symbols(library).unresolved
            undefined = {name: undefined.get(name) for name in sorted(found | undefined.keys())}
        if "main" in undefined:
            raise SourceError(
                "a program must have a function main, but there is none",
                file=str(self.program),
                hint="name the file that has main first; its other files are further sources",
            )
        missing = {name: place for name, place in undefined.items() if name not in self.runtime}
        if missing and result.ok and not self.compiler.is_zig:
            again = self._run_linker(objects, work / "again.so", work, (*options, *_NAME_UNDEFINED))
            places = dict(undefined_symbols(again.log))
            missing = {name: places.get(name) for name in missing}
        self._check_device_calls(missing, objects, work, options)
        self._check_symbols(missing)
        if not result.ok:
            raise SourceError(
                f"the program must link, but:\n{result.log.strip()}", file=str(self.program)
            )

    def _run_linker(
        self, objects: Sequence[Path], library: Path, work: Path, options: Sequence[str]
    ) -> ProcessResult:
        return run_compiler(
            self.compiler,
            [
                "-shared",
                *process_objects(self.compiler),
                *objects,
                "-o",
                library,
                "-Wl,-Bsymbolic",
                *options,
            ],
            work,
        )  # fmt: skip

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

    def _check_device_calls(
        self,
        missing: Mapping[str, tuple[str, int] | None],
        objects: Sequence[Path],
        work: Path,
        options: Sequence[str],
    ) -> None:
        """Raise for a function or variable that device code needs and the device has not."""
        names = {name: plain for name in missing if (plain := called_from_device(name))}
        if not names:
            return
        mentions: Mapping[str, Mention] = {}
        if not self.compiler.is_zig:
            again = work / "relocations.so"
            self._run_linker(objects, again, work, (*options, "-Wl,--emit-relocs"))
            mentions = find_mentions(again, names, lambda name: self.is_users(strip_root(name)))
        for name, plain in names.items():
            called, file, line = plain_name(plain), *self._place(plain, missing[name])
            if (mention := mentions.get(name)) is not None:
                called = mention.name or called
                file, line = self.real_path(strip_root(mention.file)), mention.line
            raise SourceError(
                f"device code may use what a GPU has, but {called} is not there",
                file=file,
                line=line,
                hint="a kernel reaches this line: move it to the host, or do without",
            )

    def mentions(
        self, names: Iterable[str], objects: Sequence[Path], library: Path, work: Path
    ) -> Mapping[str, tuple[str, int] | None]:
        """Return where each of `names` is used first, None where that is not known.

        Files have the names of the overlay: `real_path` says where they lie.
        """
        wanted = list(names)
        if not wanted or self.compiler.is_zig:
            return dict.fromkeys(wanted)
        options = (*_KEEP_REACHED, *_LINK_OPTIONS, *self.wrapped, "-Wl,--emit-relocs")
        again = work / "mentions.so"
        self._run_linker(objects, again, work, options)
        symbols = dynamic_symbols(library).imports
        linked = {name: _WRAP + name if _WRAP + name in symbols else name for name in wanted}
        found = find_mentions(again, linked.values(), lambda n: self.is_users(strip_root(n)))
        return {
            name: (strip_root(mention.file), mention.line)
            if (mention := found.get(symbol))
            else None
            for name, symbol in linked.items()
        }

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
        return str(self.program), 1


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
