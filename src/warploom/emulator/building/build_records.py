"""The records of a build: what is compiled, and the program that is ready to run."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict

from warploom.core.records import BuildSpec
from warploom.emulator.building.compiler_warnings import Warned
from warploom.emulator.rewriting.rewrite import Overlay, UserFile, file_named

_COMMAND_LINE = re.compile(rb'^# \d+(?= "<command-line>")', re.MULTILINE)


class ImportNames(TypedDict):
    """What a built object takes from elsewhere, as it is kept beside it in the cache."""

    imports: list[str]
    denied: list[str]
    replaced: list[str]
    unseen: dict[str, tuple[str, int] | None]
    warned: list[tuple[str, str, str, int]]


@dataclass(frozen=True, slots=True)
class EmulatorBuild:
    """A program ready to run: `library` for `runtime`, both in the cache.

    `key` names the content of the build, `files` are the user's files in it, `imports` the symbols
    that its text takes from the runtime and the libraries, and `denied` those that the process
    library alone takes: the program may not go there by a pointer. `library_objects`: whether it
    may have objects of library classes that call through tables of theirs. `guard` is what the
    guard says of each unit, as it wrote it: JSON. `replaced` are the names that it defines and the
    runtime or a library does too. `unseen` are imports that follow pointers where no check sees it,
    with file and line of a use where one is known. `warned` is what the compiler is sure of.
    `filled`: whether all variables that nobody sets hold a pattern, or what the spec says.
    `overlay` is what the compiler read, for builds of the same text with other flags.
    `regions_in_turn`: whether its text has regions of OpenMP, which one thread runs here. `seconds`
    is what this call took.
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
    replaced: frozenset[str] = frozenset()
    denied: frozenset[str] = frozenset()
    library_objects: bool = False
    regions_in_turn: bool = False
    filled: bool = True
    warned: tuple[Warned, ...] = ()
    overlay: Overlay | None = None
    unseen: Mapping[str, tuple[str, int] | None] = field(
        default_factory=dict[str, tuple[str, int] | None]
    )

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
class Unit:
    """One file to compile, with everything its objects depend on.

    `passes` are the flags of the host pass and, if it is CUDA, of the device pass.
    """

    overlay: str
    passes: tuple[tuple[str, ...], ...]
    wants_prefix: bool


@dataclass(frozen=True, slots=True)
class CompilePass:
    """One reading of a unit by the compiler, into `target`."""

    unit: Unit
    flags: tuple[str, ...]
    target: str

    @property
    def preprocessed(self) -> str:
        """The file for its text without directives and macros."""
        return f"{self.target}.ii"

    def text_read(self, work: Path) -> bytes:
        """Return its text to compare: from gcc 13 on it tells how many macros were defined.

        That is in the numbers of lines of the command line, before the unit begins.
        """
        text = (work / self.preprocessed).read_bytes()
        before, unit, rest = text.partition(b'\n# 1 "%s"\n' % self.unit.overlay.encode())
        return _COMMAND_LINE.sub(b"#", before) + unit + rest
