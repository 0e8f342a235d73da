"""Seals cache entries, so that what somebody else wrote is not taken for ours.

A seal is a list of an entry's files with their digests, under an HMAC whose key only the user can
read; no confined program sees it. Large files are not read again while they are the same file and
nobody has changed them: the time of the last change is set by the kernel alone.
"""

import contextlib
import functools
import hashlib
import hmac
import json
import os
import secrets
import stat
from pathlib import Path
from typing import cast

from warploom.core.errors import ToolFailedError

SEAL = ".seal"
"""The file in an entry that holds its seal."""

PRIVATE = ".private"
"""The folder in a cache that holds its key."""

KEY = "cache.key"
"""The name of the file that holds the key."""

_KEY_BYTES = 32
_LARGE = 4 << 20  # bytes from which on a file is recognized, not read


def make_key(path: Path) -> bytes:
    """Write a new key to `path`, readable by the user alone, and return it.

    Raises:
        FileExistsError: something is there already.
    """
    key = secrets.token_bytes(_KEY_BYTES)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(key)
    return key


def key_places(root: Path) -> tuple[Path, Path]:
    """Return the folders that may hold the key: the user's state folder, and one in the cache."""
    base = os.environ.get("XDG_STATE_HOME")
    state = (Path(base) if base else Path.home() / ".local" / "state") / "warploom"
    return state, root / PRIVATE


def key_file(root: Path) -> Path:
    """Return where the key is: with the cache `root`, or else in the user's state folder.

    Whoever shares a cache shares its key, whatever their home and however they name it: two keys
    for one cache would throw away each other's entries. No confined program sees either place.
    """
    state, private = key_places(root)
    for folder in (private, state):
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if os.access(folder, os.W_OK) or (folder / KEY).exists():
                return folder / KEY
    raise ToolFailedError(
        f"the key of the cache must be kept in {private}, but that cannot be written",
        hint="set WARPLOOM_CACHE to a folder that you can write to",
    )


def _read(path: Path) -> bytes:
    info = path.stat()
    key = path.read_bytes()
    if info.st_uid != os.geteuid() or stat.S_IMODE(info.st_mode) & 0o077 or len(key) < _KEY_BYTES:
        raise ToolFailedError(
            f"the key of the cache must be yours and readable by nobody else, but {path} is not",
            hint="remove it: a new one is made, and what is cached is built again",
        )
    return key


@functools.lru_cache(maxsize=16)
def _key(root: Path) -> bytes:
    path = key_file(root)
    if not path.exists():
        fresh = path.with_name(f".{secrets.token_hex(8)}")
        make_key(fresh)
        try:
            with contextlib.suppress(FileExistsError):  # another process was first
                os.link(fresh, path)
        finally:
            fresh.unlink()
    return _read(path)


def _identity(path: Path) -> list[int]:
    info = path.lstat()
    return [info.st_size, info.st_ino, info.st_ctime_ns]


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _files(folder: Path) -> list[str] | None:
    """Return the names of all files below `folder`; None where there is a link among them."""
    found: list[str] = []
    for directory, folders, names in os.walk(folder):
        paths = [Path(directory, name) for name in (*names, *folders)]
        if any(path.is_symlink() for path in paths):
            return None
        found += [str(Path(directory, name).relative_to(folder)) for name in names]
    return sorted(name for name in found if name != SEAL)


def _mac(key: bytes, name: str, files: object) -> str:
    text = json.dumps([name, files], sort_keys=True).encode()
    return hmac.new(key, text, hashlib.sha256).hexdigest()


def seal(folder: Path, name: str, root: Path, key: bytes | None = None) -> None:
    """Seal the entry `name` of the cache `root`, which lies in `folder` and is complete.

    `key` is used instead of the user's: for a cache that others are to work with.
    """
    files = {
        item: [*_identity(folder / item), _digest(folder / item)] for item in _files(folder) or ()
    }
    fresh = folder.parent / f".seal-{secrets.token_hex(8)}"
    mac = _mac(key or _key(root), name, files)
    fresh.write_text(json.dumps({"files": files, "mac": mac}))
    fresh.rename(folder / SEAL)


def has_seal(folder: Path) -> bool:
    """Whether an entry has any seal: those of earlier versions have none."""
    return (folder / SEAL).exists()


def is_sound(folder: Path, name: str, root: Path) -> bool:
    """Whether `folder` holds what was sealed as the entry `name` of the cache `root`."""
    try:
        told = json.loads((folder / SEAL).read_text())
        files = cast("dict[str, list[int | str]]", told["files"])
        if not hmac.compare_digest(str(told["mac"]), _mac(_key(root), name, files)):
            return False
        if sorted(files) != _files(folder):
            return False
        moved = False
        for item, (*identity, digest) in files.items():
            same = identity == _identity(folder / item)
            if same and int(identity[0]) >= _LARGE:
                continue
            if _digest(folder / item) != digest:
                return False
            moved = moved or (not same and int(identity[0]) >= _LARGE)
    except (OSError, ValueError, KeyError, TypeError):
        return False
    if moved:  # a copy of the cache: next time it is recognized
        with contextlib.suppress(OSError):
            seal(folder, name, root)
    return True
