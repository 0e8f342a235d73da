"""What a program may take from the C and C++ libraries, and how each of these is held.

The access hooks see what the program's own code touches. A library's function that follows a
pointer does so unseen, unless the runtime stands before it, or code of ours stands in its place.
The one list of all that is `TABLE`: what it does not know, or knows as unseen, a program that
nobody vouches for may have only where the trusted program has it too; any other program may.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from functools import cache


class Held(Enum):
    """How what a library does to memory on a program's behalf is held."""

    HARMLESS = "follows no pointer that a program chooses"
    LOOKED_AT = "the runtime stands before it and looks at what it is given"
    HOOKED = "code of ours, with hooks, stands in its place: see emulator/process"
    UNSEEN = "follows pointers where no check sees it"


@dataclass(frozen=True, slots=True)
class Entry:
    """Some imports of one kind: by name, by a pattern of the whole name, or both."""

    held: Held
    why: str
    names: frozenset[str] = frozenset()
    pattern: re.Pattern[str] | None = None

    def has(self, name: str) -> bool:
        """Whether `name` is one of them."""
        return name in self.names or bool(self.pattern and self.pattern.fullmatch(name))


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_MATH = (
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 exp10 "
    "expm1 fabs fdim floor fma fmax fmin fmod hypot ilogb ldexp lgamma llrint llround log log10 "
    "log1p log2 logb lrint lround nearbyint nextafter nexttoward pow remainder rint round "
    "roundeven scalbln scalbn sin sinh sqrt tan tanh tgamma trunc j0 j1 jn y0 y1 yn significand"
)
_PLAIN = (
    "abs labs llabs div ldiv lldiv imaxabs abort exit _exit _Exit quick_exit isalnum isalpha "
    "isblank iscntrl isdigit isgraph islower isprint ispunct isspace isupper isxdigit tolower "
    "toupper __ctype_b_loc __ctype_tolower_loc __ctype_toupper_loc __errno_location putchar "
    "getchar rand srand random srandom drand48 lrand48 mrand48 srand48 clock difftime sleep usleep "
    "getpid getppid gettid getuid geteuid getgid getegid sysconf getpagesize sched_yield "
    "__fpclassify __fpclassifyf __isnan __isnanf __isinf __isinff __finite __finitef __signbit "
    "__signbitf fegetround fesetround feclearexcept fetestexcept feraiseexcept "
    "htonl htons ntohl ntohs stdin stdout stderr environ __environ optarg optind opterr optopt "
    "__stack_chk_fail __libc_single_threaded __tls_get_addr __gmon_start__ "
    "_ITM_deregisterTMCloneTable _ITM_registerTMCloneTable __cxa_finalize"
)
# They take numbers, or give what the library made; what is asked for is the process's own. Of a
# descriptor they tell something: what does more to one is looked at (libc_effects.cpp). Variables
# of the C library can be read, not written.
_OF_SYSTEM = (
    "ffs ffsl ffsll imaxdiv isascii toascii btowc wctob wcwidth iswalnum iswalpha iswblank "
    "iswcntrl iswctype iswdigit iswgraph iswlower iswprint iswpunct iswspace iswupper "
    "iswxdigit towlower towupper towctrans __ctype_get_mb_cur_max scalb scalbf scalbl gamma "
    "gammaf gammal arc4random arc4random_uniform feenableexcept fedisableexcept fegetexcept "
    "fesetexcept getdtablesize gethostid getpgid getpriority getsid get_nprocs get_nprocs_conf "
    "get_phys_pages get_avphys_pages get_current_dir_name gai_strerror hstrerror isatty "
    "isfdtype nl_langinfo localeconv dlerror sigabbrev_np sigdescr_np strerrorname_np "
    "strerrordesc_np fpathconf sync epoll_create epoll_create1 eventfd inotify_init "
    "inotify_init1 inotify_rm_watch timerfd_create socket sockatmark mallinfo mallinfo2 "
    "mallopt malloc_trim malloc_stats mlockall munlockall nice sched_getcpu "
    "sched_getscheduler __sched_cpualloc __sched_cpufree sched_get_priority_max "
    "sched_get_priority_min setpriority setpgid setpgrp setsid setuid seteuid setgid setegid "
    "setreuid setregid setresuid setresgid pthread_equal pthread_testcancel "
    "pthread_getconcurrency pthread_setconcurrency getchar_unlocked putchar_unlocked getwchar "
    "putwchar tzset tzname __tzname daylight __daylight timezone __timezone "
    "program_invocation_name program_invocation_short_name in6addr_any in6addr_loopback"
)
# The process library keeps what these remember (emulator/process).
_HOOKED = (
    "strtok strerror exit _exit _Exit quick_exit abort atexit getenv localtime gmtime asctime "
    "ctime rand srand random srandom drand48 srand48 lrand48 mrand48 __tls_get_addr signgam"
)
_PRINTING = (
    "printf fprintf sprintf snprintf vprintf vfprintf vsprintf vsnprintf puts fputs fputc putc "
    "fgetc getc fwrite fread fgets fflush perror sscanf fscanf vsscanf vfscanf getline getdelim "
    "setbuf setvbuf setbuffer setlinebuf asprintf vasprintf dprintf vdprintf scanf vscanf"
)
_MEMORY = (
    "memcpy mempcpy memmove memset memcmp bcmp bzero memchr memrchr memmem malloc calloc "
    "realloc free aligned_alloc posix_memalign strlen strnlen strcmp strncmp strcasecmp "
    "strncasecmp strcoll strcpy strncpy strlcpy strlcat stpcpy stpncpy strcat strncat strchr "
    "strchrnul strrchr strstr strcasestr strspn strcspn strpbrk strdup strndup strtod strtof "
    "strtold strtol strtoll strtoul strtoull strtoimax strtoumax atoi atol atoll atof qsort "
    "bsearch frexp frexpf frexpl modf modff modfl remquo remquof remquol sincos sincosf sincosl "
    "lgamma_r lgammaf_r strftime time clock_gettime gettimeofday nanosleep nan nanf nanl rand_r"
)
_THREADS = (
    "pthread_create pthread_join pthread_self pthread_once pthread_mutex_lock "
    "pthread_mutex_unlock pthread_mutex_trylock pthread_cond_wait pthread_cond_timedwait "
    "pthread_cond_clockwait pthread_cond_signal pthread_cond_broadcast pthread_detach "
    "pthread_exit __assert_fail"
)
_OF_A_YEAR = re.compile(r"__isoc(?:99|23)_(?=\w)")  # __isoc23_strtol
_NUMBERS = re.compile(
    r"__(?:popcount|ctz|clz|ffs|bswap|parity)[sdt]i2|__u?(?:div|mod|divmod)[dt]i[34]"
    r"|__(?:mul|add|sub|div|float|floatun|fix|fixuns|extend|trunc|neg|eq|ne|lt|le|gt|ge|unord|powi)"
    r"[hsdtxbTX][fci]\w*|__multi3|(?:is(?:nan|inf)|finite)[fl]?"
    r"|stdc_[a-z_]+_u(?:c|s|i|ll?)"  # the bits of a number: <stdbit.h> of glibc 2.39
)
# Allocation and exceptions of the library's own making. Its lists of exceptions, and what it keeps
# in front of each, are not the program's to write: host/exceptions.cpp.
_SUPPORT = re.compile(
    r"_Zn[wa](m|j)\w*|_Zd[la]Pv\w*"  # operator new and delete
    r"|__cxa_(rethrow|end_catch|bad_cast|pure_virtual|throw_bad_array_new_length|deleted_virtual"
    r"|bad_typeid)"
    r"|__gxx_personality_v0|_ZSt9terminatev"
    r"|_ZSt\d+__throw_(?!\w*PKc)\w+"  # those with a text are looked at
    r"|_ZT[VISC]\w+"  # tables of classes: a call through one is checked before it is made
    r"|_ZNSt9exceptionD[012]Ev|_ZNKSt9exception4whatEv|_ZNSt9bad_allocD[012]Ev"
    r"|_ZNSt(6chrono)?\w*3_V2\w*3nowEv|_ZNSt6chrono\w*3nowEv"  # clocks
    r"|_ZSt7nothrow"
)
_EXCEPTIONS = re.compile(
    r"__cxa_(allocate_exception|free_exception|throw|begin_catch|get_exception_ptr|call_unexpected"
    r"|call_terminate|init_primary_exception|rethrow_primary_exception"
    r"|(in|de)crement_exception_refcount)"
    r"|_Unwind_(Resume|Resume_or_Rethrow|RaiseException|DeleteException)"
    r"|_ZSt17rethrow_exception\w+|_ZSt17current_exceptionv|_ZNK?St15__exception_ptr13exception_ptr\w+"
    r"|_ZSt\d+__throw_\w*PKc\w*|_ZSt13set_terminatePFvvE|_ZSt14set_unexpectedPFvvE"
    r"|_ZSt15set_new_handlerPFvvE|__once_proxy|_ZSt15__once_callable|_ZSt11__once_call"
)
_BYTES = re.compile(
    r"_ZSt(11|15)_\w*[Hh]ash_bytesPKvmm|_ZNKSt8__detail20_Prime_rehash_policy\w+"
    r"|_ZSt(8to|10from)_charsP\w+"
)
_INTERFACES = re.compile(
    r"(?:cuda|cu|nccl|pnccl)[A-Z]\w*|P?MPI_\w+"
    r"|_ZN[KVRO]*(?:8warploom|4nccl|4cuda|18cooperative_groups)\w+"
    r"|warploom\w*|wl_\w+|__?wrap_\w+|__(?:t|ub)san_\w+|nvtx\w+|ompi_\w+|GOMP_\w+|omp_\w+|_Z\d\w+"
)
_NODES = re.compile(
    r"_ZSt\d+_Rb_tree_\w+|_ZNSt8__detail15_List_node_base\w+"
    r"|__cxa_(guard_\w+|atexit|at_quick_exit|thread_atexit(_impl)?)"
    r"|_ZSt4(cin|cout|cerr|clog)|_ZSt[45]w(cin|cout|cerr|clog)"
)
# Of the C++ library: objects that a program lays out itself, with pointers that are followed. What
# streams read and write is looked at, the stream itself is not.
_OBJECTS = re.compile(
    r"(?:_Z(?:N[KVRO]*S[tabsiod]|NK?9__gnu_cxx|St|T[ISVT]N?K?S[tabsiod]|GVNSt|T[ISV]N10__cxxabiv1)"
    r"|__dynamic_cast|__atomic_|__cxa_|_Unwind_)\w*"
)
_UNSEEN = "abort_message __dso_handle"
# What they are given leads them on: trees, streams and locales whose parts a program may have made,
# and calls that headers make instead of others. The functions that they call are looked at.
_LED = _names(
    "tsearch tfind tdelete twalk twalk_r tdestroy lfind lsearch dl_iterate_phdr open_memstream "
    "__fprintf_chk __printf_chk __memcpy_chk uselocale"
)

