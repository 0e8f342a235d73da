"""Which macros the system's headers and ours define, and which names these macros rely on.

A candidate's macro of such a name would change what a header's macro means; a condition on one may
tell the emulator from a GPU. The table holds every header that a program could include, of the
emulator's compiler and of nvcc where it is found.
"""

import ast
import functools
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from warploom.core.errors import MissingToolError, ToolFailedError
from warploom.core.ids import digest
from warploom.core.process import default_environment, run_process
from warploom.core.records import Limits
from warploom.emulator.building.runtime_build import folder_digest, run_compiler
from warploom.emulator.rewriting.rewrite import SHIM_DIR
from warploom.toolchain.cache import cached_folder
from warploom.toolchain.compilers import Compiler, find_compiler
from warploom.toolchain.nccl import get_nccl, newest_version
from warploom.toolchain.nvcc import find_mpi_include, find_nvcc

_HEADERS = """
algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat charconv chrono
cinttypes climits clocale cmath compare complex concepts condition_variable csetjmp csignal cstdarg
cstddef cstdint cstdio cstdlib cstring ctime cuchar cwchar cwctype deque exception filesystem
forward_list fstream functional future initializer_list iomanip ios iostream istream iterator latch
limits list locale map memory memory_resource mutex new numbers numeric optional ostream queue
random ranges ratio regex scoped_allocator semaphore set shared_mutex source_location span sstream
stack stdexcept stop_token streambuf string string_view system_error thread tuple type_traits
typeindex typeinfo unordered_map unordered_set utility valarray variant vector version
arpa/inet.h assert.h complex.h ctype.h dirent.h dlfcn.h elf.h endian.h errno.h execinfo.h fcntl.h
fenv.h float.h getopt.h immintrin.h inttypes.h iso646.h libgen.h limits.h link.h linux/limits.h
locale.h malloc.h math.h mm_malloc.h netdb.h netinet/in.h omp.h poll.h pthread.h pwd.h sched.h
semaphore.h setjmp.h signal.h stdalign.h stdarg.h stdbool.h stddef.h stdint.h stdio.h stdlib.h
string.h strings.h sys/ioctl.h sys/mman.h sys/param.h sys/resource.h sys/socket.h sys/stat.h
sys/syscall.h sys/sysinfo.h sys/time.h sys/times.h sys/types.h sys/uio.h sys/un.h sys/utsname.h
sys/auxv.h sys/epoll.h sys/eventfd.h sys/file.h sys/inotify.h sys/personality.h sys/prctl.h
sys/ptrace.h sys/random.h sys/sem.h sys/sendfile.h sys/shm.h sys/signalfd.h sys/statvfs.h
sys/timerfd.h sys/xattr.h aio.h cpuid.h err.h error.h ftw.h glob.h grp.h ifaddrs.h langinfo.h
mqueue.h net/if.h regex.h search.h spawn.h syslog.h termios.h threads.h utime.h wordexp.h
sys/wait.h syscall.h time.h ucontext.h unistd.h values.h wchar.h x86intrin.h
"""
_CUDA_HEADERS = """
cuda.h cuda_runtime.h cuda_runtime_api.h cuda_fp16.h cuda_bf16.h cuda_fp8.h cooperative_groups.h
math_constants.h cuComplex.h vector_types.h cuda_pipeline.h cuda_profiler_api.h mpi.h nccl.h
nccl_device.h nvtx3/nvToolsExt.h
"""
_DEFINE = re.compile(r"#define ([A-Za-z_$][\w$]*)(?:\(([^)]*)\))?[ ]?(.*)")
_WORD = re.compile(r"[A-Za-z_$][\w$]*")
_LITERAL = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|\b\d[\w.]*')
_LIMITS = Limits(seconds=120.0, memory_mb=8192, output_mb=16)


@dataclass(frozen=True, slots=True)
class SystemMacros:
    """`names` are defined as macros by some header; `used` are the names in their bodies.

    `declared` are all names that the headers spell: any other name cannot be the system's.
    """

    names: frozenset[str]
    used: frozenset[str]
    declared: frozenset[str]


@functools.cache
def system_macros() -> SystemMacros:
    """Return the table for the compilers and headers of this machine.

    Raises:
        MissingToolError: there is no C++ compiler.
        ToolFailedError: it cannot preprocess its own headers.
    """
    folder = _emulators()
    found = [*_parsed(folder / "macros.json"), *_nvccs()]
    names = frozenset(item[0] for item in found)
    used = frozenset(word for _, words in found for word in words)
    declared: list[str] = json.loads((folder / "names.json").read_text())
    return SystemMacros(names, used, names | used | frozenset(declared))


