"""Runs programs that nobody has read: in bubblewrap where it works, under limits everywhere."""

import dataclasses
import functools
import os
import shutil
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from warploom.core.process import ProcessResult, run_process
from warploom.core.records import Limits

MAX_FILE_MB = 4096
"""The largest file that a command in the sandbox may write, MiB."""

_SHELL_SIGNAL_BASE = 128
_LAST_SIGNAL = 64
_WORK = "/tmp/work"  # noqa: S108 - inside of the sandbox, on its own file system
_BESIDE = "/tmp/beside"  # noqa: S108 - what `beside` is called inside of the sandbox
_MAX_LINKS = 1000
_HIDDEN = ("/home", "/root", "/run", "/var/tmp", "/mnt", "/media")  # noqa: S108


class SandboxKind(StrEnum):
    """How strongly a program was confined.

    `bubblewrap`: own file system, processes, users and no network. `limits`: own process group
    with limits only; the program sees the user's files and the network.
    """

    BUBBLEWRAP = "bubblewrap"
    LIMITS = "limits"


@dataclass(frozen=True, slots=True)
class Sandbox:
    """What this machine offers; `reason` says why it is not bubblewrap."""

    kind: SandboxKind
    program: str = ""
    sized: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SandboxedResult:
    """A command's result, and how it was confined."""

    process: ProcessResult
    kind: SandboxKind


@dataclass(frozen=True, slots=True)
class Extras:
    """What a program that uses GPUs needs beyond an ordinary one.

    `writable` folders are shared with it, `devices` are device files and folders of them, and
    `shared_mb` is the size of its /dev/shm, MiB.
    """

    writable: tuple[Path, ...] = ()
    devices: tuple[Path, ...] = ()
    shared_mb: int = 64


