"""The compiler's flags for a program: hooks on every access, and the language of each file."""

import os
import platform
import re
from functools import lru_cache
from pathlib import Path

from warploom.core.errors import BadInputError
from warploom.core.records import BuildSpec
from warploom.emulator.rewriting.rewrite import SHIM_DIR
from warploom.toolchain.compilers import Compiler

_CUDA_SUFFIXES = (".cu", ".cuh")
_C_HEADERS = {
    "cuda.h",
    "cuda_profiler_api.h",
    "cuda_runtime.h",
    "cuda_runtime_api.h",
    "driver_types.h",
    "library_types.h",
    "mpi.h",
    "mpi-ext.h",
    "nccl.h",
    "vector_types.h",
}
_C = ("-x", "c", "-std=gnu17", "-Werror=implicit-function-declaration")
_CPP = ("-x", "c++", "-std=c++20")
_ARCHITECTURE = "__CUDA_ARCH__"
_CAPABILITY = "900"
# What no kernel reaches is dropped by the linker, function by function.
PASS_FLAGS = ("-ffunction-sections", "-fdata-sections")
"""The flags of both passes of a unit with device code."""

_BRINGS_KERNELS = re.compile(
    rb"^[ \t]*#[ \t]*include[ \t]*[<\"](?:cublas\w*|curand\w*|cusolver\w*|cub/[\w/]+|thrust/[\w/]+)"
    rb"(?:\.\w+)?[>\"]",
    re.MULTILINE,
)
# float4, uchar2, half2, __nv_bfloat162, alignas, __align__, aligned: too many words do no harm.
_WIDE_TYPE = re.compile(rb"(?:char|short|int|long|float|double|half|bfloat16)\d*[1-4]\b|align")
_DEVICE_CODE = re.compile(rb"<<\s*<|\b__(?:global|device)__\b")
_DEFINE = re.compile(r"[A-Za-z_]\w*(?:\([\w, .]*\))?")
_VERSION = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")


def version_code(version: str) -> int:
    """Return NCCL's number for a version: 23203 for "2.32.3".

    Raises:
        BadInputError: `version` has not the form MAJOR.MINOR or MAJOR.MINOR.PATCH.
    """
    match = _VERSION.fullmatch(version)
    if match is None:
        raise BadInputError(f"an NCCL version must look like 2.30.7, got {version!r}")
    return int(match[1]) * 10000 + int(match[2]) * 100 + int(match[3] or 0)


def hook_flags(compiler: Compiler) -> list[str]:
    """Return the flags by which every access of the code calls the runtime."""
    hooks = (
        ["--param", "tsan-distinguish-volatile=1", "--param", "tsan-instrument-func-entry-exit=0"]
        if compiler.family == "gcc"
        else [
            "-mllvm",
            "-tsan-distinguish-volatile",
            "-mllvm",
            "-tsan-instrument-func-entry-exit=0",
            "-mllvm",
            "-disable-lsr",
        ]
    )
    # Small functions are inlined, as GPU compilers inline nearly all: a local variable whose
    # address goes to no other function takes no hook. No library replaces functions of the program.
    special = (
        [
            "-fno-gnu-unique",
            # An access has the address that its hook got, as the guard can see.
            "-fno-ivopts",
            "-fno-semantic-interposition",
            "-finline-small-functions",
            "-finline-functions",
            "--param",
            "max-inline-insns-auto=60",
            # A call that recurses is one here where it is one on a GPU: guard/recursion.cpp.
            "--param",
            "max-inline-insns-recursive=0",
            "--param",
            "max-inline-insns-recursive-auto=0",
            # Where variables lie at each line: nobody asks.
            "-fno-var-tracking",
            "-gno-variable-location-views",
        ]
        if compiler.family == "gcc"
        else []
    )
    # Where a thread's variables lie is asked by a call, for __tls_get_addr of process/threads.cpp.
    if compiler.family == "gcc" and platform.machine() == "aarch64":
        special.append("-mtls-dialect=trad")
    # The guard puts calls between any two instructions.
    if platform.machine() == "x86_64":
        special.append("-mno-red-zone")
    # DWARF 5 names file 0 and file 1 differently after #line, and older binutils mix them up.
    return [
        "-O1", "-g1", "-gdwarf-4", "-fPIC", "-ftls-model=global-dynamic",
        "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls",
        "-fno-strict-aliasing", "-fno-plt", "-fno-jump-tables", *special, "-fsanitize=thread",
        *hooks, "-w",
        "-fdiagnostics-color=never",
        # What some distributions turn on: other functions, and code that no program asked for.
        "-U_FORTIFY_SOURCE", "-fno-stack-protector", "-fcf-protection=none",
    ]  # fmt: skip