BY_HEADERS = _names(
    "fwrite fputc putc fgetc __errno_location __assert_fail __memcpy_chk __ctype_b_loc "
    "__ctype_tolower_loc __ctype_toupper_loc abort_message __fprintf_chk __printf_chk "
    "pthread_create pthread_join pthread_self pthread_once pthread_mutex_lock "
    "pthread_mutex_unlock pthread_cond_wait pthread_cond_signal pthread_cond_broadcast sched_yield "
    "bcmp sscanf __stack_chk_fail __gmon_start__ _ITM_deregisterTMCloneTable "
    "_ITM_registerTMCloneTable __cxa_finalize __libc_single_threaded __tls_get_addr __dso_handle"
)
"""C names that the compiler and the headers write for text that does not say them."""

OWN_CODE: dict[str, frozenset[str]] = {
    "each pointer is looked at": _names(
        "pthread_create pthread_once pthread_mutex_lock pthread_mutex_trylock "
        "pthread_mutex_unlock pthread_cond_wait pthread_cond_timedwait pthread_cond_clockwait "
        "pthread_cond_signal pthread_cond_broadcast pthread_barrier_init pthread_barrier_wait "
        "pthread_barrier_destroy pthread_mutex_timedlock pthread_mutex_clocklock "
        "pthread_rwlock_rdlock pthread_rwlock_wrlock pthread_rwlock_tryrdlock "
        "pthread_rwlock_trywrlock pthread_rwlock_timedrdlock pthread_rwlock_timedwrlock "
        "pthread_rwlock_clockrdlock pthread_rwlock_clockwrlock pthread_rwlock_unlock "
        "pthread_spin_init pthread_spin_destroy pthread_spin_lock pthread_spin_trylock "
        "pthread_spin_unlock sem_init sem_destroy sem_post sem_wait sem_trywait sem_timedwait "
        "sem_clockwait sem_getvalue read write readv writev pread pread64 pwrite pwrite64 preadv "
        "pwritev sendfile sendfile64 copy_file_range splice sendmsg recvmsg gethostname "
        "posix_memalign open open64 openat openat64 creat opendir fopen fopen64 freopen fdopen "
        "readlink readlinkat realpath chdir setlocale"
    ),
    "by a list of requests": _names("fcntl fcntl64 ioctl"),
    "the thread must be one of the process's": _names(
        "pthread_join pthread_tryjoin_np pthread_detach"
    ),
    "the block must be one of the process's heap": _names(
        "free realloc reallocarray malloc_usable_size __sched_cpufree"
    ),
    "the mapping must be the program's": _names(
        "mmap mmap64 munmap mremap mprotect pkey_mprotect madvise shmat"
    ),
    "it is refused": _names(
        "pthread_cancel pthread_timedjoin_np pthread_clockjoin_np pthread_getcpuclockid "
        "pthread_setschedprio execl execle execlp execv execve execvp execvpe fexecve popen system "
        "posix_spawn posix_spawnp pidfd_spawn pidfd_spawnp process_vm_readv process_vm_writev "
        "ptrace"
    ),
    "the pointer is not followed": _names("pthread_exit pthread_equal"),
}
"""Functions that the runtime defines itself, or that are harmless, though they get a pointer."""

