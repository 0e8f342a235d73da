"""Builds the runtime executable `warploom-emu`, once for its content and the compiler."""

import functools
import os
import re
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from warploom.core.errors import MissingToolError, ToolFailedError
from warploom.core.ids import digest
from warploom.core.process import ProcessResult
from warploom.core.records import Limits
from warploom.emulator.building.elf import defined_symbols
from warploom.emulator.rewriting.rewrite import SHIM_DIR
from warploom.toolchain.cache import cache_root, cached_folder
from warploom.toolchain.compilers import (
    Compiler,
    compiler_environment,
    compiler_folders,
    compiler_state,
    find_compiler,
    library_folder,
)
from warploom.toolchain.folders import names_in
from warploom.toolchain.sandbox import run_sandboxed

RUNTIME_DIR = Path(__file__).parents[1] / "runtime"
"""The sources of the runtime: a folder is compiled as one unit."""

PROCESS_DIR = Path(__file__).parents[1] / "process"
"""The sources of the objects that are linked into each program: see process_library.py."""

_CACHE = "runtime"
_LIBRARY_NOTE = "library-folder"

COMPILE_LIMITS = Limits(seconds=600.0, memory_mb=8192, output_mb=16)
Item = TypeVar("Item")
Result = TypeVar("Result")
_INCLUDE = re.compile(rb'^#[ \t]*include[ \t]*[<"]([^>"\n]+)', re.MULTILINE)
# Records of the history are two words each: as vectors they would go through memory.
_FLAGS = (
    "-std=c++20", "-O2", "-fno-tree-slp-vectorize", "-g1", "-fno-omit-frame-pointer", "-Wall",
    "-Wextra",
    # Ubuntu turns this on: calls whose behavior differs, of which an emulated process may not die.
    "-U_FORTIFY_SOURCE",
)  # fmt: skip
_HARDENED = ("-Wl,-z,relro", "-Wl,-z,now", "-Wl,-z,noexecstack")
_ALWAYS = ("warploom_loaded",)  # called from the entry of every program: see build.py
_GUARDS = "warploom_guard_"  # called from what the guard puts into every program
_NO_STATIC_LIBRARY = re.compile(r"(?:cannot find|unable to find library) -lstdc\+\+")
_WORD = re.compile(r"\w+")
_NO_NAME = re.compile(r"//[^\n]*|^#[ \t]*include[^\n]*", re.MULTILINE)
_MANGLED = re.compile(r"_ZN?[rVK]*")
_LENGTH = re.compile(r"\d+")
_AGAIN = re.compile(r"S[0-9A-Z]*_")
_OF_LIBRARY = re.compile(r"S[tabsiod]|[CD]\d(?=E)")
# Of the C++ library, and tables of classes.
_LIBRARY_NAME = re.compile(r"_Z(T|G|N?[rVK]*(S[a-z]|9__gnu_cxx|10__cxxabiv1)|[a-z])")


def folder_digest(*folders: Path) -> str:
    """Return a digest of the names and contents of all files below `folders`."""
    return _digest_of(tuple((str(folder), _states(str(folder))) for folder in folders))


State = tuple[str, int, int, int]


def _states(folder: str) -> tuple[State, ...]:
    """Return the files below `folder` by name, each with what changes when its content does."""
    found: list[State] = []
    for place, _, names in os.walk(folder):
        for name in names:
            path = f"{place}/{name}"
            info = os.stat(path)  # noqa: PTH116 - hundreds of files, in every command
            found.append((path[len(folder) + 1 :], info.st_size, info.st_ino, info.st_ctime_ns))
    return tuple(sorted(found))


@functools.lru_cache(maxsize=64)
def _digest_of(folders: tuple[tuple[str, tuple[State, ...]], ...]) -> str:
    parts: list[str | bytes] = []
    for folder, files in folders:
        for name, *_ in files:
            parts += [name, Path(folder, name).read_bytes()]
    return digest(parts)


def jobs() -> int:
    """Return how many compilers to run at a time."""
    return max(1, min(8, len(os.sched_getaffinity(0))))


def run_compiler(
    compiler: Compiler,
    arguments: Sequence[str | Path],
    folder: Path,
    cancel: threading.Event | None = None,
    readable: Sequence[Path] = (),
) -> ProcessResult:
    """Run the compiler in `folder`, confined; its log has plain quotes and no colors.

    It can read the system's programs and headers, `folder`, what its arguments name (`-I`, files)
    and `readable`; it can write to `folder` and to the folder of what `-o` names. A program's text
    can name any file, so that nothing else of the user's may be there.
    """
    command = [str(part) for part in (*compiler.command, *arguments)]
    read, write = names_in(command)
    return run_sandboxed(
        command,
        limits=COMPILE_LIMITS,
        readable=(*compiler_folders(compiler), *read, *readable),
        writable=(*compiler_state(compiler), *write),
        folder=folder,
        environment=compiler_environment(),
        cancel=cancel,
        data_mb=COMPILE_LIMITS.memory_mb,
    ).process


