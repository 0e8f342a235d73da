"""Runs a command under limits, and leaves nothing of it behind.

Each command gets a session of its own below a small supervisor (supervisor.py, or quicker, what is
made of supervisor.cpp), which is the reaper of all its descendants: when the command ends, when a
limit is passed, on Ctrl-C, or when we die ourselves, the whole tree is killed.
"""

import os
import selectors
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import cast

from warploom.core.errors import MissingToolError, ToolFailedError
from warploom.core.records import Limits
from warploom.core.usage import (
    available_memory_mb,
    free_disk_mb,
    held_mb,
    process_tree,
    written_mb,
)

_PLAIN_SUPERVISOR = (sys.executable, "-I", "-S", str(Path(__file__).with_name("supervisor.py")))
_POLL_SECONDS = 0.05
_DISK_EVERY = 5  # looks at the processes per look at what they wrote
_DISK_RESERVE_MB = 256
_GRACE_SECONDS = 5.0
_CHUNK = 1 << 16
_MIB = 1 << 20
_MACHINE_RESERVE_MB = 256
_LARGE_MB = 512
MAX_PROCESSES = 512
"""Processes that one command may have at a time."""

ALLOWED_ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "TMPDIR", "TZ")
"""The variables of ours that a command gets by default: nothing that could hold a secret."""


QUICK_SUPERVISOR = Path(__file__).with_name("supervisor.cpp")
"""The source of a supervisor that starts sooner than supervisor.py, and does the same."""

_quick_supervisor: list[Path] = []


def use_supervisor(program: Path | None) -> None:
    """Have commands watched by `program`, made of `QUICK_SUPERVISOR`; None: by supervisor.py."""
    _quick_supervisor[:] = [] if program is None else [program]


def _supervisor() -> tuple[str, ...]:
    # A cache that is cleared under a process that runs for long shall not end its work.
    found = [str(path) for path in _quick_supervisor if path.exists()]
    return (*found,) or _PLAIN_SUPERVISOR


class Stop(StrEnum):
    """Why a command was ended by us."""

    TIMEOUT = "timeout"
    OUTPUT = "output_limit"
    MEMORY = "memory_limit"
    PROCESSES = "process_limit"
    DISK = "disk_limit"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Held:
    """What holds a command beside its limits; see `toolchain/sandbox.py`.

    `ruleset` is a descriptor of a Landlock ruleset and `filter` a seccomp program, which the
    command starts under, without privileges. `folder` is where it writes, at most `disk_mb` MiB.
    `data_mb` bounds what each of its processes can have as writable memory of its own, MiB.
    `beside` is how many commands may begin beside it: the kernel counts the processes and threads
    of a user, and theirs are none of its own.
    """

    ruleset: int | None = None
    filter: bytes = b""
    folder: Path | None = None
    disk_mb: int = 0
    data_mb: int = 0
    beside: int = 0


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """What became of a command.

    `exit_code` is None when a signal (`signal`) or we (`stopped`) ended it. `channels` holds what
    it wrote to the extra descriptors. `truncated` says that output beyond the limit was dropped;
    `memory_mb` is the most memory its processes held together when looked at (20 times a second).
    """

    exit_code: int | None
    signal: int | None
    stdout: bytes
    stderr: bytes
    truncated: bool
    stopped: Stop | None
    seconds: float
    memory_mb: int
    memory_limit_mb: int
    channels: Mapping[int, bytes] = field(default_factory=dict[int, bytes])

    @property
    def ok(self) -> bool:
        """Whether the command ended by itself with exit code 0."""
        return self.exit_code == 0 and self.stopped is None

    @property
    def log(self) -> str:
        """Standard output and error as text, in this order."""
        return (self.stdout + self.stderr).decode(errors="replace")


@dataclass(slots=True)
class _Stream:
    """One pipe that is being read; `shared` are the bytes read so far, against one limit."""

    limit: int
    shared: list[int]
    data: bytearray = field(default_factory=bytearray)

    def take(self, chunk: bytes) -> bool:
        """Keep what fits; return False when the limit is passed."""
        room = max(0, self.limit - self.shared[0])
        self.data += chunk[:room]
        self.shared[0] += len(chunk)
        return self.shared[0] <= self.limit


def default_environment() -> dict[str, str]:
    """Return the allow-listed part of our environment, for tools such as compilers."""
    found = {name: os.environ[name] for name in ALLOWED_ENVIRONMENT if name in os.environ}
    return {"PATH": os.defpath, "LC_ALL": "C.UTF-8", **found}


