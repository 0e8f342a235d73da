"""bubblewrap's command line: a file system that is a list of folders, and nobody's identity."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from warploom.toolchain.folders import MADE_UP, system_folders

WORK = "/tmp/work"  # noqa: S108 - inside of the sandbox, on its own file system
"""The working directory of a program in the sandbox."""

INSIDE = "/warploom"
"""Where it finds the files that are bound under names of ours."""

_BESIDE = "/tmp/beside"  # noqa: S108
_NOBODY = "65534"


@dataclass(frozen=True, slots=True)
class Show:
    """What a command gets to see; sizes are in MiB, None where they cannot be bounded.

    `bound` are files by their names in the sandbox: paths, or descriptors to copy them from, which
    tell nobody where they lie. `together` is as in `Extras`.
    """

    readable: Sequence[Path]
    writable: Sequence[Path]
    bound: Mapping[str, Path | int]
    devices: Sequence[Path]
    beside: Path | None
    links: Sequence[Path]
    cwd: Path | None
    shared_mb: int | None
    temporary_mb: int | None
    filter: int | None
    together: Path | None = None


def wrap(show: Show) -> list[str]:
    """Return the arguments of bubblewrap that come before the command."""

    def empty(path: str, megabytes: int | None) -> list[str]:
        # A file system in memory is not seen by the watch on the processes: bound it.
        size = [] if megabytes is None else ["--size", str(megabytes << 20)]
        return [*size, "--tmpfs", path]

    wrapped = [
        "--unshare-all", "--unshare-user", *_identity(show.together is not None),
        "--die-with-parent", "--cap-drop", "ALL",
        *_system(), "--dev", "/dev", "--proc", "/proc",
        *(part for path in show.devices for part in ("--dev-bind", str(path), str(path))),
        *(
            empty("/dev/shm", show.shared_mb)  # noqa: S108
            if show.together is None
            else ["--bind", str(show.together), "/dev/shm"]  # noqa: S108
        ),
        *empty("/tmp", show.temporary_mb),  # noqa: S108
        "--dir", WORK,
    ]  # fmt: skip
    for path in show.readable:
        wrapped += ["--ro-bind", str(path), str(path)]
    for name, file in show.bound.items():
        copied = ["--perms", "0555", "--ro-bind-data"] if isinstance(file, int) else ["--ro-bind"]
        wrapped += [*copied, str(file), f"{INSIDE}/{name}"]
    for path in show.writable:
        wrapped += ["--bind", str(path), str(path)]
    if show.beside is not None:
        wrapped += ["--ro-bind", str(show.beside), _BESIDE]
        for path in show.links:
            wrapped += ["--symlink", f"{_BESIDE}/{path.name}", f"{WORK}/{path.name}"]
    # What is between the mounts is a file system in memory too: nobody writes there.
    wrapped += ["--remount-ro", "/", "--remount-ro", "/dev"]
    if show.filter is not None:
        wrapped += ["--seccomp", str(show.filter)]
    return [*wrapped, "--chdir", str(show.cwd or WORK)]


def _identity(together: bool) -> list[str]:
    """Return who a program is, and whom it can reach: nobody, and nobody."""
    if together:  # a launcher's daemon asks for its user's number, libraries for the machine's name
        return ["--uid", str(os.getuid()), "--gid", str(os.getgid()), "--share-net"]
    return ["--uid", _NOBODY, "--gid", _NOBODY, "--hostname", "warploom"]


def _system() -> list[str]:
    """Return the mounts of the system's programs and libraries, and a made-up /etc."""
    mounts: list[str] = []
    for path in system_folders():
        if path.is_symlink():
            mounts += ["--symlink", str(path.readlink()), str(path)]
        else:
            mounts += ["--ro-bind", str(path), str(path)]
    for path in sorted(MADE_UP.iterdir()):
        mounts += ["--ro-bind", str(path), f"/etc/{path.name}"]
    return mounts