def in_parallel(
    work: Callable[[Item, threading.Event], Result], items: Sequence[Item]
) -> list[Result]:
    """Return `work(item, cancel)` of each item, in order; the first failure or Ctrl-C ends all."""
    cancel = threading.Event()
    with ThreadPoolExecutor(jobs()) as pool:
        waiting = [pool.submit(work, item, cancel) for item in items]
        try:
            return [future.result() for future in waiting]
        except BaseException:
            cancel.set()
            for future in waiting:
                future.cancel()
            raise


def _headers_of(*sources: Path) -> list[Path]:
    """Return our headers that `sources` include, directly or not, in a fixed order."""
    found: dict[Path, None] = {}
    pending = [*sources]
    while pending:
        path = pending.pop()
        for match in _INCLUDE.finditer(path.read_bytes()):
            name = os.fsdecode(match[1])
            for folder in (path.parent, SHIM_DIR, RUNTIME_DIR):
                header = Path(os.path.normpath(folder / name))
                if header.is_file():
                    if header not in found:
                        found[header] = None
                        pending.append(header)
                    break
    return sorted(found)


def units(sources: Sequence[Path]) -> dict[str, list[Path]]:
    """Return what is compiled together, by the name of its folder.

    Most of a compile goes into the headers that the sources of a folder share. They share their
    anonymous namespaces too: two equal names fail in the build of whoever writes the second.
    """
    found: dict[str, list[Path]] = {}
    for source in sorted(sources):
        found.setdefault(source.parent.name, []).append(source)
    return found


def _compile(
    compiler: Compiler,
    sources: Sequence[Path],
    flags: Sequence[str],
    cancel: threading.Event,
) -> Path:
    """Return the object of one unit of several sources, from the cache or made now."""

    def make(folder: Path) -> None:
        unit = folder / "unit.cpp"
        unit.write_text("".join(f'#include "{source}"\n' for source in sources))
        includes = [f"-I{SHIM_DIR}", f"-I{RUNTIME_DIR}"]
        result = run_compiler(
            compiler, [*flags, *includes, "-c", unit, "-o", folder / "unit.o"], folder, cancel
        )
        if not result.ok:
            names = ", ".join(source.name for source in sources)
            raise ToolFailedError(
                f"the emulator's runtime must compile, but {compiler.name} fails on one of "
                f"{names}:\n{result.log[-6000:]}",
                hint=f"this compiler is {compiler.identity}; name another one in WARPLOOM_CXX",
            )

    parts = [part for path in (*sources, *_headers_of(*sources)) for part in _named(path)]
    key = digest([compiler.identity, *flags, *parts])
    return cached_folder("objects", key, make)[0] / "unit.o"


def build_runtime(compiler: Compiler, *, strict: bool = False) -> Path:
    """Return the path of `warploom-emu`, building it where it is not cached.

    With `WARPLOOM_RUNTIME_CHECKS` set it checks its own invariants as it runs (base/check.h).

    Args:
        compiler: also the compiler of every program that it will load.
        strict: warnings are errors: for our own tests, not for a user's newer compiler.

    Raises:
        ToolFailedError: it does not compile or link.
    """
    flags = _runtime_flags(strict=strict)
    sources = sorted(RUNTIME_DIR.rglob("*.cpp"))
    if not sources:
        raise ToolFailedError(f"the emulator's runtime must lie in {RUNTIME_DIR}, but is not there")

    def make(folder: Path) -> None:
        together = sorted(units(sources).values(), key=len, reverse=True)  # long compiles first
        objects = in_parallel(
            lambda unit, cancel: _compile(compiler, unit, flags, cancel), together
        )
        _link(compiler, objects, folder)
        found = library_folder(compiler)
        (folder / _LIBRARY_NOTE).write_text("" if found is None else str(found))

    return cached_folder(_CACHE, _runtime_key(compiler, flags), make)[0] / "warploom-emu"


def is_emulator_built() -> bool:
    """Whether `build_runtime` has been here before; also where there is no compiler to do it."""
    try:
        key = _runtime_key(find_compiler(), _runtime_flags())
    except MissingToolError:
        return True
    return (cache_root() / _CACHE / key).is_dir()


def _runtime_flags(*, strict: bool = False) -> tuple[str, ...]:
    checks = ("-DWARPLOOM_RUNTIME_CHECKS",) if os.environ.get("WARPLOOM_RUNTIME_CHECKS") else ()
    return (*_FLAGS, *checks, *(("-Werror",) if strict else ()))


