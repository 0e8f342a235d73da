"""Writes reports of a check to files, each whole or not at all."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

from warploom.core.errors import BadInputError
from warploom.reports.queries.checked import Checked

_SOURCES = frozenset((".cu", ".cuh", ".c", ".cc", ".cpp", ".cxx", ".h", ".hpp", ".py", ".toml"))


@dataclass(frozen=True, slots=True)
class CheckFiles:
    """Which files a check is to be told in; `github` asks for annotations in its output."""

    html: Path | None = None
    sarif: Path | None = None
    junit: Path | None = None
    github: bool = False

    def require_places(self) -> None:
        """Raise before a long check where a file could not be written after it.

        Raises:
            BadInputError: a folder is missing, or one file is asked for twice.
        """
        wanted = [path for path in (self.html, self.sarif, self.junit) if path is not None]
        for path in wanted:
            require_place(path)
        if len({path.absolute() for path in wanted}) < len(wanted):
            raise BadInputError("each report needs a file of its own", file=str(wanted[0]))

    def write(self, report: Checked) -> list[str]:
        """Write what is asked for; returns the annotations to print.

        Raises:
            BadInputError: a file cannot be written.
        """
        # Each form loads only when it is asked for: the page brings SQLAlchemy with its charts.
        if self.html is not None:
            from warploom.reports.html.check_page import check_html

            write_text(self.html, check_html(report))
        if self.sarif is not None:
            from warploom.reports.formats.sarif import sarif_of

            write_text(self.sarif, json.dumps(sarif_of(report), indent=2) + "\n")
        if self.junit is not None:
            from warploom.reports.formats.junit import junit_of

            write_text(self.junit, junit_of(report))
        if not self.github:
            return []
        from warploom.reports.formats.github import annotations_of

        return annotations_of(report)


def require_place(path: Path) -> None:
    """Raise where no file can be written at a path.

    Raises:
        BadInputError: it is a folder, or its folder is missing or cannot be written.
    """
    if path.is_dir():
        raise BadInputError("must be a file to write, but is a folder", file=str(path))
    if path.suffix.lower() in _SOURCES:
        raise BadInputError(
            f"cannot be written: {path.suffix} is the ending of a source, which a report would "
            "take the place of", file=str(path), hint="name it by its form, such as report.html",
        )  # fmt: skip
    if not path.absolute().parent.is_dir():
        raise BadInputError(
            "cannot be written: its folder does not exist", file=str(path),
            hint=f"make it: mkdir -p {path.parent}",
        )  # fmt: skip
    if not os.access(path.absolute().parent, os.W_OK):
        raise BadInputError("cannot be written: its folder is read-only", file=str(path))


def write_text(path: Path, text: str) -> None:
    """Write a file, whole or not at all.

    Raises:
        BadInputError: it cannot be written.
    """
    write_bytes(path, text.encode("utf-8", "replace"))


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file, whole or not at all.

    Raises:
        BadInputError: it cannot be written.
    """
    if path.exists() and not path.is_file():  # such as /dev/stdout
        path.write_bytes(data)
        return
    fresh = path.with_name(f".{path.name}.new")
    try:
        fresh.write_bytes(data)
        fresh.replace(path)
    except OSError as error:
        raise BadInputError(f"cannot be written: {error.strerror}", file=str(path)) from None
