"""What is wrong with a reference, as an error that crosses the pipe."""

import traceback
from pathlib import Path


class ReferenceFailedError(Exception):
    """The reference breaks a rule; `line` is the one of its file, where known.

    `beyond`: it is right, and nobody has code for it. `echo`: another rank says why.
    """

    def __init__(
        self, message: str, *, line: int | None = None, hint: str = "", beyond: bool = False,
        echo: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(message)
        self.message = message
        self.line = line
        self.hint = hint
        self.beyond = beyond
        self.echo = echo


class TraceDiffersError(ReferenceFailedError):
    """The reference does something else than its trace, for sizes that it was not traced with."""


def line_in(file: Path, error: BaseException) -> int | None:
    """Return the innermost line of `file` that led to `error`."""
    if isinstance(error, SyntaxError) and error.filename == str(file):
        return error.lineno
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(file)]
    return lines[-1] if lines else None


def first_line(error: BaseException) -> str:
    """Return the kind of an error and the first line of its message."""
    words = str(error).strip().splitlines()
    return f"{type(error).__name__}: {words[0]}" if words else type(error).__name__
