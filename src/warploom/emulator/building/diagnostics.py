"""A compiler's messages: which are the user's errors, and which name what is not emulated."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from warploom.core.errors import SourceError, ToolFailedError, UnsupportedError, WarploomError
from warploom.emulator.rewriting.unsupported import (
    MARK,
    is_api_header,
    is_api_name,
    library_of,
)

_MESSAGE = re.compile(
    r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?:\d+:)? (?P<kind>fatal error|error): (?P<text>.*)$"
)
_CONTEXT = re.compile(
    r"(?:^|from |at )(?P<file>[^\s:,][^:,\n]*):(?P<line>\d+)(?::\d+)?(?:[:,]|\)?$)"
)
_MARKED = re.compile(re.escape(MARK) + r" *([^\n\"]*)")
_QUOTE = "['\u2018`]([^'\u2019]+)['\u2019]"
# What compilers say of a name that nothing declares; the first group is the name.
_UNKNOWN_NAME = [
    re.compile(pattern.replace("Q", _QUOTE))
    for pattern in (
        r"Q was not declared in this scope",
        r"Q (?:has not been declared|does not name a type|is not a type|does not name a template)",
        r"Q is not a member of Q",
        r"Q in namespace Q does not name",
        r"no (?:type|template|member) named Q in (?:namespace )?Q",
        r"there are no arguments to Q that depend on a template parameter",
        r"use of undeclared identifier Q",
        r"unknown type name Q",
        r"no type named Q",
        r"Q is not a namespace-name",
        r"variable Q has initializer but incomplete type",
        r"invalid use of incomplete type Q",
        r"aggregate Q has incomplete type",
    )
]
_MISSING_MEMBER = re.compile(f"{_QUOTE} has no member named {_QUOTE}")
_MISSING_HEADER = re.compile(
    r"^['\u2018]?([^'\u2019:]+)['\u2019]?(?:: No such file| file not found)"
)
_HEADER_CURE = "name its folder with -I, or in include_dirs of the workload"
_OTHER_CURE = "if nvcc accepts this line, the emulator's headers lack something: please report"
_LIBRARY_CURE = (
    "only CUDA, NCCL, MPI and the parts of NVIDIA's libraries that docs/emulator.md names run here;"
)
_BAD_INSTRUCTION = re.compile(r"^Error: |no such instruction|invalid instruction mnemonic")


@dataclass(frozen=True, slots=True)
class CompileError:
    """One error: `file` as the compiler names it, `line` from 1; `users` if it is a user's file."""

    file: str
    line: int
    message: str
    users: bool


@dataclass(frozen=True, slots=True)
class ApiUse:
    """A name of CUDA, NCCL, MPI or their libraries that is not emulated, where it is used."""

    name: str
    file: str
    line: int


class NotEmulatedError(UnsupportedError):
    """The program uses what is not emulated: `uses` has every name once, at its first line."""

    def __init__(self, uses: tuple[ApiUse, ...]) -> None:
        first, *others = uses

        def place(use: ApiUse) -> str:
            other = "" if use.file == first.file else f"{Path(use.file).name}:"
            return f"{use.name} ({other or 'line '}{use.line})"

        also = ", ".join(place(use) for use in others[:8])
        rest = f" and {len(others) - 8} more" if len(others) > 8 else ""
        library = library_of(first.name)
        said = f"{first.name} is not emulated"
        hint = "guard it with #ifndef WARPLOOM_EMULATOR, or ask for it"
        if library:
            said = f"the program uses {library}, which is not emulated ({first.name})"
            hint = f"{_LIBRARY_CURE} {hint}"
        super().__init__(
            said + (f"; nor are {also}{rest}" if others else ""),
            file=first.file,
            line=first.line,
            hint=hint,
        )
        self.uses = uses


class RefusedAssemblyError(SourceError):
    """The program compiles, but has assembly that the judge does not let pass."""


def farther(one: WarploomError, other: WarploomError) -> WarploomError:
    """Return which of two failures to tell, of one program in C and in C++: the later one there.

    What a file includes comes before the most of its own text.
    """
    if one.file is None or other.file is None:
        return one
    if one.file == other.file:
        return other if (other.line or 0) > (one.line or 0) else one
    return other if other.file.endswith(".c") and not one.file.endswith(".c") else one


