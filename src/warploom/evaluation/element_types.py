"""What a program's own names for types stand for: aliases, macros, and structs of one type.

`real` may be a `typedef` in one branch of an `#ifdef` and another in the other. The compiler's
preprocessor says which branch there is, and what is left is read.
"""

import functools
import re
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from warploom.core.errors import MissingToolError
from warploom.core.records import BuildSpec
from warploom.emulator.building.runtime_build import run_compiler
from warploom.emulator.building.unit_flags import language_flags, version_code
from warploom.emulator.rewriting.rewrite import SHIM_DIR
from warploom.toolchain.compilers import find_compiler
from warploom.workload.dtypes import dtype_of

_DEEPEST = 8  # aliases of aliases
_WORD = r"[A-Za-z_]\w*"
_SPELLING = r"[A-Za-z_][\w: ]*?"
_MACRO = re.compile(rf"^[ \t]*#[ \t]*define[ \t]+({_WORD})[ \t]+({_SPELLING})[ \t]*$", re.MULTILINE)
_UNDEF = re.compile(rf"^[ \t]*#[ \t]*undef[ \t]+({_WORD})", re.MULTILINE)
_TYPEDEF = re.compile(rf"\btypedef\s+({_SPELLING})\s+({_WORD})\s*(?:\[\s*\w*\s*\]\s*)*;")
_USING = re.compile(rf"\busing\s+({_WORD})\s*=\s*(?:typename\s+)?({_SPELLING})\s*(?:\[\w*\]\s*)*;")
_RECORD = re.compile(
    rf"\b(?:typedef\s+)?struct\s+(?:(?:alignas|__align__)\s*\([^)]*\)\s*)?({_WORD})?\s*"
    rf"\{{([^{{}}()]*)\}}\s*({_WORD})?\s*;"
)
_MEMBER = re.compile(
    rf"(?:const\s+)?({_SPELLING})\s+({_WORD}(?:\s*\[[^\]]*\])*"
    rf"(?:\s*,\s*{_WORD}(?:\s*\[[^\]]*\])*)*)"
)
_MARKER = re.compile(r'#[ \t]+\d+[ \t]+"([^"]*)"(.*)')
_TEMPLATE = re.compile(
    rf"\btemplate\s*<([^<>]*)>\s*(?:[\w:<>,*&\s]|\((?:[^()]|\([^()]*\))*\))*?\b({_WORD})\s*\("
)


def element_types(spellings: Iterable[str], spec: BuildSpec) -> Mapping[str, str]:
    """Return what those of `spellings` that are the program's own mean, by dtype.

    Nothing is said of what stands for no type of an output, or for several.
    """
    unknown = {_bare(s) for s in spellings if s and dtype_of(s).name == "bytes"}
    unknown -= {"void", "byte", "bytes"}
    if not unknown:
        return {}
    texts = [_preprocessed(file, spec) for file in (spec.program, *spec.sources)]
    headers = _header_types("\n".join(text for _, text in texts))
    known = _Types("\n".join(text for text, _ in texts), headers)
    found = {name: known.dtype(name) for name in unknown}
    return {name: dtype for name, dtype in found.items() if dtype}


def resolved(spelling: str, known: Mapping[str, str]) -> str:
    """Return the dtype that `known` has for a spelling, or the spelling."""
    return known.get(_bare(spelling), spelling)


def _bare(spelling: str) -> str:
    words = spelling.replace("*", " ").replace("&", " ").split()
    return " ".join(word for word in words if word not in ("const", "volatile", "struct"))


@functools.lru_cache(maxsize=4)
def _header_types(text: str) -> "_Types":
    """Return the names of headers: megabytes, and the same ones from candidate to candidate."""
    return _Types(text)