_STYLE = re.compile(r"[A-Z][A-Z0-9_]*")
_REWRITERS = "rewriting", "metering", "ptx"
"""Folders of the emulator with what writes into a program's text."""


@functools.cache
def rewriters_words() -> frozenset[str]:
    """Return the names that the emulator's rewriter writes into a program's text."""
    found: set[str] = set()
    for path in (path for folder in _REWRITERS for path in (SHIM_DIR.parent / folder).glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            # A docstring stands as an expression; what is written is part of one.
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                node.value.value = ""
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.update(word for word in _WORD.findall(node.value) if len(word) > 1)
    # What is written is in no macro's style but for our own: the rest are words of messages.
    return frozenset(w for w in found if w.startswith("WARPLOOM") or not _STYLE.fullmatch(w))


def _source(headers: str) -> str:
    return "".join(
        f"#if __has_include(<{name}>)\n#include <{name}>\n#endif\n" for name in headers.split()
    )


def _emulators() -> Path:
    """Return the folder with what the emulator's compiler reads in headers."""
    compiler = find_compiler()
    ours = sorted(
        str(path.relative_to(SHIM_DIR)) for path in SHIM_DIR.rglob("*.h*") if path.is_file()
    )
    text = (
        "// names and macros\n"
        + _source(_HEADERS)
        + "".join(f"#include <{name}>\n" for name in ours)
    )
    flags = [
        "-E", "-x", "c++", "-std=c++20", "-w", "-D__CUDACC__", "-D__NVCC__",
        "-DWARPLOOM_EMULATOR", "-DWARPLOOM_NCCL_VERSION=99999", f"-I{SHIM_DIR}",
    ]  # fmt: skip

    def make(folder: Path) -> None:
        with_device = ("", "-D__CUDA_ARCH__=900")
        (folder / "all.cpp").write_text(text)
        for number, extra in enumerate(with_device):
            more = ["-dM", extra] if extra else ["-dM"]
            _preprocess(compiler, [*flags, *more, "all.cpp", "-o", f"{number}.txt"], folder)
        _preprocess(compiler, [*flags, "-P", "all.cpp", "-o", "whole.txt"], folder)
        words = set(_WORD.findall((folder / "whole.txt").read_text(errors="replace")))
        (folder / "names.json").write_text(json.dumps(sorted(words)))
        (folder / "whole.txt").unlink()
        lines = {line for n in (0, 1) for line in _lines(folder / f"{n}.txt")}
        (folder / "macros.json").write_text(json.dumps(sorted(lines)))

    key = digest([compiler.identity, folder_digest(SHIM_DIR), text, *flags])
    return cached_folder("macros", key, make)[0]


def _preprocess(compiler: Compiler, arguments: Sequence[str], folder: Path) -> None:
    result = run_compiler(compiler, arguments, folder)
    if not result.ok:
        raise ToolFailedError(f"the compiler must read its own headers:\n{result.log}")


def _nvccs() -> Iterator[tuple[str, list[str]]]:
    """Yield what nvcc's headers define; nothing where nvcc is not here."""
    try:
        nvcc = find_nvcc()
        nccl = get_nccl(newest_version())
    except MissingToolError:
        return
    text = _source(_CUDA_HEADERS)

    def make(folder: Path) -> None:
        (folder / "all.cu").write_text(text)
        lines: set[str] = set()
        for device in ([], ["-D__CUDA_ARCH__=900"]):
            result = run_process(
                [
                    nvcc.path, "-E", "-Xcompiler", "-dM", "-std=c++17", "-w", *device,
                    f"-I{nccl.include}", f"-I{find_mpi_include()}", "all.cu", "-o", "all.txt",
                ],
                limits=_LIMITS,
                environment={**default_environment(), "LC_ALL": "C", "TMPDIR": str(folder)},
                folder=folder,
            )  # fmt: skip
            if result.ok:
                lines.update(_lines(folder / "all.txt"))
        (folder / "macros.json").write_text(json.dumps(sorted(lines)))

    key = digest([nvcc.identity, str(nccl.include), nccl.version, text])
    yield from _parsed(cached_folder("macros", key, make)[0] / "macros.json")


def _lines(path: Path) -> Iterator[str]:
    for line in path.read_text(errors="replace").splitlines():
        if line.startswith("#define "):
            yield line


def _parsed(path: Path) -> Iterator[tuple[str, list[str]]]:
    for line in json.loads(path.read_text()):
        found = _DEFINE.match(line)
        if found:
            parameters = set(_WORD.findall(found[2] or ""))
            body = set(_WORD.findall(_LITERAL.sub(" ", found[3])))
            yield found[1], sorted(body - parameters)
