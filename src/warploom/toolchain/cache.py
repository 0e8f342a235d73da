"""The user's cache: folders named by content, published atomically, pruned by age and size.

An entry is `<root>/<kind>/<key>/`, complete as soon as it exists. Entries are never changed, only
touched when used; the least recently used go first. Each is sealed (`seal.py`): what is not as we
made it is thrown away and made again.
"""

import contextlib
import fcntl
import os
import secrets
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from warploom.core.errors import ToolFailedError
from warploom.toolchain.seal import has_seal, is_sound, seal

MAX_BYTES = 4 << 30
MAX_AGE_DAYS = 30.0
_IN_USE_SECONDS = 600
_PRUNE_EVERY_SECONDS = 3600.0


def cache_root() -> Path:
    """Return `$WARPLOOM_CACHE`, or `warploom` in the user's cache folder."""
    own = os.environ.get("WARPLOOM_CACHE")
    if own:
        return Path(own).absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "warploom"


@contextmanager
def locked(path: Path) -> Generator[None]:
    """Hold an exclusive lock on the file `path` (made if absent) among all processes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _make_root(root: Path) -> None:
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ToolFailedError(
            f"the cache folder {root} must be writable, got: {error.strerror}",
            hint="set WARPLOOM_CACHE to a folder that you can write to",
        ) from None


def cached_folder(
    kind: str, key: str, make: Callable[[Path], None], root: Path | None = None
) -> tuple[Path, bool]:
    """Return the folder of `key`, made by `make(folder)` if it is not there yet.

    `make` fills a temporary folder that takes its name when done; if it raises, nothing is kept.
    Two processes never make the same entry at the same time.

    Returns:
        The folder, and whether it was there already.
    """
    top = root or cache_root()
    base = top / kind
    final = base / key
    name = f"{kind}/{key}"
    if final.is_dir() and is_sound(final, name, top):
        touch(final)
        return final, True
    _make_root(base)
    with locked(base / ".locks" / key):
        if final.is_dir():
            if is_sound(final, name, top):
                return final, True
            _throw_away(final)
        fresh = Path(tempfile.mkdtemp(prefix=".new-", dir=base))
        try:
            make(fresh)
            seal(fresh, name, top)
            fresh.chmod(0o755)
            fresh.rename(final)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    prune(root, every=_PRUNE_EVERY_SECONDS)
    return final, False


def _throw_away(entry: Path) -> None:
    """Remove an entry that is not as it was made, and say so."""
    if has_seal(entry):
        sys.stderr.write(
            f"warploom: note: {entry} was changed by somebody else: thrown away, made again\n"
        )
    # First out of the way: what cannot be removed shall not be used either.
    aside = entry.with_name(f".new-broken-{secrets.token_hex(8)}")
    entry.rename(aside)
    shutil.rmtree(aside, ignore_errors=True)


def _retire(entry: Path) -> bool:
    """Remove an entry, unless it was used a moment ago and so may be in use; tell whether it was.

    It takes another name first: half an entry would look as if somebody had changed it.
    """
    with contextlib.suppress(OSError):
        if time.time() - entry.stat().st_mtime <= _IN_USE_SECONDS:
            return False
        aside = entry.with_name(f".new-old-{secrets.token_hex(8)}")
        entry.rename(aside)
        shutil.rmtree(aside, ignore_errors=True)
        return True
    return False


def touch(folder: Path) -> None:
    """Note that `folder` was used now."""
    with contextlib.suppress(OSError):
        os.utime(folder)


def folder_bytes(folder: Path) -> int:
    """Return the size of all files below `folder`."""
    total = 0
    for directory, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += Path(directory, name).lstat().st_size
    return total


def cache_sizes(root: Path | None = None) -> dict[str, int]:
    """Return the bytes held by each kind of entry."""
    base = root or cache_root()
    if not base.is_dir():
        return {}
    return {kind.name: folder_bytes(kind) for kind in sorted(base.iterdir()) if kind.is_dir()}


def prune(
    root: Path | None = None,
    *,
    max_bytes: int = MAX_BYTES,
    max_age_days: float = MAX_AGE_DAYS,
    every: float = 0.0,
) -> int:
    """Remove entries that are too old, then the least recently used ones above `max_bytes`.

    Downloaded NCCL headers stay. `every` skips the work if it was done less than that many
    seconds ago.

    Returns:
        How many entries were removed.
    """
    base = root or cache_root()
    mark = base / ".pruned"
    now = time.time()
    if every and mark.exists() and now - mark.stat().st_mtime < every:
        return 0
    entries: list[tuple[float, Path]] = []
    for kind in base.iterdir():
        if kind.is_dir() and kind.name not in ("nccl", ".private"):
            # Unfinished folders of a killed process count too, once they are an hour old.
            entries += [
                (entry.stat().st_mtime, entry)
                for entry in kind.iterdir()
                if entry.is_dir() and entry.name != ".locks"
                and not (entry.name.startswith(".new-") and now - entry.stat().st_mtime < 3600)
            ]  # fmt: skip
    entries.sort(reverse=True)
    kept = removed = 0
    for used, entry in entries:
        kept += folder_bytes(entry)
        too_old = now - used > max_age_days * 86400
        if too_old or kept > max_bytes:
            removed += _retire(entry)
    for lock in base.glob("*/.locks/*"):
        with contextlib.suppress(OSError):
            if now - lock.stat().st_mtime > 86400:
                lock.unlink()
    mark.touch()
    return removed
