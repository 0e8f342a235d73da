"""Finds the host's C++20 compiler."""

import functools
import importlib.util
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from warploom.core.errors import MissingToolError
from warploom.core.process import default_environment, run_process
from warploom.core.records import Limits
from warploom.toolchain.cache import cache_root
from warploom.toolchain.folders import is_of_system

_NEWEST_GCC = 20
_NEWEST_CLANG = 30
_OLDEST = {"gcc": 11, "clang": 14}
_VERSION = re.compile(r"^(?:.*\b)?(gcc|clang) version (\d+)[^\n]*", re.MULTILINE)
_TARGET = re.compile(r"^Target: *(\S+)", re.MULTILINE)
_SYSTEM_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64")
_CURE = (
    "install g++ 11 or newer, or clang++ 14 or newer (Debian: apt-get install g++), name one in "
    "WARPLOOM_CXX, or: pip install 'warploom[compiler]'"
)


@dataclass(frozen=True, slots=True)
class Compiler:
    """A C++20 compiler: how to call it, and what its output depends on.

    `family` is `gcc` or `clang`; `identity` goes into cache keys.
    """

    command: tuple[str, ...]
    family: str
    version: int
    identity: str

    @property
    def is_zig(self) -> bool:
        """Whether this is the `ziglang` wheel, which brings its own C++ library."""
        return "ziglang" in self.command

    @property
    def name(self) -> str:
        """The command as one would type it."""
        return shlex.join(self.command)


def compiler_environment() -> dict[str, str]:
    """Return the environment in which compilers run."""
    env = default_environment()
    zig = str(cache_root() / "zig")
    return {**env, "LC_ALL": "C", "ZIG_GLOBAL_CACHE_DIR": zig, "ZIG_LOCAL_CACHE_DIR": zig}


def probe_compiler(command: tuple[str, ...]) -> Compiler | None:
    """Return what `command` is, or None if it is no compiler that we know."""
    if shutil.which(command[0]) is None:
        return None
    result = run_process(
        [*command, "-v"],
        limits=Limits(seconds=60, memory_mb=2048, output_mb=4),
        environment=compiler_environment(),
    )
    version = _VERSION.search(result.log)
    if version is None:
        return None
    target = _TARGET.search(result.log)
    identity = f"{version.group(0).strip()}; {target.group(1) if target else 'unknown target'}"
    zig = "zig; " if "ziglang" in command else ""
    return Compiler(command, version.group(1), int(version.group(2)), zig + identity)


def _candidates() -> Iterator[tuple[str, ...]]:
    yield ("g++",)
    yield ("clang++",)
    yield from ((f"g++-{number}",) for number in range(_NEWEST_GCC, 10, -1))
    yield from ((f"clang++-{number}",) for number in range(_NEWEST_CLANG, 13, -1))
    if importlib.util.find_spec("ziglang") is not None:
        yield (sys.executable, "-m", "ziglang", "c++")


def _is_new_enough(compiler: Compiler) -> bool:
    return compiler.version >= _OLDEST[compiler.family]


@functools.cache
def _find(asked: str | None) -> Compiler:
    if asked:
        compiler = probe_compiler(tuple(shlex.split(asked)))
        if compiler is None:
            raise MissingToolError(
                f"WARPLOOM_CXX must name g++ or clang++, but {asked!r} is neither", hint=_CURE
            )
        if not _is_new_enough(compiler):
            raise MissingToolError(
                f"WARPLOOM_CXX must compile C++20 ({compiler.family} {_OLDEST[compiler.family]} or "
                f"newer), got {compiler.identity}",
                hint=_CURE,
            )
        return compiler
    old: list[str] = []
    for command in _candidates():
        compiler = probe_compiler(command)
        if compiler is not None and _is_new_enough(compiler):
            return compiler
        if compiler is not None:
            old.append(compiler.identity)
    found = f"only {', '.join(old)} is here" if old else "none is found"
    raise MissingToolError(f"a C++20 compiler is needed, but {found}", hint=_CURE)


def find_compiler() -> Compiler:
    """Return the host compiler: `$WARPLOOM_CXX`, else the first of g++, clang++ and ziglang.

    Raises:
        MissingToolError: there is none that compiles C++20.
    """
    return _find(os.environ.get("WARPLOOM_CXX") or None)


@functools.lru_cache(maxsize=32)
def folders_of(command: tuple[str, ...]) -> tuple[Path, ...]:
    """Return the folders outside of the system's that a compiler's command needs to run.

    A compiler of the user's own (conda, spack, a wheel) says itself where its parts lie.
    """
    program = shutil.which(command[0])
    if program is None:
        return ()
    if "ziglang" in command:
        spec = importlib.util.find_spec("ziglang")
        package = [Path(spec.origin).parent] if spec is not None and spec.origin else []
        # The wheel is started by Python.
        venv = [Path(sys.prefix)] if sys.prefix != sys.base_prefix else []
        return (*package, *venv, Path(sys.base_prefix))
    if is_of_system(Path(program)) and is_of_system(Path(os.path.realpath(program))):
        return ()
    limits = Limits(seconds=60, memory_mb=2048, output_mb=4)
    env = compiler_environment()
    told = run_process(
        [*command, "-E", "-x", "c++", "-v", "/dev/null"], limits=limits, environment=env
    ).log.splitlines()
    found = [Path(program).parent, Path(os.path.realpath(program)).parent]
    # The list of folders for headers: each on a line of its own, after a space.
    found += [Path(line[1:].split(" (")[0]) for line in told if line.startswith(" /")]
    parts = ("cc1plus", "as", "ld", "collect2")
    questions = [f"-print-prog-name={part}" for part in parts]
    questions += [f"-print-file-name={name}" for name in ("libstdc++.so.6", "crti.o", "libm.so")]
    questions += ["-print-libgcc-file-name"]
    for question in questions:
        answer = run_process([*command, question], limits=limits, environment=env)
        name = answer.stdout.decode(errors="replace").strip()
        if answer.ok and name.startswith("/"):
            found += [Path(name).parent, Path(os.path.realpath(name)).parent]
    return tuple(dict.fromkeys(path for path in found if not is_of_system(path)))


def compiler_folders(compiler: Compiler) -> tuple[Path, ...]:
    """Return the folders outside of the system's that `compiler` needs to run."""
    return folders_of(compiler.command)


def compiler_state(compiler: Compiler) -> tuple[Path, ...]:
    """Return the folders in which `compiler` keeps what it has made for itself; they exist."""
    if not compiler.is_zig:
        return ()
    folder = Path(compiler_environment()["ZIG_GLOBAL_CACHE_DIR"])
    folder.mkdir(parents=True, exist_ok=True)
    return (folder,)


def library_folder(compiler: Compiler) -> Path | None:
    """Return where the compiler's C++ library lies, if the loader would not look there by itself.

    A compiler in the user's home (conda, spack) brings a library that is newer than the system's.
    """
    result = run_process(
        [*compiler.command, "-print-file-name=libstdc++.so.6"],
        limits=Limits(seconds=60, memory_mb=2048, output_mb=1),
        environment=compiler_environment(),
    )
    name = result.stdout.decode(errors="replace").strip()
    if not result.ok or not name.startswith("/"):
        return None
    folder = Path(os.path.realpath(Path(name).parent))
    usual = any(folder.is_relative_to(base) for base in _SYSTEM_LIBRARIES)
    return None if usual or not (folder / "libstdc++.so.6").exists() else folder