def _wrap(
    sandbox: Sandbox,
    command: Sequence[str],
    readable: Sequence[Path],
    memory_mb: int,
    extras: Extras,
    beside: Path | None = None,
) -> list[str]:
    """Return the bubblewrap command line around `command`."""

    def empty(path: str, megabytes: int) -> list[str]:
        # A file system in memory is not seen by the watch on the processes: bound it.
        size = ["--size", str(megabytes << 20)] if sandbox.sized else []
        return [*size, "--tmpfs", path]

    hidden = {path for path in _HIDDEN if Path(path).is_dir() and not Path(path).is_symlink()}
    home = Path.home()
    if home.is_dir() and not any(home.is_relative_to(path) for path in hidden):
        hidden.add(str(home))
    wrapped = [
        sandbox.program, "--unshare-all", "--die-with-parent", "--cap-drop", "ALL",
        "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
        *(part for path in extras.devices for part in ("--dev-bind", str(path), str(path))),
        *empty("/dev/shm", extras.shared_mb),  # noqa: S108
        *empty("/tmp", max(64, memory_mb // 4)),  # noqa: S108
    ]  # fmt: skip
    for path in sorted(hidden - {"/", "/tmp"}):  # noqa: S108
        wrapped += empty(path, 1)
    for path in readable:
        wrapped += ["--ro-bind", str(path), str(path)]
    for path in extras.writable:
        wrapped += ["--bind", str(path), str(path)]
    wrapped += ["--dir", _WORK]
    if beside is not None:
        wrapped += ["--ro-bind", str(beside), _BESIDE]
        for path in _entries(beside):
            wrapped += ["--symlink", f"{_BESIDE}/{path.name}", f"{_WORK}/{path.name}"]
    return [*wrapped, "--chdir", _WORK, "--", *command]


def _entries(folder: Path) -> list[Path]:
    """Return what a program finds in its working directory of `folder`: not all of a huge one."""
    entries = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    return entries[:_MAX_LINKS]


@functools.cache
def find_sandbox() -> Sandbox:
    """Return the strongest sandbox that works here; tried once per process.

    `WARPLOOM_SANDBOX=limits` asks for the weaker one.
    """
    if os.environ.get("WARPLOOM_SANDBOX") == SandboxKind.LIMITS:
        return Sandbox(SandboxKind.LIMITS, reason="WARPLOOM_SANDBOX asks for limits only")
    program = shutil.which("bwrap")
    if program is None:
        return Sandbox(SandboxKind.LIMITS, reason="bubblewrap (bwrap) is not installed")
    limits = Limits(seconds=10, memory_mb=512, output_mb=1)
    sandbox = Sandbox(SandboxKind.BUBBLEWRAP, program, sized=True)
    result = run_process(_wrap(sandbox, ["true"], (), 256, Extras()), limits=limits)
    if not result.ok and "--size" in result.log:
        sandbox = dataclasses.replace(sandbox, sized=False)
        result = run_process(_wrap(sandbox, ["true"], (), 256, Extras()), limits=limits)
    if result.ok:
        return sandbox
    first = (result.log.strip().splitlines() or ["it failed without a word"])[0]
    return Sandbox(SandboxKind.LIMITS, reason=f"bubblewrap does not work here: {first}")


def _decode_signal(result: ProcessResult) -> ProcessResult:
    """Turn bubblewrap's exit code of a killed program back into the signal."""
    code = result.exit_code
    if code is None or not _SHELL_SIGNAL_BASE < code <= _SHELL_SIGNAL_BASE + _LAST_SIGNAL:
        return result
    return dataclasses.replace(result, exit_code=None, signal=code - _SHELL_SIGNAL_BASE)


def run_sandboxed(
    command: Sequence[str | Path],
    *,
    limits: Limits,
    readable: Sequence[Path] = (),
    beside: Path | None = None,
    environment: Mapping[str, str] | None = None,
    channels: Sequence[int] = (),
    descriptors: Mapping[int, int] | None = None,
    cancel: threading.Event | None = None,
    sandbox: Sandbox | None = None,
    extras: Extras = Extras(),
    file_mb: int = MAX_FILE_MB,
) -> SandboxedResult:
    """Run `command` confined, in an empty working directory that is thrown away.

    Args:
        command: program (absolute path) and arguments.
        limits: wall time, memory and output.
        readable: files and folders that it may read although they lie in a hidden place, such as
            the user's home.
        beside: a folder whose files it can read by their plain names, as if it had been started
            there; what it writes is thrown away all the same.
        environment: its whole environment beside PATH, HOME, TMPDIR and LC_ALL.
        channels: as for `run_process`.
        descriptors: as for `run_process`.
        cancel: as for `run_process`.
        sandbox: instead of what `find_sandbox` found.
        extras: folders, devices and shared memory that a program with GPUs needs.
        file_mb: largest file that it may write, MiB.
    """
    chosen = sandbox or find_sandbox()
    words = [str(part) for part in command]
    base = {"PATH": os.defpath, "LC_ALL": "C.UTF-8"}
    run = functools.partial(
        run_process,
        limits=limits,
        channels=channels,
        descriptors=descriptors,
        file_mb=file_mb,
        cancel=cancel,
    )
    if chosen.kind is SandboxKind.BUBBLEWRAP:
        env = {**base, "HOME": _WORK, "TMPDIR": "/tmp", **(environment or {})}  # noqa: S108
        wrapped = _wrap(chosen, words, readable, limits.memory_mb, extras, beside)
        result = run(wrapped, environment=env)
        return SandboxedResult(_decode_signal(result), chosen.kind)
    with tempfile.TemporaryDirectory(prefix="warploom-run-", ignore_cleanup_errors=True) as folder:
        env = {**base, "HOME": folder, "TMPDIR": folder, **(environment or {})}
        for path in _entries(beside) if beside is not None else ():
            (Path(folder) / path.name).symlink_to(path)
        return SandboxedResult(run(words, environment=env, folder=Path(folder)), chosen.kind)
