"""What calls and PTX instructions cost, in slots of a multiprocessor's lanes.

A multiplication is 1. Division, expf, sqrtf and sinf are measured on an H200
(bench/hardware/device.cu: 219 Gop/s of a multiplication and addition on each multiprocessor, 20,
26, 20 and 9.6 of these); the others are estimates by their kind. A function of the library that no
table names is not free: whatever looks like an intrinsic costs a slot.
"""

import re

from tree_sitter import Node

from warploom.emulator.ptx.template import LABEL, PREDICATE, instructions
from warploom.source.edits import decode
from warploom.source.literals import value_of_literal
from warploom.source.token_patterns import COMMENT

DIVISION = 11
"""Slots of a division or remainder."""
_TEXT = """
7 __expf __exp10f __logf __log2f __log10f __sinf __cosf __tanf __tanhf rsqrtf __fdividef __frsqrt
7 hrsqrt h2rsqrt hrcp h2rcp hexp hexp2 hexp10 hlog hlog2 hlog10 hsin hcos htanh h2exp h2exp2
7 h2exp10 h2log h2log2 h2log10 h2sin h2cos h2tanh
8 expf exp2f exp10f logf log2f log10f tanhf
11 sqrtf __fsqrt __fdiv __frcp __ddiv __drcp __hdiv __h2div hsqrt h2sqrt divides modulus
23 sinf cosf tanf erff cbrtf __powf __sincosf sincosf sinpif cospif sincospif asinf acosf atanf
23 atan2f sinhf coshf asinhf acoshf atanhf expm1f log1pf rcbrtf hypotf rhypotf norm3df norm4df
23 rnorm3df rnorm4df normf rnormf erfcf erfcxf erfinvf erfcinvf normcdff normcdfinvf remainderf
23 remquof
40 powf fmodf tgammaf lgammaf j0f j1f jnf y0f y1f ynf cyl_bessel_i0f cyl_bessel_i1f
48 sqrt __dsqrt rsqrt exp exp2 exp10 expm1 log log2 log10 log1p sin cos tan tanh sincos sinpi cospi
48 sincospi asin acos atan atan2 sinh cosh asinh acosh atanh erf erfc erfcx erfinv erfcinv normcdf
48 normcdfinv cbrt rcbrt hypot rhypot norm3d norm4d rnorm3d rnorm4d fmod remainder remquo tgamma
48 lgamma j0 j1 jn y0 y1 yn
96 pow
2 cuCadd cuCsub cuCaddf cuCsubf
4 cuCmul cuCmulf cuCfma cuCfmaf
22 cuCdiv cuCdivf cuCabs cuCabsf
1 fma fmin fmax fdim fabs floor ceil trunc round rint nearbyint roundeven lrint llrint lround
1 llround copysign ldexp scalbn scalbln frexp modf logb ilogb nextafter
1 fmaf fminf fmaxf fdimf fabsf floorf ceilf truncf roundf rintf nearbyintf roundevenf lrintf
1 llrintf lroundf llroundf copysignf ldexpf scalbnf scalblnf frexpf modff logbf ilogbf nextafterf
1 min max umin umax llmin llmax ullmin ullmax abs labs llabs clamp lerp midpoint popcount
1 countl_zero countr_zero countl_one countr_one bit_width rotl rotr isnan isinf isfinite
1 hfloor hceil hrint htrunc h2floor h2ceil h2rint h2trunc
1 plus minus multiplies negate bit_and bit_or bit_xor
"""
_OF_HOSTS = """
11 div ldiv lldiv imaxdiv __divdi3 __udivdi3
23 __divti3 __udivti3 __modti3 __umodti3 __divmodti4 __udivmodti4
2 __multi3 __powisf2 __powidf2 __powixf2
4 __mulsc3 __muldc3 __mulxc3 __multc3
22 __divsc3 __divdc3 __divxc3 __divtc3
48 __addtf3 __subtf3 __multf3 __divtf3
"""
"""What compilers and the C library compute in functions of their own, where hosts call them."""
_COMPLEX = "exp log log10 pow sqrt sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh"
"""Functions of complex numbers: `cexp`, `cexpf`, `cexpl`."""


def _table(text: str) -> dict[str, int]:
    """Return the slots of each name, from lines "slots name name ..."."""
    rows = (line.split() for line in text.strip().splitlines())
    return {name: int(slots) for slots, *names in rows for name in names}


_SLOTS = _table(_TEXT)

