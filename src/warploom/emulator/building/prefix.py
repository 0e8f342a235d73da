"""One precompiled header per set of headers that programs include anyway.

Parsing the C++ library and our shims takes most of a small program's compile. A compiler that
finds a precompiled header unfit (another macro touches it) reads the plain one beside it.
"""

from collections.abc import Sequence
from pathlib import Path

from warploom.core.ids import digest
from warploom.emulator.building.runtime_build import run_compiler
from warploom.emulator.rewriting.rewrite import SHIM_DIR
from warploom.toolchain.cache import cached_folder
from warploom.toolchain.compilers import Compiler

# Headers that mean the same wherever they are included first; <cassert> does not.
_STANDARD_TEXT = """
algorithm any array atomic bit bitset cctype cfloat chrono cinttypes climits cmath complex
concepts condition_variable cstdarg cstddef cstdint cstdio cstdlib cstring ctime deque
exception filesystem forward_list fstream functional future initializer_list iomanip ios
iostream istream iterator limits list map memory mutex new numbers numeric optional
ostream queue random ratio set shared_mutex span sstream stack stdexcept string
string_view thread tuple type_traits typeinfo unordered_map unordered_set utility variant
vector ctype.h errno.h fcntl.h float.h getopt.h inttypes.h limits.h math.h pthread.h
signal.h stdarg.h stdbool.h stddef.h stdint.h stdio.h stdlib.h string.h sys/stat.h
sys/time.h sys/types.h time.h unistd.h
"""
_STANDARD = frozenset(_STANDARD_TEXT.split())
_ALWAYS = "cuda_runtime.h"
# Macros by which our headers differ.
_OF_CUDA = ("-D__CUDACC__", "-D__NVCC__")
# What g++ may compile differently from the header that it takes: both passes share one.
_OF_PASS = ("-ffunction-sections", "-fdata-sections")


def precompiled_prefix(
    compiler: Compiler, flags: Sequence[str], headers: Sequence[str], shims: str
) -> Path:
    """Return a header to include first, precompiled where the compiler can and it pays.

    To precompile takes twice as long as to read: it is done when a set of headers comes again.

    Args:
        compiler: the compiler of the program.
        flags: the unit's flags; macros of the user's are left out, as they differ by program.
        headers: what the program includes unconditionally.
        shims: the digest of our headers.
    """
    chosen = sorted(h for h in headers if h in _STANDARD or (SHIM_DIR / h).is_file())
    text = "".join(f"#include <{name}>\n" for name in dict.fromkeys((_ALWAYS, *chosen)))
    ours = [flag for flag in flags if not flag.startswith("-D") or "WARPLOOM" in flag]
    ours += [flag for flag in flags if flag.startswith(_OF_CUDA)]
    ours = [flag for flag in ours if flag not in _OF_PASS]
    ours[ours.index("c++")] = "c++-header"

    def write(folder: Path) -> None:
        (folder / "prefix.h").write_text(text)

    def make(folder: Path) -> None:
        write(folder)
        # clang's form names files by absolute path and refuses to be moved: it reads the text.
        if compiler.family != "gcc":
            return
        result = run_compiler(
            compiler, [*ours, f"-I{SHIM_DIR}", "prefix.h", "-o", "prefix.h.gch"], folder
        )
        if not result.ok:
            # The program's own compile will say what is wrong.
            (folder / "prefix.h.gch").unlink(missing_ok=True)

    key = digest([compiler.identity, *ours, text, shims])
    plain, again = cached_folder("prefix", f"{key}-plain", write)
    if not again:
        return plain / "prefix.h"
    return cached_folder("prefix", key, make)[0] / "prefix.h"