class _Types:
    """The aliases, structs and templates of a preprocessed text, and behind it of headers."""

    def __init__(self, text: str, headers: "_Types | None" = None) -> None:
        self._headers = headers
        gone = {match[1] for match in _UNDEF.finditer(text)}
        self._means: dict[str, set[str]] = {}
        for match in _MACRO.finditer(text):
            if match[1] not in gone:
                self._means.setdefault(match[1], set()).add(match[2])
        plain = re.sub(r"^[ \t]*#.*$", "", text, flags=re.MULTILINE)
        for match in _TYPEDEF.finditer(plain):
            self._means.setdefault(match[2], set()).add(match[1])
        for match in _USING.finditer(plain):
            self._means.setdefault(match[1], set()).add(match[2])
        self._records: dict[str, str] = {}
        for match in _RECORD.finditer(plain):
            for name in (match[1], match[3]):
                if name:
                    self._records[name] = match[2]
        self._plain = plain

    def dtype(self, spelling: str, depth: int = 0) -> str:
        """Return the name of the one dtype that a spelling stands for, "" if there is none."""
        kind = dtype_of(spelling).name
        if kind != "bytes" or depth > _DEEPEST:
            return "" if kind == "bytes" else kind
        name = spelling.removeprefix("struct ").rpartition("::")[2].strip()
        meanings = self._means.get(name) or self._arguments(name)
        found = {self.dtype(meaning, depth + 1) for meaning in meanings if meaning != name}
        if not found and name in self._records:
            found = self._members(self._records[name], depth)
        if not found and self._headers is not None:
            return self._headers.dtype(spelling, depth)
        return found.pop() if len(found) == 1 else ""

    def _members(self, body: str, depth: int) -> set[str]:
        """Return the dtypes of a struct's members; one that cannot be told is ""."""
        found: set[str] = set()
        for part in body.split(";"):
            member = part.strip()
            if member:
                match = _MEMBER.fullmatch(member)
                found.add(self.dtype(match[1], depth + 1) if match else "")
        return found

    def _arguments(self, name: str) -> set[str]:
        """Return what calls of function templates write for their parameter `name`.

        Headers call none of a program's templates.
        """
        found: set[str] = set()
        if self._headers is None:
            return found
        for match in _TEMPLATE.finditer(self._plain):
            parameters = [part.split("=")[0].split() for part in match[1].split(",")]
            names = [words[-1] if words else "" for words in parameters]
            if name not in names or parameters[names.index(name)][0] not in ("typename", "class"):
                continue
            at = names.index(name)
            for call in re.finditer(rf"\b{match[2]}\s*<([^<>;]*)>\s*(?:<<\s*<|\()", self._plain):
                given = [part.strip() for part in call[1].split(",")]
                if at < len(given):
                    found.add(given[at])
        return found


def _preprocessed(file: Path, spec: BuildSpec) -> tuple[str, str]:
    """Return the program's live text and that of its headers; both are "" where that fails."""
    defines = [f"-D{n}={v}" if v else f"-D{n}" for n, v in sorted(spec.defines.items())]
    folders = [f"-I{folder}" for folder in (file.parent, *spec.include_dirs)]
    try:
        compiler = find_compiler()
    except MissingToolError:
        return "", ""
    with tempfile.TemporaryDirectory(prefix="warploom-") as name:
        flags = [
            "-E", "-dD", "-w", *language_flags(file, b"", is_program=True), *defines,
            "-DWARPLOOM_EMULATOR", f"-DWARPLOOM_NCCL_VERSION={version_code(spec.nccl)}",
            *folders, f"-I{SHIM_DIR}",
        ]  # fmt: skip
        made = Path(name) / "out.cpp"
        run_compiler(compiler, [*flags, file, "-o", made], Path(name), readable=[file.parent])
        return _split(made.read_text(errors="replace")) if made.is_file() else ("", "")


def _split(text: str) -> tuple[str, str]:
    """Return what the user's files have of a preprocessed text, and what other headers have."""
    parts: tuple[list[str], list[str]] = [], []
    into = parts[0]
    for line in text.splitlines():
        marker = _MARKER.match(line)
        if marker is None:
            into.append(line)
        else:  # "3": a header of the system
            ours = marker[1].startswith(("<", str(SHIM_DIR)))
            into = parts[1] if ours or "3" in marker[2].split() else parts[0]
    return "\n".join(parts[0]), "\n".join(parts[1])