def alignment_flags(whole: bytes) -> list[str]:
    """Return the flag that checks what a unit's vectors and aligned structs promise as a whole.

    `whole` is its text with that of the program's files that it includes. The hooks see the pieces
    of which compilers copy such types; of other types these are all there is. It costs up to half
    of a short kernel's speed (`bench/thread_steps.py`): so only who names such a type has it.
    """
    return ["-fsanitize=alignment"] if _WIDE_TYPE.search(whole) else []


def program_flags(spec: BuildSpec, compiler: Compiler) -> list[str]:
    """Return the flags of every unit of the program."""
    for name in spec.defines:
        if not _DEFINE.fullmatch(name):
            raise BadInputError(f"a macro's name must be an identifier, got {name!r}")
    defines = [
        f"-D{n}={v}" if v else f"-D{n}"
        for n, v in sorted(spec.defines.items())
        if n != _ARCHITECTURE
    ]
    return [
        *hook_flags(compiler), "-DWARPLOOM_EMULATOR",
        f"-DWARPLOOM_NCCL_VERSION={version_code(spec.nccl)}", *defines,
    ]  # fmt: skip


@lru_cache(maxsize=1)
def _asked_by_headers() -> frozenset[str]:
    """Return the names that directives of our headers ask about: a program may set these."""
    directive = re.compile(r"^[ \t]*#[ \t]*(?:el)?if(?:n?def)?\b((?:.*\\\n)*.*)", re.MULTILINE)
    texts = (path.read_text() for path in sorted(SHIM_DIR.rglob("*")) if path.is_file())
    lines = (line for text in texts for line in directive.findall(text))
    return frozenset(name for line in lines for name in re.findall(r"[A-Za-z_]\w*", line))


def own_macros(spec: BuildSpec) -> dict[str, str]:
    """Return the macros that are for the program's own text, by name and value.

    They are defined behind the headers that each unit with device code begins with, so that no
    parameter or variable in these can have the name of one (`ranks`, `lanes`, `T`). What begins
    with an underscore, and what our headers ask for, is for the headers too.
    """
    ours = _asked_by_headers()
    return {
        name: value
        for name, value in sorted(spec.defines.items())
        if not name.startswith("_") and name.partition("(")[0] not in ours
    }


def device_flags(spec: BuildSpec) -> list[str]:
    """Return the flags that the device pass of a unit has besides.

    Compute capability 9.0, unless the macros of `spec` say another. Text that reads the same in
    both passes is compiled once, without these: what else they do must not be needed then.
    """
    value = spec.defines.get(_ARCHITECTURE) or _CAPABILITY
    # What no kernel reaches is dropped by the linker, function by function. A shift by too much
    # would give what this processor gives: those that shifts.py does not see stop the program.
    return [
        f"-D{_ARCHITECTURE}={value}", "-ffunction-sections", "-fdata-sections",
        "-fsanitize=shift-exponent", "-fno-sanitize-recover=shift-exponent",
    ]  # fmt: skip


def language_flags(source: Path, text: bytes, whole: bytes = b"", *, is_program: bool) -> list[str]:
    """Return the flags that say which language a unit is in.

    `whole` is its text with that of the program's files that it includes: what includes a library
    that brings kernels has device code, whatever its name.
    """
    if _BRINGS_KERNELS.search(whole):
        return ["-x", "c++", "-std=c++20", "-D__CUDACC__", "-D__NVCC__"]
    if source.suffix == ".c" and _is_c(text):
        return list(_C)
    if is_program or source.suffix in _CUDA_SUFFIXES:
        return ["-x", "c++", "-std=c++20", "-D__CUDACC__", "-D__NVCC__"]
    return list(_CPP)


def in_cpp(flags: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the flags of a unit in C for the same text in C++; None for one in C++.

    g++ and mpicxx compile `.c` as C++, and programs that are built with them rely on it.
    """
    return (*_CPP, *flags[len(_C) :]) if flags[: len(_C)] == _C else None


def _is_c(text: bytes) -> bool:
    """Whether a `.c` file has no device code and includes none of our headers that are C++ only."""
    names = {os.fsdecode(n) for n in re.findall(rb'#[ \t]*include[ \t]*[<"]([^>"\n]+)', text)}
    ours = {name for name in names if (SHIM_DIR / name).is_file()}
    return ours <= _C_HEADERS and not _DEVICE_CODE.search(text)
