"""What of the machine a confined command sees: the system's programs and libraries, no more."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

MADE_UP = Path(__file__).with_name("etc")
"""Files that stand for those of /etc that tell of the machine's users."""

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_NIX = ("/nix/store", "/gnu/store")  # where the whole system lies, on such systems
_ETC = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime")
_ETC_OF_GPUS = (
    "openmpi", "openmpi-x86_64", "mpich", "libibverbs.d", "nccl.conf", "pmix-mca-params.conf",
    "OpenCL", "vulkan", "hosts", "resolv.conf",
)  # fmt: skip
# Where the C library looks up how large pages are to be used.
_SETTINGS = ("/sys/kernel/mm/transparent_hugepage", "/sys/devices/system/cpu")
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


def system_folders() -> list[Path]:
    """Return the folders of programs and libraries; links among them are kept as such."""
    return [path for name in (*SYSTEM, *_NIX) if (path := Path(name)).exists()]


def system_settings(*, gpus: bool) -> list[Path]:
    """Return what else a program may read: a short list of /etc and of the kernel's settings."""
    names = (*_ETC, *(_ETC_OF_GPUS if gpus else ()))
    places = ("/sys",) if gpus else _SETTINGS
    found = [Path("/etc", name) for name in names] + [Path(name) for name in places]
    return [path for path in found if path.exists()]


def is_of_system(path: Path) -> bool:
    """Whether a command sees `path` anyway."""
    return any(path.is_relative_to(folder) for folder in (*SYSTEM, *_NIX))


def needed(paths: Iterable[Path]) -> list[Path]:
    """Return which of `paths` a command has to be shown, outer ones first.

    Each is there under the name that it was given and under its real one.
    """
    found: dict[Path, None] = {}
    for path in paths:
        # Not resolved: a name that leads through a link has to lead somewhere.
        plain = Path(os.path.abspath(path))  # noqa: PTH100
        for name in (plain, Path(os.path.realpath(plain))):
            if not is_of_system(name) and name.exists():
                found[name] = None
    return sorted(found, key=lambda path: len(path.parts))


def entries(folder: Path, most: int) -> list[Path]:
    """Return what a program finds in its working directory of `folder`: not all of a huge one."""
    found = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    return found[:most]


def names_in(words: Sequence[str]) -> tuple[list[Path], list[Path]]:
    """Return the files and folders that a compiler's arguments name: to read, and to write to.

    `-o` names what is written; its folder has to take temporary files too.
    """
    read: list[Path] = []
    write: list[Path] = []
    before = ""
    for word in words:
        name = word[2:] if word[:2] in ("-I", "-L", "-B") else word
        if name.startswith("/"):
            path = Path(name)
            if before == "-o":
                write.append(path.parent)
            elif before == "-include":
                read.append(path.parent)  # a precompiled form may lie beside it
            else:
                read.append(path)
        before = word
    return read, write
