"""Runs what nobody has read: programs, and the compilers that read their text.

bubblewrap where it works, else Landlock and seccomp, else limits alone, which hide nothing.
"""

import contextlib
import ctypes
import dataclasses
import functools
import os
import shutil
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from warploom.core.errors import MissingToolError
from warploom.core.process import Held, ProcessResult, require_success, run_process
from warploom.core.records import Limits
from warploom.toolchain.asked import Ask, Given, environment_of, hold, scratch, wrapped
from warploom.toolchain.bubblewrap import WORK
from warploom.toolchain.folders import is_of_system
from warploom.toolchain.landlock import landlock_version
from warploom.toolchain.quick_supervisor import use_quick_supervisor
from warploom.toolchain.sandbox_kind import Extras, Sandbox, SandboxedResult, SandboxKind
from warploom.toolchain.seccomp import Profile, is_known_machine

__all__ = [
    "MAX_FILE_MB", "Extras", "Sandbox", "SandboxKind", "SandboxedResult", "find_sandbox",
    "require_sandbox", "run_sandboxed", "run_sandboxed_tool", "sandbox_warning",
]  # fmt: skip

MAX_FILE_MB = 4096
"""The largest file that a command in the sandbox may write, MiB."""

_SHELL_SIGNAL_BASE = 128
_LAST_SIGNAL = 64
_PR_SET_DUMPABLE = 4
_NONE = Extras()


@functools.cache
def find_sandbox() -> Sandbox:
    """Return the strongest sandbox that works here; tried once per process.

    `WARPLOOM_SANDBOX` set to `landlock` or `limits` asks for a weaker one.
    """
    asked = os.environ.get("WARPLOOM_SANDBOX", "")
    if asked == SandboxKind.LIMITS:
        return Sandbox(SandboxKind.LIMITS, reason="WARPLOOM_SANDBOX asks for limits only")
    reason = "WARPLOOM_SANDBOX asks for Landlock"
    if asked != SandboxKind.LANDLOCK:
        found = _find_bubblewrap()
        if found.kind is SandboxKind.BUBBLEWRAP:
            return found
        reason = found.reason
    without = _why_no_landlock()
    if without:
        return Sandbox(SandboxKind.LIMITS, reason=f"{reason}, and {without}")
    return Sandbox(SandboxKind.LANDLOCK, reason=reason)


def _try(sandbox: Sandbox) -> ProcessResult:
    limits = Limits(seconds=10, memory_mb=512, output_mb=1)
    return run_sandboxed(["/bin/true"], limits=limits, sandbox=sandbox).process


def _find_bubblewrap() -> Sandbox:
    program = shutil.which("bwrap")
    if program is None:
        return Sandbox(SandboxKind.LIMITS, reason="bubblewrap (bwrap) is not installed")
    sandbox = Sandbox(SandboxKind.BUBBLEWRAP, program, sized=True)
    result = _try(sandbox)
    if not result.ok and "--size" in result.log:
        sandbox = dataclasses.replace(sandbox, sized=False)
        result = _try(sandbox)
    if result.ok:
        return sandbox
    first = (result.log.strip().splitlines() or ["it failed without a word"])[0]
    return Sandbox(SandboxKind.LIMITS, reason=f"bubblewrap does not work here: {first}")


def _why_no_landlock() -> str:
    """Return why Landlock and seccomp cannot hold a program here; empty where they can."""
    if not is_known_machine():
        return f"the list of system calls knows x86_64 only, not {os.uname().machine}"
    if landlock_version() == 0:
        return "this kernel has no Landlock (Linux 5.13 and newer, with `landlock` in lsm=)"
    result = _try(Sandbox(SandboxKind.LANDLOCK))
    if result.ok:
        return ""
    first = (result.log.strip().splitlines() or ["it failed without a word"])[0]
    return f"Landlock and seccomp do not work here: {first}"


def require_sandbox(whose: str, *, unsafe: bool, option: str = "--unsafe") -> None:
    """Refuse to run text that nobody vouches for where nothing would hold it.

    Args:
        whose: who wrote the text, such as "a model".
        unsafe: the user wants it nevertheless.
        option: how the user says so.

    Raises:
        MissingToolError: this machine has limits only.
    """
    sandbox = find_sandbox()
    if sandbox.kind is SandboxKind.LIMITS and not unsafe:
        raise MissingToolError(
            f"programs of {whose} must run in a sandbox, but this machine has none: "
            f"{sandbox.reason}",
            hint="install bubblewrap (Debian: apt-get install bubblewrap), or use a kernel with "
            f"Landlock; {option} runs them with the user's files and network in reach",
        )