def parse_errors(log: str, is_users: Callable[[str], bool]) -> list[CompileError]:
    """Return the errors of a g++ or clang++ log.

    An error in a header of ours is placed at the user's line that led to it, if the log says so.
    """
    errors: list[CompileError] = []
    context: tuple[str, int] | None = None
    for text in log.splitlines():
        found = _MESSAGE.match(text)
        if found is None:
            place = _CONTEXT.search(text)
            # The innermost place of the user's comes first in g++, last in an include chain.
            if place and is_users(place["file"]) and not text.startswith(" " * 6):
                context = (place["file"], int(place["line"]))
            continue
        file, line = found["file"], int(found["line"])
        users = is_users(file)
        if not users and context is not None:
            file, line = context
            users = True
        errors.append(CompileError(file, line, found["text"], users))
        context = None
    return errors


def unsupported_name(message: str) -> str | None:
    """Return the name that is not emulated, if the message says that one is missing."""
    marked = _MARKED.search(message)
    if marked:
        return marked[1].strip()
    header = _MISSING_HEADER.search(message)
    if header:
        return f"<{header[1]}>" if is_api_header(header[1]) else None
    member = _MISSING_MEMBER.search(message)
    if member:
        owner = re.sub(r"^(?:const |struct |class |union )+| \{.*\}", "", member[1])
        return f"{owner}::{member[2]}" if is_api_name(owner) else None
    for pattern in _UNKNOWN_NAME:
        found = pattern.search(message)
        if found is None:
            continue
        names = [re.sub(r"^(?:struct|class|union|enum) ", "", name) for name in found.groups()]
        whole = names[0] if len(names) == 1 else f"{names[1]}::{names[0]}"
        plain = re.sub(r"<.*>|\(.*\)| \{.*\}", "", whole)
        if any(is_api_name(name) for name in (names[0], plain)):
            return names[0] if is_api_name(names[0]) else plain
    return None


def compile_failure(
    log: str, is_users: Callable[[str], bool], real_path: Callable[[str], str]
) -> WarploomError:
    """Return the error to raise for a failed compile.

    `NotEmulatedError` if a missing name belongs to CUDA, NCCL or MPI, `SourceError` with the log
    if the program itself is wrong, `ToolFailedError` if only our own headers are.
    """
    errors = parse_errors(log, is_users)
    uses: dict[str, ApiUse] = {}
    for error in errors:
        name = unsupported_name(error.message)
        if name and error.users:
            uses.setdefault(name, ApiUse(name, real_path(error.file), error.line))
    if uses:
        return NotEmulatedError(tuple(uses.values()))
    users = [error for error in errors if error.users]
    if users:
        first = users[0]
        if _BAD_INSTRUCTION.search(first.message):
            use = ApiUse("inline assembly", real_path(first.file), first.line)
            return NotEmulatedError((use,))
        return SourceError(
            f"the program must compile, but the compiler says: {first.message}\n{log.strip()}",
            file=real_path(first.file),
            line=first.line,
            hint=_HEADER_CURE if _MISSING_HEADER.search(first.message) else _OTHER_CURE,
        )
    return ToolFailedError(f"the compiler failed outside of the program:\n{log.strip()}")


_UNDEFINED = re.compile(r"undefined (?:reference to|symbol:) [`'\u2018]?([^'\u2019\n]+)['\u2019]?")
# The linker of binutils 2.42 puts the place in the section behind the line.
_LINK_PLACE = re.compile(r"(?P<file>[^\s:(][^:\n(]*):(?P<line>\d+):(?:\([^)\n]*\):)? ")


def undefined_symbols(log: str) -> Iterable[tuple[str, tuple[str, int] | None]]:
    """Yield each symbol that a linker's log names as undefined, with file and line if given."""
    seen: set[str] = set()
    for text in log.splitlines():
        found = _UNDEFINED.search(text)
        if found and found[1] not in seen:
            seen.add(found[1])
            place = _LINK_PLACE.search(text[: found.start()])
            yield found[1], (place["file"], int(place["line"])) if place else None
