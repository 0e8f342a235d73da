"""Which functions of the C and C++ libraries a program may import without a way past the hooks.

The access hooks see what the program's own code touches. A library's function that follows a
pointer does so unseen, unless the runtime stands before it. So each import is one of three:
*offered* by the runtime, which looks at its arguments; *harmless*, as it takes no pointer that it
follows, or only objects of its own library that no program lays out itself; or *unknown*. A program
that nobody vouches for may have no unknown import that the trusted program lacks; any other may.
"""

import re
from collections.abc import Iterable

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
# Of the C++ library and its support: allocation and exceptions of the library's own making, and
# tables of classes. Streams and strings are not among them: an object of theirs that a program lays
# out itself has the library write where the program says.
_SUPPORT = re.compile(
    r"_Zn[wa](m|j)\w*|_Zd[la]Pv\w*"  # operator new and delete
    r"|__cxa_(allocate_exception|free_exception|throw|rethrow|begin_catch|end_catch|bad_cast"
    r"|pure_virtual|guard_acquire|guard_release|guard_abort|throw_bad_array_new_length|atexit"
    r"|get_exception_ptr|deleted_virtual|bad_typeid)"
    r"|_Unwind_Resume|__gxx_personality_v0|_ZSt9terminatev|_ZSt\d+__throw_\w+"
    r"|_ZT[VISC]\w+"  # tables of classes
    r"|_ZNSt9exceptionD[012]Ev|_ZNKSt9exception4whatEv|_ZNSt9bad_allocD[012]Ev"
    r"|_ZNSt(6chrono)?\w*3_V2\w*3nowEv|_ZNSt6chrono\w*3nowEv"  # clocks
    r"|_ZSt1[58]_Rb_tree_(in|de)crementP\w+"
    r"|__popcount[sdt]i2|_ZSt7nothrow"
)
HARMLESS = frozenset(
    [*(f"{name}{suffix}" for name in _MATH.split() for suffix in ("", "f", "l")), *_PLAIN.split()]
)
"""Functions and variables that follow no pointer of a program's."""


def is_harmless(name: str) -> bool:
    """Whether the library's function `name` follows no pointer that a program chooses."""
    return name in HARMLESS or _SUPPORT.fullmatch(name) is not None


def unknown_imports(imports: Iterable[str], offered: frozenset[str]) -> list[str]:
    """Return which of `imports` nothing is known of, sorted.

    Args:
        imports: what a program takes from elsewhere (`EmulatorBuild.imports`).
        offered: what the runtime exports (`dynamic_symbols(build.runtime).exports`).
    """
    return sorted(
        name
        for name in set(imports)
        if name not in offered and f"__wrap_{name}" not in offered and not is_harmless(name)
    )