def sandbox_warning() -> str:
    """Return what to tell whoever has a program run with nothing but limits; empty otherwise."""
    sandbox = find_sandbox()
    if sandbox.kind is not SandboxKind.LIMITS:
        return ""
    return (
        "no sandbox: the program runs with your files and network in reach "
        f"({sandbox.reason}); install bubblewrap"
    )


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
    writable: Sequence[Path] = (),
    folder: Path | None = None,
    cwd: Path | None = None,
    beside: Path | None = None,
    environment: Mapping[str, str] | None = None,
    bound: Mapping[Path, str] | None = None,
    profile: Profile = Profile.TOOL,
    channels: Sequence[int] = (),
    descriptors: Mapping[int, int] | None = None,
    cancel: threading.Event | None = None,
    sandbox: Sandbox | None = None,
    extras: Extras = _NONE,
    file_mb: int = MAX_FILE_MB,
    data_mb: int = 0,
) -> SandboxedResult:
    """Run `command` confined, in an empty working directory that is thrown away.

    Args:
        command: program (absolute path) and arguments.
        limits: wall time, memory and output.
        readable: files and folders that it may read beside the system's programs and libraries.
        writable: folders that it may write to, under their own names.
        folder: its working directory instead of an empty one; it may write there.
        cwd: its working directory, under its own name, where it may not write; something that it
            may read lies there.
        beside: a folder whose files it can read by their plain names, as if it had been started
            there; what it writes is thrown away all the same.
        environment: its whole environment beside PATH, HOME, TMPDIR and LC_ALL.
        bound: files that it gets to see under other names, and read only: where they lie is not
            told. Words of the command that are such paths are replaced.
        profile: which system calls it may make.
        channels: as for `run_process`.
        descriptors: as for `run_process`.
        cancel: as for `run_process`.
        sandbox: instead of what `find_sandbox` found.
        extras: folders, devices and shared memory that a program with GPUs needs.
        file_mb: largest file that it may write, MiB.
        data_mb: most writable memory of each of its processes, MiB; 0 for no limit.
    """
    use_quick_supervisor()
    chosen = sandbox or find_sandbox()
    ask = Ask(
        command, limits, readable, (*writable, *extras.writable), folder, cwd, beside,
        environment or {}, bound or {}, profile, extras, data_mb,
    )  # fmt: skip
    run = functools.partial(
        run_process, limits=limits, channels=channels, file_mb=file_mb, cancel=cancel
    )
    passed = dict(descriptors or {})
    if chosen.kind is SandboxKind.BUBBLEWRAP:
        env = environment_of(ask, WORK, "/tmp")  # noqa: S108 - its own
        with contextlib.ExitStack() as stack:
            given = Given(stack, passed, 1 + max([9, *passed, *channels]))
            words = wrapped(chosen, ask, given)
            # What is shared with others is not a file system of its own, which would be bounded.
            held = Held(folder=extras.together, disk_mb=extras.shared_mb, data_mb=data_mb)
            result = run(words, environment=env, descriptors=passed, held=held)
        return SandboxedResult(_decode_signal(result), chosen.kind)
    if chosen.kind is SandboxKind.LIMITS:
        _keep_to_ourselves()
    with scratch(ask, chosen.kind) as place, hold(ask, chosen.kind, place) as held:
        result = run(
            place.words, environment=place.environment, folder=place.cwd, descriptors=passed,
            held=held,
        )  # fmt: skip
    return SandboxedResult(result, chosen.kind)


def run_sandboxed_tool(
    command: Sequence[str | Path], *, limits: Limits, readable: Sequence[Path]
) -> ProcessResult:
    """Run a tool that must work on files of a stranger's.

    Raises:
        MissingToolError: the tool is not there.
        ToolFailedError: it failed or passed a limit; the message carries its output.
    """
    program = shutil.which(str(command[0]))
    if program is None:
        raise MissingToolError(
            f"the program {command[0]} must be on this machine, but is not found"
        )
    own = Path(os.path.realpath(program)).parent.parent
    folders = () if is_of_system(own) or own == Path("/") else (Path(program).parent, own)
    result = run_sandboxed(
        [program, *command[1:]], limits=limits, readable=[*readable, *folders]
    ).process
    return require_success(command, result)


@functools.cache
def _keep_to_ourselves() -> None:
    """Let nobody of the same user read our memory and environment: they may hold keys."""
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
