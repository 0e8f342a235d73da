"""Lists of the system calls that confined programs may make, as seccomp filters.

What is on no list is refused: with EPERM, or with ENOSYS where a C library then falls back on an
older call. Calls that only an attack would make end the program. Linux manual: seccomp(2).
"""

import errno
import os
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from warploom.core.supervisor import OWN_PID


class Profile(StrEnum):
    """What a command needs of the kernel.

    `tool`: compilers, linkers and other programs of the system. `program`: one emulated run, which
    is a single process. `gpu`: a program on GPUs, with its launcher and its network.
    """

    TOOL = "tool"
    PROGRAM = "program"
    GPU = "gpu"


_ARCHITECTURE = 0xC000003E  # AUDIT_ARCH_X86_64
_X32 = 0x40000000
_NEWEST_KNOWN = 462  # calls above are newer than this list: a C library has to do without them
_KILL, _ERRNO, _ALLOW = 0x80000000, 0x00050000, 0x7FFF0000
_LOAD, _EQUAL, _AT_LEAST, _ABOVE, _AND, _RETURN = 0x20, 0x15, 0x35, 0x25, 0x54, 0x06
_NUMBER, _ARCH, _FIRST_ARGUMENT = 0, 4, 16

# x86-64, from asm/unistd_64.h.
_FILES: Mapping[str, int] = {
    "read": 0, "write": 1, "open": 2, "close": 3, "stat": 4, "fstat": 5, "lstat": 6, "poll": 7,
    "lseek": 8, "pread64": 17, "pwrite64": 18, "readv": 19, "writev": 20, "access": 21, "pipe": 22,
    "select": 23, "dup": 32, "dup2": 33, "sendfile": 40, "fcntl": 72, "flock": 73, "fsync": 74,
    "fdatasync": 75, "ftruncate": 77, "getdents": 78, "getcwd": 79, "chdir": 80, "fchdir": 81,
    "rename": 82, "mkdir": 83, "rmdir": 84, "creat": 85, "link": 86, "unlink": 87, "symlink": 88,
    "readlink": 89, "umask": 95, "statfs": 137, "fstatfs": 138, "getdents64": 217,
    "fadvise64": 221, "epoll_create": 213, "epoll_wait": 232, "epoll_ctl": 233, "openat": 257,
    "mkdirat": 258, "newfstatat": 262, "unlinkat": 263, "renameat": 264, "linkat": 265,
    "symlinkat": 266, "readlinkat": 267, "faccessat": 269, "pselect6": 270, "ppoll": 271,
    "splice": 275, "tee": 276, "sync_file_range": 277, "epoll_pwait": 281, "signalfd": 282,
    "timerfd_create": 283, "eventfd": 284, "fallocate": 285, "timerfd_settime": 286,
    "timerfd_gettime": 287, "signalfd4": 289, "eventfd2": 290, "epoll_create1": 291, "dup3": 292,
    "pipe2": 293, "preadv": 295, "pwritev": 296, "renameat2": 316, "memfd_create": 319,
    "copy_file_range": 326, "preadv2": 327, "pwritev2": 328, "statx": 332, "close_range": 436,
    "openat2": 437, "faccessat2": 439, "epoll_pwait2": 441,
}  # fmt: skip
_PROCESS: Mapping[str, int] = {
    "mmap": 9, "mprotect": 10, "munmap": 11, "brk": 12, "rt_sigaction": 13, "rt_sigprocmask": 14,
    "rt_sigreturn": 15, "sched_yield": 24, "mremap": 25, "msync": 26, "mincore": 27, "madvise": 28,
    "pause": 34, "nanosleep": 35, "getitimer": 36, "alarm": 37, "setitimer": 38, "getpid": 39,
    "execve": 59, "exit": 60, "wait4": 61, "uname": 63, "gettimeofday": 96, "getrlimit": 97,
    "getrusage": 98, "sysinfo": 99, "times": 100, "getuid": 102, "getgid": 104, "geteuid": 107,
    "getegid": 108, "getppid": 110, "getpgrp": 111, "getgroups": 115, "getresuid": 118,
    "getresgid": 120, "getpgid": 121, "getsid": 124, "capget": 125, "rt_sigpending": 127,
    "rt_sigtimedwait": 128, "rt_sigsuspend": 130, "sigaltstack": 131, "getpriority": 140,
    "sched_getscheduler": 145, "sched_get_priority_max": 146, "sched_get_priority_min": 147,
    "arch_prctl": 158, "setrlimit": 160, "gettid": 186, "time": 201, "futex": 202,
    "sched_getaffinity": 204, "set_tid_address": 218, "restart_syscall": 219, "timer_create": 222,
    "timer_settime": 223, "timer_gettime": 224, "timer_getoverrun": 225, "timer_delete": 226,
    "clock_gettime": 228, "clock_getres": 229, "clock_nanosleep": 230, "exit_group": 231,
    "waitid": 247, "set_robust_list": 273, "getcpu": 309, "getrandom": 318, "execveat": 322,
    "membarrier": 324, "rseq": 334,
}  # fmt: skip
_OF_TOOLS: Mapping[str, int] = {
    "fork": 57, "vfork": 58, "kill": 62, "chmod": 90, "fchmod": 91, "setpgid": 109, "setsid": 112,
    "utime": 132, "utimes": 235, "tgkill": 234, "fchmodat": 268, "utimensat": 280, "tkill": 200,
    # They only take away: a judge confines what it judges (`apart`).
    "landlock_create_ruleset": 444, "landlock_add_rule": 445, "landlock_restrict_self": 446,
}  # fmt: skip
_OF_GPUS: Mapping[str, int] = {
    "ioctl": 16, "shmget": 29, "shmat": 30, "shmctl": 31, "socket": 41, "connect": 42, "accept": 43,
    "sendto": 44, "recvfrom": 45, "sendmsg": 46, "recvmsg": 47, "shutdown": 48, "bind": 49,
    "listen": 50, "getsockname": 51, "getpeername": 52, "setsockopt": 54, "getsockopt": 55,
    "shmdt": 67, "truncate": 76, "setpriority": 141, "sched_setparam": 142, "sched_getparam": 143,
    "sched_setscheduler": 144, "mlock": 149, "munlock": 150, "sched_setaffinity": 203, "mbind": 237,
    "set_mempolicy": 238, "get_mempolicy": 239, "inotify_init": 253, "inotify_add_watch": 254,
    "inotify_rm_watch": 255, "move_pages": 279, "accept4": 288, "inotify_init1": 294,
    "recvmmsg": 299, "sendmmsg": 307, "process_vm_readv": 310, "process_vm_writev": 311,
    "mlock2": 325,
}  # fmt: skip
# No honest program of ours asks for these; they reach other processes or the kernel's own state.
_HOSTILE: Mapping[str, int] = {
    "ptrace": 101, "pivot_root": 155, "chroot": 161, "mount": 165, "umount2": 166, "swapon": 167,
    "reboot": 169, "init_module": 175, "delete_module": 176, "kexec_load": 246, "add_key": 248,
    "request_key": 249, "keyctl": 250, "unshare": 272, "perf_event_open": 298,
    "open_by_handle_at": 304, "setns": 308, "process_vm_readv": 310, "process_vm_writev": 311,
    "kcmp": 312, "finit_module": 313, "kexec_file_load": 320, "bpf": 321, "userfaultfd": 323,
    "pidfd_send_signal": 424, "io_uring_setup": 425, "io_uring_enter": 426,
    "io_uring_register": 427, "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431,
    "fsmount": 432, "fspick": 433, "pidfd_open": 434, "pidfd_getfd": 438, "process_madvise": 440,
    "mount_setattr": 442,
}  # fmt: skip

