"""A cache for one session of an agent: seeded from the user's, with a key of its own.

What an agent builds must not be taken for ours, and it must not wait a minute for a runtime that
lies in the user's cache. So it gets copies, sealed with a key that is worth nothing elsewhere.
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from warploom.toolchain.cache import cache_root, folder_bytes
from warploom.toolchain.seal import KEY, PRIVATE, is_sound, make_key, seal

# What every program needs, the dearest first. Programs are left out: there is no end of them.
_SEEDED = ("runtime", "guard", "supervisor", "prefix", "macros", "nccl", "objects")
_MOST_BYTES = 512 << 20
_LEFT_BEHIND_SECONDS = 2 * 86400.0
_FICLONE = 0x40049409  # ioctl_ficlone(2): copy without copying, where the file system can


def agents_root() -> Path:
    """Return the folder for what agents leave beside the user's cache; nothing of ours is there."""
    root = cache_root()
    return root.with_name(f"{root.name}-agents")


@contextmanager
def private_folder() -> Generator[Path]:
    """Yield an empty folder for one session, thrown away after it."""
    top = agents_root() / "sessions"
    try:
        top.mkdir(parents=True, exist_ok=True)
        _remove_left_behind(top)
        made = Path(tempfile.mkdtemp(prefix="session-", dir=top))
    except OSError:  # beside the cache nothing can be written: the system's place will do
        made = Path(tempfile.mkdtemp(prefix="warploom-session-"))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def seed_cache(into: Path) -> None:
    """Make `into` a cache that holds copies of the user's entries, and a key of its own.

    Entries that are not sound, or that vanish while they are copied, are left out.
    """
    root = cache_root()
    private = into / PRIVATE
    private.mkdir(parents=True, mode=0o700)
    key = make_key(private / KEY)
    room = _MOST_BYTES
    for kind in _SEEDED:
        for entry in _newest_first(root / kind):
            name = f"{kind}/{entry.name}"
            room -= folder_bytes(entry)
            if room < 0:
                return
            if is_sound(entry, name, root):
                _copy_entry(entry, into / name, name, key)


def _newest_first(kind: Path) -> list[Path]:
    with contextlib.suppress(OSError):
        found = [path for path in kind.iterdir() if path.is_dir() and path.name[:1] != "."]
        return sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)
    return []


def _copy_entry(entry: Path, to: Path, name: str, key: bytes) -> None:
    try:
        shutil.copytree(entry, to, copy_function=_copy_file)
        seal(to, name, to.parent, key)
    except (OSError, shutil.Error):  # pruned meanwhile: it is made again where it is needed
        shutil.rmtree(to, ignore_errors=True)


def _copy_file(source: str, to: str) -> None:
    with open(source, "rb") as old, open(to, "wb") as new:  # noqa: PTH123 - names, from copytree
        try:
            fcntl.ioctl(new, _FICLONE, old.fileno())
        except OSError:
            shutil.copyfileobj(old, new, 1 << 20)
    shutil.copystat(source, to)


def _remove_left_behind(top: Path) -> None:
    """Remove the folders of sessions whose process was killed."""
    for folder in top.iterdir():
        with contextlib.suppress(OSError):
            if time.time() - folder.stat().st_mtime > _LEFT_BEHIND_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)


def default_roots() -> tuple[Path, ...]:
    """Return where a process looks for its cache that is not told `WARPLOOM_CACHE`."""
    base = os.environ.get("XDG_CACHE_HOME")
    places = [Path.home() / ".cache" / "warploom"]
    if base:
        places.append(Path(base) / "warploom")
    return tuple(places)
