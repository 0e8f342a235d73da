"""What the machines of a run hand each other in a folder: records as JSON, and nothing else.

Nothing that is read there can make us run something, whoever has written it.
"""

import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from warploom.core.errors import ToolFailedError
from warploom.core.records import Limits
from warploom.toolchain.gpu import Gpu

_MOST_BYTES = 1 << 20
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Node:
    """One machine: its GPUs, and whether it has a network card that NCCL's GIN may use.

    `sandbox` is the kind that it has for programs.
    """

    name: str
    gpus: tuple[Gpu, ...]
    card: bool
    sandbox: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one rank's process, and on which machine; see `ProcessResult`."""

    rank: int
    node: str
    sandbox: str
    exit_code: int | None
    signal: int | None = None
    stopped: str = ""

    @property
    def ok(self) -> bool:
        """Whether it came to its end with exit code 0."""
        return self.exit_code == 0 and not self.stopped


@dataclass(frozen=True, slots=True)
class Orders:
    """What each rank's process does: as the arguments of `run_sandboxed`, by plain values.

    `node_ranks` share a machine. `confined` says that it must not run where nothing but limits
    would hold it.
    """

    command: tuple[str, ...]
    environment: Mapping[str, str]
    readable: tuple[str, ...]
    beside: str | None
    seconds: float
    memory_mb: int
    output_mb: int
    node_ranks: int
    confined: bool

    @property
    def limits(self) -> Limits:
        """The limits of the run."""
        return Limits(self.seconds, self.memory_mb, self.output_mb)

    @property
    def folder(self) -> Path | None:
        """The folder whose files the program reads by their plain names."""
        return Path(self.beside) if self.beside else None

    @property
    def readable_paths(self) -> list[Path]:
        """What else it can read."""
        return [Path(path) for path in self.readable]


def leave(place: Path, said: object) -> None:
    """Leave a record for another machine, whole or not at all."""
    fresh = place.with_name(f".{place.name}.new")
    fresh.write_bytes(TypeAdapter(type(said)).dump_json(said))
    fresh.replace(place)


def taken(place: Path, kind: type[T]) -> T:
    """Return the record that was left.

    Raises:
        ToolFailedError: what lies there is not such a record.
    """
    handle = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        plain = stat.S_ISREG(os.fstat(handle).st_mode)
        text = file.read(_MOST_BYTES + 1) if plain else b""
    if plain and len(text) <= _MOST_BYTES:
        with suppress(ValidationError):
            return TypeAdapter(kind).validate_json(text, strict=True)
    raise ToolFailedError(
        f"{place} must hold a record of warploom's ({kind.__name__}), but holds none"
    )


def taken_all(folder: Path, kind: type[T]) -> list[T]:
    """Return the records that processes left, by rank: each in a file of that name."""
    see_anew(folder)
    places = [place for place in folder.iterdir() if place.name.isdecimal()]
    return [taken(place, kind) for place in sorted(places, key=lambda place: int(place.name))]


def see_anew(folder: Path) -> None:
    """Have a network's file system look what others have put into a folder: we write there."""
    mark = folder / f".seen-{os.getpid()}"
    mark.touch()
    mark.unlink()
