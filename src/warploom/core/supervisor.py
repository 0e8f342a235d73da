"""Runs one command and outlives none of its descendants. Started as a script.

`python -I -S supervisor.py PARENT FSIZE NPROC DATA FDMAP RULESET FILTER COMMAND...`: FSIZE (bytes),
NPROC (processes) and DATA (bytes) are resource limits, 0 for none; FDMAP is `from:to,...`, the
inherited descriptors that the command gets under other numbers. RULESET is the descriptor of a
Landlock ruleset and FILTER a seccomp program as hexadecimal digits: where either is given, the
command starts under it, without capabilities or a way to get some. The command is over when its
first process is: whatever it left behind is killed, also what changed its session. A SIGTERM, or
the death of the one that started us, ends all.
"""

import contextlib
import ctypes
import errno
import fcntl
import os
import resource
import signal
import struct
import sys
import time
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_SECCOMP = 22
_PR_CAPBSET_DROP = 24
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP_MODE_FILTER = 2
_INSTRUCTION_BYTES = 8
_LANDLOCK_RESTRICT_SELF = 446  # on every architecture
_CAPSET = {"x86_64": 126, "aarch64": 91}
_CAPABILITY_VERSION_3 = 0x20080522
OWN_PID = 0x57A2C0DE
"""Stands in a filter for the process id of the command."""
_BUSY_TRIES, _BUSY_PAUSE = 200, 0.005  # in seconds
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


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def _drop_capabilities(libc: ctypes.CDLL) -> None:
    """Leave nothing of root's to a command: what it executes gets no more than the bounding set."""
    capability = 0
    while libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) == 0:
        capability += 1
    header = struct.pack("=II", _CAPABILITY_VERSION_3, 0)
    number = _CAPSET.get(os.uname().machine)
    if number is not None:
        _check(libc.syscall(number, header, struct.pack("=6I", *[0] * 6)), "capset")


def _confine(ruleset: str, program: str) -> None:
    """Bind this process and all that it will start; there is no way back."""
    if not ruleset and not program:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    _drop_capabilities(libc)
    _check(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    if ruleset:
        _check(libc.syscall(_LANDLOCK_RESTRICT_SELF, int(ruleset), 0), "Landlock")
        os.close(int(ruleset))
    if program:
        text = bytes.fromhex(program)
        text = text.replace(struct.pack("=I", OWN_PID), struct.pack("=I", os.getpid()))
        buffer = ctypes.create_string_buffer(text, len(text))
        # struct sock_fprog: a count, padding, a pointer.
        fprog = struct.pack("@HP", len(text) // _INSTRUCTION_BYTES, ctypes.addressof(buffer))
        _check(libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, fprog, 0, 0), "seccomp")


def _become(
    command: list[str], limits: list[int], fds: list[tuple[int, int]], ruleset: str, program: str
) -> None:
    """Turn the forked child into the command; returns only by raising OSError."""
    os.setpgid(0, 0)
    fsize, nproc, data = limits
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _limit(resource.RLIMIT_FSIZE, fsize)
    _limit(resource.RLIMIT_NPROC, nproc)
    _limit(resource.RLIMIT_DATA, data)
    with contextlib.suppress(OSError):
        # If memory runs out after all, the kernel shall take this process and no other.
        Path("/proc/self/oom_score_adj").write_text("1000")
    # First out of the way, so that no target overwrites a source that is still needed.
    sources = [source for source, _ in fds]
    taken: list[int] = [3, *sources, *(to for _, to in fds)]
    above = 1 + max([*taken, int(ruleset or 0)])
    parked = [(fcntl.fcntl(source, fcntl.F_DUPFD, above), to) for source, to in fds]
    if ruleset:
        sources.append(int(ruleset))
        ruleset = str(fcntl.fcntl(int(ruleset), fcntl.F_DUPFD, above))
    for source in sources:
        os.close(source)
    for source, to in parked:
        os.dup2(source, to, True)
        os.close(source)
    signal.pthread_sigmask(signal.SIG_SETMASK, set())
    _confine(ruleset, program)
    # What was just written may be open for writing still: in a child of another thread's, which has
    # not become its own command yet.
    for left in reversed(range(_BUSY_TRIES)):
        try:
            os.execvp(command[0], command)  # noqa: S606 - running a command is the purpose
        except OSError as error:
            if not left or error.errno != errno.ETXTBSY:
                raise
        time.sleep(_BUSY_PAUSE)


def _main(arguments: list[str]) -> int:
    parent, *limits = (int(value) for value in arguments[:4])
    pairs = [pair.split(":") for pair in arguments[4].split(",") if pair]
    ruleset, program = arguments[5:7]
    command = arguments[7:]
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    if os.getppid() != parent:
        return 125
    # The command runs as the same user: it shall not read or trace the one that watches it.
    prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    fds = [(int(source), int(to)) for source, to in pairs]
    child = os.fork()
    if child == 0:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)
        try:
            _become(command, limits, fds, ruleset, program)
        except OSError as error:
            os.write(2, f"cannot run {command[0]}: {error.strerror}\n".encode())
        os._exit(127)
    for source, _ in fds:
        os.close(source)
    if ruleset:
        os.close(int(ruleset))
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