TABLE: tuple[Entry, ...] = (
    Entry(
        Held.HARMLESS,
        "numbers in, a number out",
        frozenset(f"{name}{suffix}" for name in _MATH.split() for suffix in ("", "f", "l")),
        _NUMBERS,
    ),
    Entry(Held.HARMLESS, "it takes numbers, or gives what is the process's", _names(_PLAIN)),
    Entry(Held.HARMLESS, "it takes numbers, or gives what is the library's", _names(_OF_SYSTEM)),
    Entry(Held.HARMLESS, "it makes, throws or ends what is the library's own", pattern=_SUPPORT),
    Entry(Held.LOOKED_AT, "the memory that formats and streams name", _names(_PRINTING)),
    Entry(Held.LOOKED_AT, "the bytes that it reads and writes", _names(_MEMORY), _BYTES),
    Entry(Held.LOOKED_AT, "threads are the runtime's", _names(_THREADS)),
    Entry(Held.LOOKED_AT, "it must be a real exception, type or function", pattern=_EXCEPTIONS),
    Entry(Held.LOOKED_AT, "interfaces that the runtime plays", pattern=_INTERFACES),
    Entry(
        Held.HOOKED, "nodes, guards and streams are the program's memory", _names(_HOOKED), _NODES
    ),
    Entry(Held.UNSEEN, "what it is given leads it on", _LED),
    Entry(Held.UNSEEN, "an object or a text of the program's leads it", _names(_UNSEEN), _OBJECTS),
)
"""All that is known; the first that has a name is its entry."""