def _process_limit(beside: int) -> int:
    """Return a limit for RLIMIT_NPROC, which counts every thread of the user, not only ours."""
    tasks = Path("/proc/loadavg").read_text().split()[3].partition("/")[2]
    return int(tasks) + MAX_PROCESSES * (1 + beside)


class _Disk:
    """Looks now and then at what a command has written to its folder."""

    def __init__(self, folder: Path, most_mb: int, ours: Collection[int]) -> None:
        self.folder = folder
        self.most_mb = most_mb
        self.ours = {(info.st_dev, info.st_ino) for info in map(os.fstat, ours)}
        self.roomy = free_disk_mb(folder) > _DISK_RESERVE_MB
        self.looks = 0

    def is_full(self, pids: Sequence[int]) -> bool:
        """Whether it wrote too much, or leaves no room to others."""
        self.looks += 1
        if self.looks % _DISK_EVERY:
            return False
        if self.roomy and free_disk_mb(self.folder) < _DISK_RESERVE_MB:
            return True
        return written_mb(self.folder, pids, self.ours) > self.most_mb


class _Running:
    """One started command: reads its pipes and watches its limits until it is over."""

    def __init__(
        self,
        process: "subprocess.Popen[bytes]",
        limits: Limits,
        pipes: Mapping[int, int],
        channel_mb: int,
        cancel: threading.Event | None,
        disk: "_Disk | None",
    ) -> None:
        self.process = process
        self.cancel = cancel
        self.disk = disk
        self.started = time.monotonic()
        self.deadline = self.started + limits.seconds
        self.memory_limit_mb = min(
            limits.memory_mb, max(64, available_memory_mb() - 2 * _MACHINE_RESERVE_MB)
        )
        self.memory_mb = 0
        self.stopped: Stop | None = None
        output = [0]
        assert process.stdout is not None and process.stderr is not None
        self.stdout = _Stream(limits.output_mb * _MIB, output)
        self.stderr = _Stream(limits.output_mb * _MIB, output)
        self.channels = {to: _Stream(channel_mb * _MIB, [0]) for to in pipes}
        self.selector = selectors.DefaultSelector()
        self.selector.register(process.stdout.fileno(), selectors.EVENT_READ, self.stdout)
        self.selector.register(process.stderr.fileno(), selectors.EVENT_READ, self.stderr)
        for to, descriptor in pipes.items():
            self.selector.register(descriptor, selectors.EVENT_READ, self.channels[to])

    def stop(self, reason: Stop) -> None:
        """Ask the supervisor to end everything; the first reason counts."""
        if self.stopped is None:
            self.stopped = reason
            self.deadline = time.monotonic() + _GRACE_SECONDS
            self.process.terminate()

    def _look(self) -> None:
        """Compare the command with its limits."""
        if self.stopped is not None:
            if time.monotonic() > self.deadline:
                self.kill()
            return
        reason = self._passed_limit()
        if reason is not None:
            self.stop(reason)

    def _passed_limit(self) -> Stop | None:
        if self.cancel is not None and self.cancel.is_set():
            return Stop.CANCELLED
        if time.monotonic() > self.deadline:
            return Stop.TIMEOUT
        pids = process_tree(self.process.pid)
        held = held_mb(pids)
        self.memory_mb = max(self.memory_mb, held)
        # A machine that runs out of memory ends the large commands, whoever began it.
        short = held > _LARGE_MB and available_memory_mb() < _MACHINE_RESERVE_MB
        if held > self.memory_limit_mb or short:
            return Stop.MEMORY
        if len(pids) > MAX_PROCESSES:
            return Stop.PROCESSES
        if self.disk is not None and self.disk.is_full(pids):
            return Stop.DISK
        return None

    def kill(self) -> None:
        """End the session at once, the supervisor with it."""
        for pid in (*process_tree(self.process.pid), self.process.pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue

    def drain(self) -> None:
        """Read until every pipe is closed."""
        look_at = 0.0
        while self.selector.get_map():
            now = time.monotonic()
            if now >= look_at:
                self._look()
                look_at = now + _POLL_SECONDS
            for key, _ in self.selector.select(_POLL_SECONDS):
                chunk = os.read(key.fd, _CHUNK)
                if not chunk:
                    self.selector.unregister(key.fd)
                elif not cast("_Stream", key.data).take(chunk):
                    self.stop(Stop.OUTPUT)

    def close(self) -> None:
        """Make sure that the process is gone and reaped."""
        self.selector.close()
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(_GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                self.kill()
                self.process.wait()

    def result(self) -> ProcessResult:
        """Return the record; the process is over."""
        code = self.process.wait()
        ended = self.stopped is not None
        streams = (self.stdout, self.stderr, *self.channels.values())
        return ProcessResult(
            exit_code=None if ended or code < 0 else code,
            signal=-code if code < 0 and not ended else None,
            stdout=bytes(self.stdout.data),
            stderr=bytes(self.stderr.data),
            truncated=any(stream.shared[0] > stream.limit for stream in streams),
            stopped=self.stopped,
            seconds=time.monotonic() - self.started,
            memory_mb=self.memory_mb,
            memory_limit_mb=self.memory_limit_mb,
            channels={to: bytes(stream.data) for to, stream in self.channels.items()},
        )


@contextmanager
def _channel_pipes(channels: Sequence[int]) -> Generator[tuple[dict[int, int], dict[int, int]]]:
    """Yield the read ends and the write ends of one pipe per channel, by channel."""
    readers: dict[int, int] = {}
    writers: dict[int, int] = {}
    try:
        for channel in channels:
            readers[channel], writers[channel] = os.pipe()
        yield readers, writers
    finally:
        for descriptor in (*readers.values(), *writers.values()):
            os.close(descriptor)


def _supervised(
    command: list[str], passed: Mapping[int, int], file_mb: int, held: Held
) -> list[str]:
    """Return the command line of the supervisor around `command`."""
    descriptors = ",".join(f"{ours}:{theirs}" for theirs, ours in passed.items())
    limits = [str(file_mb * _MIB), str(_process_limit(held.beside)), str(held.data_mb * _MIB)]
    ruleset = "" if held.ruleset is None else str(held.ruleset)
    return [
        *_supervisor(),
        str(os.getpid()),
        *limits,
        descriptors,
        ruleset,
        held.filter.hex(),
        *command,
    ]


_FREE = Held()


def run_process(
    command: Sequence[str | Path],
    *,
    limits: Limits | None = None,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    channels: Sequence[int] = (),
    descriptors: Mapping[int, int] | None = None,
    channel_mb: int = 256,
    file_mb: int = 0,
    cancel: threading.Event | None = None,
    held: Held = _FREE,
) -> ProcessResult:
    """Run `command` to its end, or to the first limit that it passes.

    Args:
        command: program and arguments; the program is looked up in `environment`'s PATH.
        limits: wall time, memory of all its processes together, and bytes of standard
            output and error together.
        environment: the whole environment; `default_environment()` when None.
        folder: working directory.
        channels: descriptor numbers (3 and up) that the command may write to and we read.
        channel_mb: most bytes that each channel may carry, MiB.
        descriptors: further open descriptors of ours to pass on: number in the command -> ours.
        file_mb: largest file that the command may write, MiB; 0 for no limit.
        cancel: when set from another thread, the command is ended.
        held: what confines it.

    Raises:
        MissingToolError: the program is not there.
    """
    env = default_environment() if environment is None else dict(environment)
    program = shutil.which(str(command[0]), path=env.get("PATH", os.defpath))
    if program is None:
        raise MissingToolError(
            f"the program {command[0]} must be on this machine, but is not found"
        )
    with _channel_pipes(channels) as (readers, writers):
        passed = {**(descriptors or {}), **writers}
        inherited = (*passed.values(), *(() if held.ruleset is None else (held.ruleset,)))
        disk = _Disk(held.folder, held.disk_mb, passed.values()) if held.folder else None
        process = subprocess.Popen(
            _supervised([program, *(str(part) for part in command[1:])], passed, file_mb, held),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            pass_fds=inherited, cwd=folder, env=env, start_new_session=True,
        )  # fmt: skip
        with process:
            running = _Running(process, limits or Limits(), readers, channel_mb, cancel, disk)
            try:
                for channel in tuple(writers):
                    os.close(writers.pop(channel))
                running.drain()
            finally:
                running.close()
            return running.result()


def run_tool(
    command: Sequence[str | Path],
    *,
    limits: Limits | None = None,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> ProcessResult:
    """Run a tool that must work; as `run_process`.

    Raises:
        MissingToolError: the tool is not there.
        ToolFailedError: it failed or passed a limit; the message carries its output.
    """
    result = run_process(command, limits=limits, environment=environment, folder=folder)
    return require_success(command, result)


def require_success(command: Sequence[str | Path], result: ProcessResult) -> ProcessResult:
    """Return the result of a command that worked.

    Raises:
        ToolFailedError: it failed or passed a limit; the message carries its output.
    """
    if not result.ok:
        how = result.stopped or (
            f"signal {result.signal}" if result.signal else f"exit code {result.exit_code}"
        )
        name = Path(command[0]).name
        raise ToolFailedError(f"{name} must succeed, but ended with {how}:\n{result.log[-4000:]}")
    return result
