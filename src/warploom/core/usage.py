"""What a tree of processes holds: memory, files in memory, files of a folder."""

import os
from collections.abc import Collection, Sequence
from pathlib import Path

_MIB = 1 << 20
_PAGE = os.sysconf("SC_PAGE_SIZE")
_BLOCK = 512  # of st_blocks, whatever the file system


def process_tree(root: int) -> list[int]:
    """Return the process ids below `root`."""
    found: list[int] = []
    todo = [root]
    while todo:
        pid = todo.pop()
        try:
            for task in Path(f"/proc/{pid}/task").iterdir():
                below = [int(child) for child in (task / "children").read_text().split()]
                found += below
                todo += below
        except OSError:
            continue
    return found


def held_mb(pids: Sequence[int]) -> int:
    """Return the memory that processes hold, in MiB, with what they keep in memory files."""
    own = mapped = 0
    for pid in pids:
        try:
            resident, shared = Path(f"/proc/{pid}/statm").read_text().split()[1:3]
        except (OSError, ValueError):
            continue
        own += (int(resident) - int(shared)) * _PAGE
        mapped += int(shared) * _PAGE
    # Pages of a memory file that nobody has mapped are in no process's count.
    files = sum(_unnamed(pids, in_memory=True).values())
    return (own + max(mapped, files)) // _MIB


def _unnamed(pids: Sequence[int], *, in_memory: bool) -> dict[tuple[int, int], int]:
    """Return the bytes of open files without a name, by device and inode."""
    found: dict[tuple[int, int], int] = {}
    for pid in pids:
        try:
            for number in os.listdir(f"/proc/{pid}/fd"):  # noqa: PTH208 - 20 times a second
                path = f"/proc/{pid}/fd/{number}"
                name = os.readlink(path)  # noqa: PTH115
                if name.endswith(" (deleted)") and name.startswith("/memfd:") is in_memory:
                    info = os.stat(path)  # noqa: PTH116
                    found[info.st_dev, info.st_ino] = info.st_blocks * _BLOCK
        except OSError:
            continue
    return found


def written_mb(folder: Path, pids: Sequence[int], ours: Collection[tuple[int, int]]) -> int:
    """Return what lies below `folder`, and in files of `pids` that have lost their names, MiB.

    `ours` are the files, by device and inode, that were given to the processes to write to.
    """
    unnamed = _unnamed(pids, in_memory=False)
    total = sum(size for file, size in unnamed.items() if file not in ours)
    todo = [str(folder)]
    while todo:
        try:
            with os.scandir(todo.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        todo.append(entry.path)
                    # An empty file costs room too.
                    total += entry.stat(follow_symlinks=False).st_blocks * _BLOCK + _BLOCK
        except OSError:
            continue
    return total // _MIB


def free_disk_mb(folder: Path) -> int:
    """Return the room that is left where `folder` lies, MiB."""
    info = os.statvfs(folder)
    return info.f_bavail * info.f_frsize // _MIB


def available_memory_mb() -> int:
    """Return the memory that the machine can still give, in MiB."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) // 1024
    return 1 << 30