@cache
def classify(name: str) -> Entry | None:
    """Return what is known of the import `name`, None if it is nothing."""
    plain = plain_name(name)
    return next((entry for entry in TABLE if entry.has(plain)), None)


def plain_name(name: str) -> str:
    """Return the name of a C function that the headers of glibc call by its standard's year."""
    return _OF_A_YEAR.sub("", name)


def is_harmless(name: str) -> bool:
    """Whether the library's function `name` follows no pointer that a program chooses."""
    entry = classify(name)
    return entry is not None and entry.held is Held.HARMLESS


def unknown_imports(imports: Iterable[str], offered: frozenset[str]) -> list[str]:
    """Return which of `imports` are neither harmless nor looked at by the runtime, sorted.

    Args:
        imports: what a program takes from elsewhere (`EmulatorBuild.imports`).
        offered: what the runtime exports (`dynamic_symbols(build.runtime).exports`). That alone
            says what is looked at, whatever the table says.
    """
    return sorted(
        name
        for name in set(imports)
        if (not offered & {name, f"__wrap_{name}"} or _is_led(name)) and not is_harmless(name)
    )


def unseen_calls(imports: Iterable[str], offered: frozenset[str]) -> list[str]:
    """Return which of `imports` follow pointers where no check sees it, or may for all we know.

    Of a program that is anybody's this is a limit of the verdict. Objects of the C++ library are
    none: nearly every program has some, and they lead astray only one that lays them out itself.

    Args:
        imports: what a program takes from elsewhere (`EmulatorBuild.imports`).
        offered: what the runtime exports.
    """
    return [
        name for name in unknown_imports(imports, offered) if classify(name) is None or name in _LED
    ]


def _is_led(name: str) -> bool:
    """Whether what leads `name` lies in an object that a program may have laid out itself."""
    entry = classify(name)
    return entry is not None and (entry.pattern is _OBJECTS or name in _LED)