_CLONE, _CLONE3, _SOCKETPAIR, _IOCTL, _PRCTL, _PERSONALITY, _PRLIMIT = (
    56,
    435,
    53,
    16,
    157,
    135,
    302,
)
_KILLS = (62, 234)
_ATTRIBUTES = range(191, 197)  # getxattr and the like: as where a file system has none
_NEW_NAMESPACES = 0x7E020080  # every CLONE_NEW flag
_CLONE_THREAD = 0x10000
_AF_UNIX = 1
# Of terminals and pipes, what asks; FIONREAD, FIONBIO, FIOCLEX, FIONCLEX.
_IOCTLS = (0x5401, 0x540F, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
# Names, death signals, no_new_privs, filters of its own (which only add), memory names.
_PRCTLS = (1, 2, 3, 15, 16, 21, 22, 23, 38, 39, 0x53564D41)
_PERSONALITIES = (0, 0xFFFFFFFF, 0x0040000)  # as it is, the question, without random addresses


def is_known_machine() -> bool:
    """Whether the lists hold for this machine's architecture."""
    return os.uname().machine == "x86_64"


@dataclass(frozen=True, slots=True)
class _Rule:
    """A call that is allowed by the low half of an argument: with `mask`, one of `values`."""

    number: int
    argument: int
    values: tuple[int, ...]
    mask: int = 0xFFFFFFFF
    otherwise: int = errno.EPERM


def _statement(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _refuse(number: int) -> bytes:
    return _statement(_RETURN, _ERRNO | number)


def _when(rule: _Rule) -> bytes:
    """Return the block of a call that depends on an argument."""
    block = _statement(_LOAD, _FIRST_ARGUMENT + 8 * rule.argument)
    block += _statement(_AND, rule.mask)
    for value in rule.values:
        block += _statement(_EQUAL, value, 0, 1) + _statement(_RETURN, _ALLOW)
    block += _refuse(rule.otherwise)
    return _statement(_EQUAL, rule.number, 0, len(block) // 8) + block


def _each(numbers: Iterable[int], action: int) -> bytes:
    """Return tests for `numbers`, neighbors together."""
    code = b""
    todo = sorted(set(numbers))
    while todo:
        first = last = todo.pop(0)
        while todo and todo[0] == last + 1:
            last = todo.pop(0)
        code += _statement(_AT_LEAST, first, 0, 2) + _statement(_ABOVE, last, 1, 0)
        code += _statement(_RETURN, action)
    return code


def _rules(profile: Profile, *, alone: bool) -> tuple[_Rule, ...]:
    rules = [
        _Rule(_SOCKETPAIR, 0, (_AF_UNIX,)),
        _Rule(_PRCTL, 0, _PRCTLS),
        _Rule(_PERSONALITY, 0, _PERSONALITIES),
        _Rule(_PRLIMIT, 0, (0,)),  # its own limits, nobody else's
    ]
    if profile is not Profile.GPU:
        rules.append(_Rule(_IOCTL, 1, _IOCTLS, otherwise=errno.ENOTTY))
    if profile is Profile.PROGRAM:
        rules.append(_Rule(_CLONE, 0, (_CLONE_THREAD,), mask=_NEW_NAMESPACES | _CLONE_THREAD))
        if alone:
            rules += [_Rule(number, 0, (OWN_PID,)) for number in _KILLS]
    else:
        rules.append(_Rule(_CLONE, 0, (0, _CLONE_THREAD), mask=_NEW_NAMESPACES | _CLONE_THREAD))
    return tuple(rules)


def seccomp_filter(profile: Profile, *, alone: bool = False) -> bytes:
    """Return the filter of `profile`: struct sock_filter after struct sock_filter.

    Args:
        profile: which list.
        alone: a program may send signals to itself only; the supervisor fills in its process id.
            Without, who can be reached is somebody else's care.
    """
    allowed = {**_FILES, **_PROCESS}
    hostile = dict(_HOSTILE)
    if profile is not Profile.PROGRAM:
        allowed |= _OF_TOOLS
    elif not alone:
        allowed |= {name: _OF_TOOLS[name] for name in ("kill", "tgkill")}
    if profile is Profile.GPU:
        allowed |= _OF_GPUS
        hostile = {name: n for name, n in hostile.items() if name not in _OF_GPUS}
    return b"".join(
        [
            _statement(_LOAD, _ARCH),
            _statement(_EQUAL, _ARCHITECTURE, 1, 0),
            _statement(_RETURN, _KILL),
            _statement(_LOAD, _NUMBER),
            _statement(_AT_LEAST, _X32, 0, 1),
            _statement(_RETURN, _KILL),
            *(_when(rule) for rule in _rules(profile, alone=alone)),
            _each(allowed.values(), _ALLOW),
            _each(hostile.values(), _KILL),
            # The C library then uses clone, whose flags can be looked at.
            _each([_CLONE3], _ERRNO | errno.ENOSYS),
            _each(_ATTRIBUTES, _ERRNO | errno.EOPNOTSUPP),
            _statement(_AT_LEAST, _NEWEST_KNOWN + 1, 0, 1),
            _refuse(errno.ENOSYS),
            _refuse(errno.EPERM),
        ]
    )
