"""Each call that is given a pointer has its effects stated: by its declaration, not by a list."""

import re
import subprocess
from pathlib import Path

from warploom.emulator.building.elf import dynamic_symbols
from warploom.emulator.building.host_imports import OWN_CODE, TABLE, Held
from warploom.emulator.building.runtime_build import RUNTIME_DIR, build_runtime
from warploom.toolchain.compilers import find_compiler

_HEADERS = (
    "arpa/inet ctype dirent dlfcn errno fcntl fenv fnmatch ftw getopt glob grp iconv inttypes "
    "langinfo libgen link locale malloc math mntent net/if netdb poll pthread pwd sched search "
    "semaphore setjmp signal spawn stdio stdio_ext stdlib string strings sys/epoll sys/eventfd "
    "sys/file sys/inotify sys/ioctl sys/ipc sys/mman sys/mount sys/personality sys/prctl "
    "sys/ptrace sys/random sys/resource sys/select sys/sem sys/sendfile sys/shm sys/signalfd "
    "sys/socket sys/stat sys/statfs sys/statvfs sys/syscall sys/sysinfo sys/time sys/timerfd "
    "sys/times sys/timex sys/types sys/uio sys/un sys/utsname sys/vfs sys/wait sys/xattr syslog "
    "termios time uchar unistd utime wchar wctype"
)
_POINTER = re.compile(r"\*|\[|\b(pthread_t|(sig)?jmp_buf|locale_t|__gnuc_va_list|va_list)\b")
_ROW = re.compile(r"^LOOKED_AT\((\w+), (.*)\)$", re.MULTILINE)
_INTERFACES = re.compile(r"_Z|cu|nccl|pnccl|P?MPI_|warploom|omp_|__tsan_|__wrap_|__real_")
# It goes on to the program's own function as it is.
_PASSED_ON = {("qsort_r", 4)}


def declarations(folder: Path) -> str:
    """Return the declarations of the C library, without comments and line marks."""
    text = "".join(f"#include <{name}.h>\n" for name in _HEADERS.split())
    (folder / "all.cpp").write_text(text)
    command = [*find_compiler().command, "-E", "-P", "-D_GNU_SOURCE", str(folder / "all.cpp")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return re.sub(r"\s+", " ", done.stdout)


def parameters(text: str) -> dict[str, list[str]]:
    """Return the parameters of each function that `text` declares."""
    found = re.finditer(
        r"(?<=[\w*&] )\*?(?:\*|\()?(\w+)\)? ?\(((?:[^();{}]|\((?:[^();{}]|\([^();{}]*\))*\))*)\)"
        r"(?= ?(?:;|__attribute__|noexcept|throw|__asm__|\{))",
        text,
    )
    known: dict[str, list[str]] = {}
    for match in found:
        if not text[: match.start()].rstrip().endswith("return"):
            known.setdefault(match[1], re.split(r",(?![^(]*\))", match[2]))
    return known


def test_each_call_with_a_pointer_has_its_effects_stated(tmp_path: Path) -> None:
    declared = parameters(declarations(tmp_path))
    assert {"pthread_join", "_setjmp", "sendfile", "qsort"} <= declared.keys()
    offered = dynamic_symbols(build_runtime(find_compiler())).exports
    harmless = {n for entry in TABLE if entry.held is Held.HARMLESS for n in entry.names}
    asked = {n for n in offered if not _INTERFACES.match(n)} | harmless
    with_pointers = {n for n in asked & declared.keys() if _POINTER.search(" ".join(declared[n]))}
    assert len(with_pointers) > 60
    stated = {name for how in OWN_CODE.values() for name in how}
    before = {n for n in with_pointers if f"__wrap_{n}" in offered}
    unseen = {n for entry in TABLE if entry.held is Held.UNSEEN for n in entry.names}
    assert sorted(with_pointers - stated - before - unseen) == []


def test_rows_say_something_of_each_pointer(tmp_path: Path) -> None:
    declared = parameters(declarations(tmp_path))
    source = (RUNTIME_DIR / "host/libc_effects.cpp").read_text()
    rows = _ROW.findall(re.sub(r",\n\s+", ", ", source))
    assert len(rows) > 250
    unseen = {n for entry in TABLE if entry.held is Held.UNSEEN for n in entry.names}
    silent = [
        f"{name}: parameter {at} ({text.strip()})"
        for name, effects in rows
        for at, text in enumerate(declared.get(name, []))
        if _POINTER.search(text)
        and (name, at) not in _PASSED_ON
        and name not in unseen
        and not re.search(rf"<(\d+, )?{at}\b", effects)
    ]
    assert silent == []
