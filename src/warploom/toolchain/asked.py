"""One run in the sandbox, as asked for, and how each kind of sandbox sets it up."""

import contextlib
import dataclasses
import os
import shutil
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from warploom.core.process import Held
from warploom.core.records import Limits
from warploom.toolchain.bubblewrap import INSIDE, Show, wrap
from warploom.toolchain.folders import DEVICES, entries, needed, system_folders, system_settings
from warploom.toolchain.landlock import Access, ruleset
from warploom.toolchain.sandbox_kind import Extras, Sandbox, SandboxKind
from warploom.toolchain.seccomp import Profile, is_known_machine, seccomp_filter

_MAX_LINKS = 1000


@dataclass(frozen=True, slots=True)
class Ask:
    """What `run_sandboxed` was asked for, put together."""

    command: Sequence[str | Path]
    limits: Limits
    readable: Sequence[Path]
    writable: Sequence[Path]
    folder: Path | None
    cwd: Path | None
    beside: Path | None
    environment: Mapping[str, str]
    bound: Mapping[Path, str]
    profile: Profile
    extras: Extras
    data_mb: int

    @property
    def disk_mb(self) -> int:
        """How much it may write to files that are thrown away."""
        return max(64, self.limits.memory_mb // 4)

    def words(self, inside: str) -> list[str]:
        """Return the command line, with the names that bound files have in the sandbox."""
        return [
            f"{inside}/{self.bound[part]}"
            if isinstance(part, Path) and part in self.bound
            else str(part)
            for part in self.command
        ]


def environment_of(ask: Ask, home: str, temporary: str) -> dict[str, str]:
    """Return the command's whole environment."""
    given = {"PATH": os.defpath, "LC_ALL": "C.UTF-8", "HOME": home, **ask.environment}
    return {**given, "TMPDIR": temporary}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a command works that has the machine's own file system; `files` it may only read."""

    root: Path
    files: Path
    cwd: Path
    words: list[str]
    environment: dict[str, str]


@contextmanager
def scratch(ask: Ask, kind: SandboxKind) -> Generator[Place]:
    """Make a folder to work in, which goes when the command is over."""
    with tempfile.TemporaryDirectory(prefix="warploom-run-", ignore_cleanup_errors=True) as name:
        root = Path(name)
        work, files = root / "work", root / "files"
        work.mkdir()
        for path in entries(ask.beside, _MAX_LINKS) if ask.beside is not None else ():
            (work / path.name).symlink_to(path)
        for path, inside in ask.bound.items():
            (files / inside).parent.mkdir(parents=True, exist_ok=True)
            _put(path, files / inside, link=kind is SandboxKind.LANDLOCK)
        yield Place(
            root, files, ask.cwd or ask.folder or work, ask.words(str(files)),
            environment_of(ask, str(work), str(work)),
        )  # fmt: skip


def _put(path: Path, at: Path, *, link: bool) -> None:
    """Show `path` as `at`: by another name of it where it cannot be written there, else a copy."""
    if link:
        with contextlib.suppress(OSError):  # another file system
            os.link(path, at)
            return
    shutil.copy2(path, at)


@contextmanager
def hold(ask: Ask, kind: SandboxKind, place: Place) -> Generator[Held]:
    """Yield what holds a command without bubblewrap."""
    bounds = Held(folder=place.root, disk_mb=ask.disk_mb, data_mb=ask.data_mb)
    if kind is not SandboxKind.LANDLOCK:
        yield bounds
        return
    gpus = ask.profile is Profile.GPU
    beside = () if ask.beside is None else (ask.beside,)
    shared = (Path("/dev/shm"),) if gpus else ()  # noqa: S108
    access = Access(
        readable=(
            *system_folders(), *system_settings(gpus=gpus), *ask.readable, *beside, place.files,
            *((Path("/proc"),) if gpus else ()),
        ),
        writable=(
            place.root / "work", *ask.writable, *shared, *([ask.folder] if ask.folder else []),
        ),
        devices=(*map(Path, DEVICES), *ask.extras.devices),
        network=gpus,
    )  # fmt: skip
    with ruleset(access) as descriptor:
        filter_ = seccomp_filter(ask.profile, alone=ask.profile is Profile.PROGRAM)
        yield dataclasses.replace(bounds, ruleset=descriptor, filter=filter_)


@dataclass(slots=True)
class Given:
    """Descriptors for bubblewrap itself: `passed` maps their numbers in there to ours."""

    stack: contextlib.ExitStack
    passed: dict[int, int]
    next: int

    def file(self, descriptor: int) -> int:
        """Pass on an open file of ours, which is closed in the end; return its number there."""
        self.stack.callback(os.close, descriptor)
        number = self.next
        self.next += 1
        self.passed[number] = descriptor
        return number

    def text(self, content: bytes) -> int:
        """Pass on a file that holds `content`."""
        descriptor = os.memfd_create("warploom-sandbox")
        number = self.file(descriptor)
        with open(descriptor, "wb", closefd=False) as file:
            file.write(content)
        os.lseek(descriptor, 0, os.SEEK_SET)
        return number


def wrapped(sandbox: Sandbox, ask: Ask, given: Given) -> list[str]:
    """Return the command line of bubblewrap.

    Its arguments go by a file: they name our folders, and every process in the sandbox can read
    the command line.
    """
    extras = ask.extras
    gpus = ask.profile is Profile.GPU
    # bubblewrap's own file system and network are enough for what uses GPUs.
    listed = ask.profile is not Profile.GPU and is_known_machine()
    writable = ask.writable if ask.folder is None else (*ask.writable, ask.folder)
    show = Show(
        readable=(*system_settings(gpus=gpus), *needed(ask.readable)),
        writable=needed(writable),
        bound={
            name: given.file(os.open(path, os.O_RDONLY | os.O_CLOEXEC)) if sandbox.sized else path
            for path, name in ask.bound.items()
        },
        devices=extras.devices,
        beside=ask.beside,
        links=entries(ask.beside, _MAX_LINKS) if ask.beside is not None else (),
        cwd=ask.cwd or ask.folder,
        shared_mb=extras.shared_mb if sandbox.sized else None,
        temporary_mb=ask.disk_mb if sandbox.sized else None,
        filter=given.text(seccomp_filter(ask.profile)) if listed else None,
        together=extras.together,
    )
    arguments = b"".join(os.fsencode(part) + b"\0" for part in wrap(show))
    return [sandbox.program, "--args", str(given.text(arguments)), "--", *ask.words(INSIDE)]
