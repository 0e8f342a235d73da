"""The analyzer: reads a program and the headers beside it, and reports what it does."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from warploom.core.errors import SourceError
from warploom.core.roots import Roots
from warploom.source.analysis.assemble import assemble
from warploom.source.analysis.indexing import build_program
from warploom.source.report import AnalysisReport
from warploom.source.syntax import SourceFile, load_source

_MAX_FILES = 200


@dataclass(frozen=True, slots=True)
class _Read:
    """Files that were read: the same ones where their texts are, and what is read of them."""

    texts: tuple[tuple[Path, bytes, bytes], ...]
    files: tuple[SourceFile, ...] = field(compare=False)


@functools.lru_cache(maxsize=16)  # a judge asks for the same texts at each of its levels
def _report_of(read: _Read) -> AnalysisReport:
    return assemble(build_program(read.files), read.files)


class CUDAAnalyzer:
    """Analyzes one CUDA program.

    Args:
        path: the program's main file.
        include_dirs: folders, beside the file's own, where `#include "..."` is looked for, and
            `#include <...>`. Headers that are not found are taken for the system's.
        roots: folders below which included files must lie; the file's own and `include_dirs` when
            None.
        defines: macro names and values as `-D` gives them; an arm of an `#if` that they decide
            against is not read.
    """

    def __init__(
        self,
        path: Path | str,
        include_dirs: Sequence[Path | str] = (),
        defines: Mapping[str, str] | None = None,
        roots: Roots | None = None,
    ) -> None:
        self.path = Path(path)
        self.include_dirs = tuple(Path(d) for d in include_dirs)
        self.roots = roots or Roots([self.path.absolute().parent, *self.include_dirs])
        self.defines = dict(defines or {})

    def analyze(self) -> AnalysisReport:
        """Read the program and return what was found.

        Raises:
            SourceError: the file is missing, unreadable, empty or binary, or an expression nests
                beyond reason.
        """
        files = self.read()
        try:
            return _report_of(_Read(tuple((f.path, f.text, f.parsed) for f in files), files))
        except RecursionError:
            raise SourceError(
                "expressions must not nest more than some hundred levels deep, but one does",
                file=str(self.path),
            ) from None

    def read(self) -> tuple[SourceFile, ...]:
        """Return the main file and the quoted includes that exist, each once, main file first.

        Raises:
            SourceError: the main file is missing, unreadable, empty or binary.
        """
        main = load_source(self.path, self.defines)
        found: dict[Path, SourceFile] = {self.path.resolve(): main}
        waiting = [main]
        while waiting and len(found) < _MAX_FILES:
            file = waiting.pop(0)
            for place in self._includes(file):
                if place.resolve() in found:
                    continue
                try:
                    header = load_source(place, self.defines)
                except SourceError:
                    continue  # An empty or binary "header" holds no code to analyze.
                found[place.resolve()] = header
                waiting.append(header)
        return tuple(found.values())

    def _includes(self, file: SourceFile) -> list[Path]:
        found: list[Path] = []
        for node in file.nodes("preproc_include"):
            path = node.child_by_field_name("path")
            if path is None or path.type not in ("string_literal", "system_lib_string"):
                continue
            name = file.node_text(path).strip('"<>')
            beside = (file.path.parent,) if path.type == "string_literal" else ()
            for folder in (*beside, *self.include_dirs):
                place = folder / name
                if place.is_file() and self.roots.hold(place):
                    found.append(place)
                    break
        return found
