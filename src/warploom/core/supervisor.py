"""Runs one command and outlives none of its descendants. Started as a script, never imported.

`python -I -S supervisor.py FSIZE NPROC FDMAP COMMAND...`: FSIZE (bytes) and NPROC (processes) are
resource limits, 0 for none; FDMAP is `from:to,...`, the inherited descriptors that the command
gets under other numbers. The command is over when its first process is: whatever it left behind is
killed, also what changed its session. A SIGTERM, or the death of the one that started us, ends all.
"""

import contextlib
import ctypes
import os
import resource
import signal
import sys
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_SIGNALS = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD}


def _descendants(root: int) -> list[int]:
    """Return the process ids below `root`, from the parent links in /proc."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):  # noqa: PTH208 - imported modules cost start-up time
        if not entry.isdigit():
            continue
        try:
            stat = Path("/proc", entry, "stat").read_text(errors="replace")
        except OSError:
            continue
        parent = int(stat.rpartition(")")[2].split()[1])
        children.setdefault(parent, []).append(int(entry))
    found: list[int] = []
    todo = [root]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


def _kill_all(group: int) -> None:
    """Kill every descendant, and reap until there is none."""
    with contextlib.suppress(OSError):
        os.killpg(group, signal.SIGKILL)
    while True:
        for pid in _descendants(os.getpid()):
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                signal.sigtimedwait({signal.SIGCHLD}, 0.02)
        except ChildProcessError:
            return


def _limit(kind: int, value: int) -> None:
    if value > 0:
        _, hard = resource.getrlimit(kind)
        top = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (top, top))


def _become(command: list[str], fsize: int, nproc: int, fds: list[tuple[int, int]]) -> None:
    """Turn the forked child into the command; returns only by raising OSError."""
    os.setpgid(0, 0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _limit(resource.RLIMIT_FSIZE, fsize)
    _limit(resource.RLIMIT_NPROC, nproc)
    with contextlib.suppress(OSError):
        # If memory runs out after all, the kernel shall take this process and no other.
        Path("/proc/self/oom_score_adj").write_text("1000")
    # First out of the way, so that no target overwrites a source that is still needed.
    parked = [(os.dup2(source, 100 + at, False), to) for at, (source, to) in enumerate(fds)]
    for source, _ in fds:
        os.close(source)
    for source, to in parked:
        os.dup2(source, to, True)
        os.close(source)
    signal.pthread_sigmask(signal.SIG_SETMASK, set())
    os.execvp(command[0], command)  # noqa: S606 - running a command is the purpose


def _main(arguments: list[str]) -> int:
    parent, fsize, nproc = (int(value) for value in arguments[:3])
    pairs = [pair.split(":") for pair in arguments[3].split(",") if pair]
    command = arguments[4:]
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    if os.getppid() != parent:
        return 125
    fds = [(int(source), int(to)) for source, to in pairs]
    child = os.fork()
    if child == 0:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        try:
            _become(command, fsize, nproc, fds)
        except OSError as error:
            os.write(2, f"cannot run {command[0]}: {error.strerror}\n".encode())
        os._exit(127)
    for source, _ in fds:
        os.close(source)
    status = _wait(child)
    _kill_all(child)
    if status is None:
        return 124
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
        os.kill(os.getpid(), number)
    return os.WEXITSTATUS(status)


def _wait(child: int) -> int | None:
    """Return the child's wait status, or None when we were told to stop."""
    while True:
        received = signal.sigwaitinfo(_SIGNALS).si_signo
        if received != signal.SIGCHLD:
            return None
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == child:
                return status
            if pid == 0:
                break


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
