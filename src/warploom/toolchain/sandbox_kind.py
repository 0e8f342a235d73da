"""How strongly a program can be confined, as records."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from warploom.core.process import ProcessResult
from warploom.toolchain.landlock import landlock_version
from warploom.toolchain.seccomp import is_known_machine


class SandboxKind(StrEnum):
    """How strongly a program was confined.

    `bubblewrap`: a list of folders for a file system, own processes and users, no network.
    `landlock`: a list of folders, no network, but other processes and the names of files are seen.
    `limits`: own process group with limits only; the program sees the user's files and the network.
    """

    BUBBLEWRAP = "bubblewrap"
    LANDLOCK = "landlock"
    LIMITS = "limits"


@dataclass(frozen=True, slots=True)
class Sandbox:
    """What this machine offers; `reason` says why it is nothing stronger."""

    kind: SandboxKind
    program: str = ""
    sized: bool = False
    reason: str = ""

    @property
    def holds(self) -> str:
        """What it keeps a program from, in words."""
        if self.kind is SandboxKind.BUBBLEWRAP:
            words = "own processes, users and no network; sees the system's programs and libraries"
            calls = ", system calls by list" if is_known_machine() else ""
            return f"{words}, and of the user's files the workload's only{calls}"
        if self.kind is SandboxKind.LANDLOCK:
            version = landlock_version()
            signals = "" if version >= 6 else "; can send signals to the user's processes"
            return (
                "reads the system's programs and libraries and of the user's files the workload's "
                f"only, no network, system calls by list (Landlock {version}); sees which files "
                f"and processes there are{signals}"
            )
        return "time, memory, processes and output only: it sees the user's files and the network"


@dataclass(frozen=True, slots=True)
class SandboxedResult:
    """A command's result, and how it was confined."""

    process: ProcessResult
    kind: SandboxKind


@dataclass(frozen=True, slots=True)
class Extras:
    """What a program that uses GPUs needs beyond an ordinary one.

    `writable` folders are shared with it, `devices` are device files and folders of them, and
    `shared_mb` is the size of its /dev/shm, MiB. Where it is one of the ranks that a launcher has
    started, `together` is the folder that the ranks of this machine have as /dev/shm; it then has
    the network and the machine's name, by which ranks find each other, and the user's number.
    """

    writable: tuple[Path, ...] = ()
    devices: tuple[Path, ...] = ()
    shared_mb: int = 64
    together: Path | None = None