_INTRINSIC = re.compile(r"__[A-Za-z]\w*")
# What is priced as an access or a meeting of threads, and what is no instruction.
_NOT_COUNTED = re.compile(
    r"__(?:builtin_|sync|threadfence|shfl|ballot|any|all|activemask|match|vote|ld|st[cwrb]|cvta|is"
    r"|nanosleep|trap|brkpt|prof_|assert|pipeline|cluster|nv_|func__|attribute|declspec|pragma"
    r"|grid_|cuda_|popc_sync|launch_bounds|align|asm|typeof|alignof|has_)|\w+_as_\w+"
)
_WORD_OF_DECLARATIONS = re.compile(
    r"__(?:restrict|inline|forceinline|noinline|volatile|const|signed|complex|int\d+|u?int\d+_t|float128"
    r"|half\d?(?:_raw)?|nv_\w+|extension)"
)
_LONGEST = 4096  # characters in front of a call's brackets: longer ones are not looked into
_ROUNDED = re.compile(r"_r[nzdu]$")
_CALLED = re.compile(r"(?<!\w)(\w+)(?:<.*>)?(?:\{\}|\(\))?$", re.DOTALL)
_COMMENT = re.compile(COMMENT, re.DOTALL)


def slots_of(name: str) -> int:
    """Return the slots of a call of the function `name`; 0 for functions of the program's own."""
    name = name.removeprefix("__builtin_")
    if name in _SLOTS:
        return _SLOTS[name]
    if not _INTRINSIC.fullmatch(name) or _NOT_COUNTED.match(name):
        return 0
    return _SLOTS.get(_ROUNDED.sub("", name), 1)


def is_of_headers(name: str) -> bool:
    """Whether `name` is a priced function that no program calls its own variable by."""
    if name.endswith("__") or _WORD_OF_DECLARATIONS.fullmatch(name):
        return False
    return slots_of(name) > 0 and (name.startswith(("__", "h", "cu")) or name.endswith("f"))


def slots_of_call(function: str) -> int:
    """Return the slots of a call, by the text in front of its brackets: `::std::max<float>`."""
    text = re.sub(r"\s", "", _COMMENT.sub("", function))
    while text.startswith("(") and text.endswith(")"):
        text = text[1:-1]
    if len(text) > _LONGEST and not text.isidentifier():
        return DIVISION
    found = _CALLED.search(text)
    return slots_of(found[1]) if found else 0


def library_prices() -> str:
    """Return what calls of the C library cost, a line "symbol slots" for each, for the guard."""
    prices = _table(_OF_HOSTS)
    for name in _COMPLEX.split():
        prices |= {f"c{name}{ending}": 3 * _SLOTS[name] for ending in ("", "f", "l")}
    prices |= {f"{name}l": slots for name, slots in _SLOTS.items() if f"{name}f" in _SLOTS}
    return "".join(f"{name} {slots}\n" for name, slots in sorted((prices | _SLOTS).items()))


# --- inline PTX

# Priced as what they access, or as meetings; and moves, as assignments are free in C++.
_PTX_FREE = re.compile(
    r"(?:ld|ldu|st|atom|red|cp|fence|membar|bar|barrier|mbarrier|mov|cvta|multimem|shfl|vote|elect"
    r"|activemask|nanosleep|trap|prefetchu?|griddepcontrol|setmaxnreg|brkpt|ret|exit|bra)"
)
_PTX_SLOTS = {
    **dict.fromkeys(("div", "rem", "sqrt", "rcp"), DIVISION),
    **dict.fromkeys(("ex2", "lg2", "sin", "cos", "rsqrt", "tanh"), 7),
}


def slots_of_ptx(statement: Node) -> int:
    """Return the slots of the instructions in an asm statement."""
    texts = [node for node in statement.named_children if node.type.endswith("string_literal")]
    texts += [
        part
        for node in statement.named_children
        if node.type == "concatenated_string"
        for part in node.named_children
    ]
    # What has no value here is refused where it is translated.
    template = "".join(value_of_literal(decode(node.text or b"")) or "" for node in texts)
    slots = 0
    for text in instructions(template):
        instruction = text.strip()
        while found := LABEL.fullmatch(instruction):
            instruction = found[2]
        if found := PREDICATE.fullmatch(instruction):
            instruction = found[3]
        name = re.split(r"[.\s]", instruction.strip(), maxsplit=1)[0]
        if name and not _PTX_FREE.fullmatch(name):
            slots += _PTX_SLOTS.get(name, 1)
    return slots
