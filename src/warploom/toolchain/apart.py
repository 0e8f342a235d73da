"""Runs a program that a workload's own judge is about, apart from the judge: a script by itself.

    python3 apart.py FOLDER... -- COMMAND [ARGS...]

The program may read the system's programs and libraries and FOLDERs, and writes nothing: neither
the judge's verdict nor any other file, and it cannot reach the judge's memory. It keeps the three
standard descriptors and no other. Held by Landlock, which works within any sandbox. Linux manual:
landlock(7).
"""

import ctypes
import os
import struct
import sys

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION = 1
_PATH_BENEATH = 1
_NO_NEW_PRIVILEGES = 38
_WRITE_FILE, _READ_FILE, _READ_DIR, _EXECUTE = 1 << 1, 1 << 2, 1 << 3, 1 << 0
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_FIRST_RIGHTS = (1 << 13) - 1
_SINCE = ((2, 1 << 13), (3, 1 << 14), (5, 1 << 15))  # renames, truncation, devices
_TCP, _SCOPES = 0b11, 0b11  # bind and connect; abstract sockets and signals
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_STORES = ("/nix/store", "/gnu/store")  # where the whole system lies, on such systems
_ETC = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")
_MISSING = 3


def _call(number: int, *arguments: "bytes | int | None") -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    passed = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    return int(libc.syscall(ctypes.c_long(number), *passed))


def _ruleset(version: int) -> "tuple[int, int]":
    """Return a new ruleset, and the rights to files that it withholds."""
    rights = _FIRST_RIGHTS
    for since, right in _SINCE:
        rights |= right if version >= since else 0
    fields = [rights, *([_TCP] if version >= 4 else []), *([_SCOPES] if version >= 6 else [])]
    attributes = struct.pack(f"={len(fields)}Q", *fields)
    return _call(_CREATE_RULESET, attributes, len(attributes), 0), rights


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        at = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what is not there needs no rule
    if not os.path.isdir(path):  # noqa: PTH112 - a script by itself, which starts quickly
        rights &= ~_READ_DIR
    if _call(_ADD_RULE, ruleset, _PATH_BENEATH, struct.pack("=Qi", rights, at), 0) != 0:
        raise OSError(ctypes.get_errno(), "Landlock takes no rule", path)
    os.close(at)


def confine(folders: "list[str]") -> None:
    """Confine this process for good.

    Raises:
        OSError: the kernel cannot, or may not here.
    """
    version = _call(_CREATE_RULESET, None, 0, _ASK_VERSION)
    made, handled = _ruleset(version) if version > 0 else (-1, 0)
    if made < 0:
        raise OSError(ctypes.get_errno(), "this kernel has no Landlock (Linux 5.13 and newer)")
    for path in (*_SYSTEM, *_STORES, *(f"/etc/{name}" for name in _ETC), *folders):
        _allow(made, path, _READ & handled)
    for path in _DEVICES:
        _allow(made, path, (_READ_FILE | _WRITE_FILE) & handled)
    ctypes.CDLL(None).prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    if _call(_RESTRICT_SELF, made, 0) != 0:
        raise OSError(ctypes.get_errno(), "Landlock cannot be used here")
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))


def main(arguments: "list[str]") -> int:
    """Become the command; returns an exit code where that cannot be."""
    if "--" not in arguments or arguments[-1] == "--":
        sys.stderr.write("apart.py: usage: apart.py FOLDER... -- COMMAND [ARGS...]\n")
        return 2
    at = arguments.index("--")
    command = arguments[at + 1 :]
    try:
        confine(arguments[:at])
        os.execvp(command[0], command)  # noqa: S606 - its arguments are the judge's
    except OSError as error:
        sys.stderr.write(f"apart.py: {command[0]} cannot be run apart: {error}\n")
        return _MISSING


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
