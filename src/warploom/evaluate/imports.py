"""What a built program asks of the system's libraries: the second look after the token rules.

A name that was hidden from the token rules (by a macro of a system header, or a function pointer)
still shows up among the symbols that the shared object takes from elsewhere. What is allowed is on
a list, and must be known to follow no pointer unseen (`emulator/host_imports.py`); what the trusted
program takes is allowed too.
"""

import re
from collections.abc import Set

from warploom.core.records import Finding, Severity
from warploom.emulator.host_imports import unknown_imports
from warploom.evaluate.allowed_names import HOST_C
from warploom.evaluate.refusals import FORBIDDEN, FORBIDDEN_CALLS, words

# Of the C++ library, by mangled name: what touches files, other than the standard streams.
_CXX_PARTS = (
    "basic_ofstream", "basic_ifstream", "basic_fstream", "basic_filebuf", "filesystem",
    "random_device", "dynamic_library", "quick_exit", "set_terminate",
    "6locale6global",
)  # fmt: skip
_CXX = re.compile(r"_Z(?:N[KVRO]*S[tabsiod]|NK?9__gnu_cxx|St|T[ISVT]N?K?S[tabsiod]|GVNSt"
                  r"|n[wa]|d[la]|T[ISV]N10__cxxabiv1)")  # fmt: skip
# The interfaces that the runtime plays, and what the compiler itself calls.
_RUNTIME = re.compile(
    r"(?:cuda|cu|nccl|pnccl)[A-Z]|P?MPI_|_ZN[KVRO]*(?:8warploom|4nccl|4cuda|18cooperative_groups)"
    r"|warploom|wl_|__?wrap_|__tsan_|nvtx|ompi_"
    r"|__cxa_|_Unwind_|__gxx_personality|__stack_chk_fail|__gmon_start__|_ITM_|GOMP_|omp_"
    r"|__dso_handle|__tls_get_addr|__dynamic_cast|__popcount|__ctz|__clz|__(?:u?div|u?mod)[dt]i"
    r"|__(?:mul|add|sub|div|float|fix|extend|trunc|neg|eq|ne|lt|le|gt|ge|unord)\w*[hsdtxTX][fi]\w*\Z"
    r"|__atomic_|_Z\d|__once_|__libc_single_threaded"
)
# These follow pointers in nodes that std::map lays out. What `transform` writes keeps its blocks in
# one, so they are let through, though nobody checks the nodes.
_TREES = re.compile(r"_ZSt\d+_Rb_tree_(?:insert_and_rebalance|rebalance_for_erase)\w+")
_UNSEEN = "touches memory where no check sees it"
_MORE_C = words(
    """
    fwrite fputc putc fgetc __errno_location __assert_fail __memcpy_chk __ctype_b_loc
    __ctype_tolower_loc __ctype_toupper_loc abort_message __fprintf_chk __printf_chk
    pthread_create pthread_join pthread_self pthread_once pthread_mutex_lock pthread_mutex_unlock
    pthread_cond_wait pthread_cond_signal pthread_cond_broadcast sched_yield bcmp sscanf
    """
)


def import_findings(
    candidate: Set[str], trusted: Set[str], name: str, offered: frozenset[str]
) -> list[Finding]:
    """Return a finding for each symbol that `candidate` needs and may not, and `trusted` does not.

    Names that no library knows are the business of the link.

    Args:
        candidate: what its object takes from elsewhere.
        trusted: what the trusted program's does.
        name: the candidate's file, for messages.
        offered: what the runtime exports.
    """
    unknown = unknown_imports(candidate - trusted, offered)
    unseen = {symbol for symbol in unknown if not _TREES.fullmatch(symbol)}
    return [
        Finding(
            kind="forbidden-call",
            severity=Severity.ERROR,
            message=f"the built program calls {symbol}, which {why}: no kernel needs it",
            file=name,
        )
        for symbol in sorted(candidate - trusted)
        if (why := _why(symbol) or (_UNSEEN if symbol in unseen else ""))
    ]


def _why(symbol: str) -> str:
    base = symbol.partition("@")[0]
    plain = base.removeprefix("__").removesuffix("_chk").removesuffix("64").removesuffix("_2")
    known = FORBIDDEN | FORBIDDEN_CALLS
    for name in (base, plain):
        if name in known:
            return known[name]
    if any(part in symbol for part in _CXX_PARTS):
        return FORBIDDEN["fopen"]
    short = plain.removeprefix("isoc99_").removeprefix("isoc23_")
    if base in _MORE_C or short in _MORE_C or short in HOST_C or short.removesuffix("l") in HOST_C:
        return ""
    if _CXX.match(base) or _RUNTIME.match(base):
        return ""
    return "is not on the list of what candidates may call"
