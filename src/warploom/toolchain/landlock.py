"""Landlock: which files a process may touch, held by the kernel without any privilege.

Linux manual: landlock(7). What a kernel can hold grows with the version of its interface.
"""

import ctypes
import errno
import os
import struct
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

# The numbers are the same on every architecture.
_CREATE_RULESET, _ADD_RULE = 444, 445
_ASK_VERSION = 1
_PATH_BENEATH = 1

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
REFER, TRUNCATE, IOCTL_DEVICE = 1 << 13, 1 << 14, 1 << 15
_FIRST_RIGHTS = (1 << 13) - 1
# Special files are made by nobody.
_MAKE_SPECIAL = 1 << 6 | 1 << 9 | 1 << 11
_OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEVICE
_READ = EXECUTE | READ_FILE | READ_DIR
_TCP = 0b11  # bind, connect
_SCOPES = 0b11  # abstract sockets, signals


@dataclass(frozen=True, slots=True)
class Access:
    """What a confined process may touch: all else is refused.

    `devices` can be read, written and controlled. Folders stand for all that is below them.
    """

    readable: Sequence[Path] = ()
    writable: Sequence[Path] = ()
    devices: Sequence[Path] = ()
    network: bool = False


def landlock_version() -> int:
    """Return the version of the kernel's interface, 0 where there is none."""
    version = _syscall(_CREATE_RULESET, None, 0, _ASK_VERSION)
    return max(version, 0)


def _syscall(number: int, *arguments: bytes | int | None) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    passed = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    return int(libc.syscall(ctypes.c_long(number), *passed))


def handled_rights(version: int) -> int:
    """Return the rights to files that the kernel can withhold."""
    rights = _FIRST_RIGHTS
    for since, right in ((2, REFER), (3, TRUNCATE), (5, IOCTL_DEVICE)):
        if version >= since:
            rights |= right
    return rights


def ruleset_attributes(version: int, *, network: bool) -> bytes:
    """Return `struct landlock_ruleset_attr` as far as the kernel knows it."""
    fields = [handled_rights(version)]
    if version >= 4:
        fields.append(0 if network else _TCP)
    if version >= 6:
        fields.append(_SCOPES)
    return struct.pack(f"={len(fields)}Q", *fields)


@contextmanager
def ruleset(access: Access) -> Generator[int]:
    """Yield the descriptor of a ruleset that allows `access`.

    Raises:
        OSError: the kernel refuses it.
    """
    version = landlock_version()
    attributes = ruleset_attributes(version, network=access.network)
    made = _syscall(_CREATE_RULESET, attributes, len(attributes), 0)
    if made < 0:
        raise OSError(ctypes.get_errno() or errno.ENOSYS, "Landlock makes no ruleset")
    try:
        handled = handled_rights(version)
        written = handled & ~_MAKE_SPECIAL & ~IOCTL_DEVICE
        for paths, rights in (
            (access.readable, _READ),
            (access.writable, written),
            (access.devices, WRITE_FILE | READ_FILE | READ_DIR | IOCTL_DEVICE | TRUNCATE),
        ):
            for path in paths:
                _allow(made, path, rights & handled)
        yield made
    finally:
        os.close(made)


def _allow(made: int, path: Path, rights: int) -> None:
    """Allow `rights` below `path`; what is not there needs no rule."""
    try:
        at = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, PermissionError, NotADirectoryError):
        return
    try:
        if not path.is_dir():
            rights &= _OF_FILES
        # struct landlock_path_beneath_attr is packed.
        if _syscall(_ADD_RULE, made, _PATH_BENEATH, struct.pack("=Qi", rights, at), 0) != 0:
            raise OSError(ctypes.get_errno(), "Landlock takes no rule", str(path))
    finally:
        os.close(at)
