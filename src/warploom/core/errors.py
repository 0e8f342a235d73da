"""Every error that warploom raises on purpose.

WarploomError
├── BadInputError        the user's input is wrong              exit code 2
│   ├── SourceError      a file is missing or is not CUDA
│   ├── WorkloadError    workload.toml breaks a rule
│   └── RefusedError     a program that the rules cannot transform
├── UnsupportedError     something is not emulated or supported exit code 3
├── MissingToolError     a compiler, header or package is absent exit code 3
├── ToolFailedError      a tool that we ran broke unexpectedly  exit code 3
│   └── RanksLostError   a launcher lost a program's ranks
└── LLMError             a language model; see llm/errors.py

Messages state the rule and the value: what must hold, and what was got.
"""

from dataclasses import dataclass
from typing import Self


class WarploomError(Exception):
    """Base of all deliberate errors; `exit_code` is what the command line returns."""

    exit_code = 2

    def __init__(
        self, message: str, *, file: str | None = None, line: int | None = None, hint: str = ""
    ) -> None:
        super().__init__(message)
        self.message = message
        self.file = file
        self.line = line
        self.hint = hint

    def __str__(self) -> str:
        where = "" if self.file is None else f"{self.file}:{self.line or 1}: "
        cure = f"\n  hint: {self.hint}" if self.hint else ""
        return f"{where}{self.message}{cure}"


class BadInputError(WarploomError):
    """The user's input breaks a rule."""


class SourceError(BadInputError):
    """A source file is missing, unreadable, or not a CUDA program."""


class WorkloadError(BadInputError):
    """`workload.toml` is missing a field or holds a wrong value."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """One reason why a program is not transformed, at one place."""

    reason: str
    file: str
    line: int


class RefusedError(BadInputError):
    """The program is beyond the rules; `refusals` names every reason and line."""

    def __init__(self, message: str, refusals: tuple[Refusal, ...]) -> None:
        first = refusals[0] if refusals else None
        super().__init__(
            message,
            file=first.file if first else None,
            line=first.line if first else None,
        )
        self.refusals = refusals

    @classmethod
    def of(cls, refusals: tuple[Refusal, ...]) -> Self:
        """Make the error that tells all of `refusals` (at least one), by place."""
        first, *others = sorted(refusals, key=lambda item: (item.file, item.line))
        lines = "".join(f"\n  {item.file}:{item.line}: {item.reason}" for item in others)
        more = f"; and {len(others)} more:{lines}" if others else ""
        return cls(f"beyond the rules: {first.reason}{more}", (first, *others))


class UnsupportedError(WarploomError):
    """The program uses something that is not emulated or not supported here."""

    exit_code = 3


class MissingToolError(WarploomError):
    """A compiler, header, package or program that is needed is not on this machine."""

    exit_code = 3


class ToolFailedError(WarploomError):
    """A tool that must work (a compiler on our own files, the emulator) broke."""

    exit_code = 3


class RanksLostError(ToolFailedError):
    """A launcher lost a program's ranks: nothing is known of the program."""