def _runtime_key(compiler: Compiler, flags: Sequence[str]) -> str:
    # Of all files there: which of them it includes would take longer to find out.
    texts = folder_digest(RUNTIME_DIR, SHIM_DIR, PROCESS_DIR)
    return digest([compiler.identity, *flags, *_HARDENED, texts])


def _link(compiler: Compiler, objects: Sequence[Path], folder: Path) -> None:
    """Link the runtime so that a program binds to what it offers, and to nothing else of it."""
    shown = folder / "exports.list"
    names = exported(frozenset[str]().union(*map(defined_symbols, objects)))
    shown.write_text("{\n" + "".join(f'  "{name}";\n' for name in sorted(names)) + "};\n")
    # The linker of zig takes few options; its C++ library is linked into both sides anyway.
    options = ["-rdynamic"] if compiler.is_zig else [*_HARDENED, f"-Wl,--dynamic-list={shown}"]
    # The program's C++ library is then another one, which it may spoil for itself alone.
    own_library = [] if compiler.is_zig else ["-static-libstdc++"]
    target = ["-o", folder / "warploom-emu", "-ldl"]
    result = run_compiler(compiler, [*options, *own_library, *objects, *target], folder)
    if not result.ok and own_library and _NO_STATIC_LIBRARY.search(result.log):
        # Without it a program could spoil the runtime's own containers: there is no lesser way.
        raise MissingToolError(
            "the emulator's runtime needs the C++ library to link statically (libstdc++.a), but "
            f"{compiler.name} has none",
            hint="install it: libstdc++-static on Fedora and RHEL, libstdc++-<version>-dev on "
            "Debian and Ubuntu, gcc-<version>-devel-static or glibc-devel-static on openSUSE",
        )
    if not result.ok:
        raise ToolFailedError(f"the emulator's runtime must link, but:\n{result.log[-6000:]}")


def exported(defined: frozenset[str]) -> frozenset[str]:
    """Return which of the runtime's symbols programs may bind: those that a header mentions.

    C names are hooks, calls of the APIs, and what takes the place of the C library's.
    """
    words: set[str] = set(_ALWAYS)
    for path in (*sorted(SHIM_DIR.rglob("*")), *sorted(PROCESS_DIR.glob("*.h"))):
        if path.is_file() and not _is_of_library(path):
            words.update(_WORD.findall(_NO_NAME.sub("", path.read_text())))
    found: set[str] = set()
    for name in defined:
        if name.startswith("_Z"):
            if not _LIBRARY_NAME.match(name) and _is_of_headers(name, words):
                found.add(name)
        elif name.startswith(_GUARDS) or (
            name != "main" and (not name.startswith("warploom_") or name in words)
        ):
            found.add(name)
    return frozenset(found)


def _is_of_headers(symbol: str, words: set[str]) -> bool:
    """Whether headers may mean `symbol`: they have each name in it, those of its types as well.

    A word alone may be a member of something else. What takes objects of the C++ library, is made
    or unmade, or has a class around it, whose name begins with a capital, is the runtime's own.
    """
    *scopes, last = _parts(symbol) or [""]
    if last not in words or any(scope[0].isupper() for scope in scopes):
        return False
    at = 0
    names: list[str] = []
    while at < len(symbol):
        if length := _LENGTH.match(symbol, at):
            start = length.end()
            at = start + int(length[0])
            names.append(symbol[start:at])
        elif again := _AGAIN.match(symbol, at):
            at = again.end()
        elif _OF_LIBRARY.match(symbol, at):
            return False
        else:
            at += 1
    return words.issuperset(names)


def _is_of_library(path: Path) -> bool:
    """Whether a header is one of the device libraries', which only use what other headers offer."""
    folders = path.relative_to(SHIM_DIR).parts[:-1] if path.is_relative_to(SHIM_DIR) else ()
    return folders[:2] == ("warploom", "libraries") or folders[:1] in (("cub",), ("thrust",))


def _parts(symbol: str) -> list[str]:
    """Return the scopes and the name in a mangled name: `ns` and `f` for `_ZN2ns1fEi`."""
    found = _MANGLED.match(symbol)
    at = found.end() if found else len(symbol)
    parts: list[str] = []
    while length := _LENGTH.match(symbol, at):
        start = length.end()
        at = start + int(length[0])
        parts.append(symbol[start:at])
        if not symbol.startswith("_ZN"):
            break
    return parts


def _named(path: Path) -> tuple[str, bytes]:
    return path.name, path.read_bytes()


def noted_library_folder(runtime: Path) -> Path | None:
    """Return the folder of the C++ library that `runtime` needs, None if it is the system's."""
    note = runtime.with_name(_LIBRARY_NOTE)
    text = note.read_text() if note.exists() else ""
    return Path(text) if text else None
