"""Reads `compile_commands.json`: which sources a build compiles, and with which folders and macros.

The format is Clang's JSON compilation database. CMake writes it with
`-DCMAKE_EXPORT_COMPILE_COMMANDS=ON`; Bear makes it of a Makefile's run.
"""

import json
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from warploom.core.errors import BadInputError
from warploom.core.records import Json

COMMANDS_FILE = "compile_commands.json"
_SUFFIXES = (".cu", ".cpp", ".cc", ".cxx", ".c")
_TARGET = re.compile(r"CMakeFiles/([^/]+)\.dir/")
_MOST_NESTED = 8  # options files that name options files


@dataclass(frozen=True, slots=True)
class CompiledSource:
    """One source of a build. `target` is what CMake links it into; "" where that is not told."""

    path: Path
    include_dirs: tuple[Path, ...]
    defines: dict[str, str]
    target: str


def commands_file(folder: Path) -> Path | None:
    """Return the compilation database of a build tree; None where there is none.

    It lies in the folder itself or in one of its build folders, `build*` or `cmake-build*`.
    """
    places = [folder, *sorted(folder.glob("build*")), *sorted(folder.glob("cmake-build*"))]
    return next((p / COMMANDS_FILE for p in places if (p / COMMANDS_FILE).is_file()), None)


def read_commands(file: Path, root: Path) -> tuple[CompiledSource, ...]:
    """Return the C, C++ and CUDA sources below `root` that a build compiles, each once.

    Raises:
        BadInputError: the file is not a compilation database.
    """
    try:
        data: Json = json.loads(file.read_bytes())
    except (OSError, ValueError) as error:
        raise BadInputError(f"must be JSON: {error}", file=str(file)) from None
    if not isinstance(data, list):
        raise BadInputError("must hold a list of compile commands", file=str(file))
    found: dict[Path, CompiledSource] = {}
    for number, entry in enumerate(cast("list[Json]", data), 1):
        source = _source(entry, root)
        if source is None:
            raise BadInputError(
                f"entry {number} must have directory, file, and command or arguments",
                file=str(file),
            )
        below = source.path.is_relative_to(root) and source.path.suffix in _SUFFIXES
        if below and source.path.is_file():
            found.setdefault(source.path, source)
    return tuple(found.values())


def _source(entry: Json, root: Path) -> CompiledSource | None:
    if not isinstance(entry, dict):
        return None
    directory, file = entry.get("directory"), entry.get("file")
    words = _words(entry)
    if not isinstance(directory, str) or not isinstance(file, str) or words is None:
        return None
    base = Path(directory)
    folders: list[Path] = []
    defines: dict[str, str] = {}
    output = entry.get("output")
    made = output if isinstance(output, str) else ""
    for option, value in _options(words, base, 0):
        if option in ("-I", "-isystem", "-iquote"):
            folder = (base / value).resolve()
            if folder.is_dir() and folder.is_relative_to(root):
                folders.append(folder)
        elif option == "-D":
            name, _, text = value.partition("=")
            defines[name] = text
        elif option == "-o" and not made:
            made = value
    target = _TARGET.search(made)
    return CompiledSource(
        (base / file).resolve(), tuple(dict.fromkeys(folders)), defines,
        target[1] if target else "",
    )  # fmt: skip


def _words(entry: dict[str, Json]) -> list[str] | None:
    arguments, command = entry.get("arguments"), entry.get("command")
    if isinstance(arguments, list):
        return [str(word) for word in arguments]
    if not isinstance(command, str):
        return None
    try:
        return shlex.split(command)
    except ValueError:
        return None


def _options(words: Sequence[str], base: Path, depth: int) -> Iterator[tuple[str, str]]:
    """Yield the options that matter, with their values, those of options files as well."""
    names = ("-I", "-isystem", "-iquote", "-D", "-o")
    long = {"--include-path": "-I", "--system-include": "-isystem", "--define-macro": "-D"}
    waiting = ""
    for word in words:
        if waiting:
            yield from _read(waiting, word, base, depth)
            waiting = ""
            continue
        name, equals, value = word.partition("=")
        if name in long or name in ("--options-file", "-optf"):
            kind = long.get(name, "@")
            if equals:
                yield from _read(kind, value, base, depth)
            else:
                waiting = kind
        elif word in names:
            waiting = word
        elif word.startswith("@"):
            yield from _read("@", word[1:], base, depth)
        else:
            kind = next((k for k in names[:-1] if word.startswith(k)), "")
            if kind:
                yield kind, word.removeprefix(kind)


def _read(kind: str, value: str, base: Path, depth: int) -> Iterator[tuple[str, str]]:
    if kind != "@":
        yield kind, value
        return
    try:
        words = shlex.split((base / value).read_text())
    except (OSError, ValueError):
        return
    if depth < _MOST_NESTED:
        yield from _options(words, base, depth + 1)
