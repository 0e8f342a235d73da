"""Reads programs, byte for byte."""

from pathlib import Path

from warploom.core.errors import SourceError
from warploom.source.regions import Program
from warploom.workload.paths import require_file
from warploom.workload.workload import Workload


def frame_of(task: Workload) -> Program | None:
    """Return the workload's program if it has mutable regions."""
    program = read_program(task.program)
    return program if program.regions else None


def read_program(path: Path) -> Program:
    """Read a program's text, byte for byte.

    Raises:
        SourceError: it cannot be read, or is binary.
        BadInputError: its markers are wrong.
    """
    try:
        data = require_file(path).read_bytes()
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror}", file=str(path)) from None
    if b"\0" in data:
        raise SourceError("is not text: it holds a zero byte", file=str(path))
    program = Program(data.decode("utf-8", "surrogateescape"), path)
    _ = program.regions  # tells wrong markers now
    return program
