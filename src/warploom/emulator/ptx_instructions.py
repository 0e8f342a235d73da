"""What each emulated PTX instruction is in C++ (PTX ISA 8.x, chapter "Instruction Set")."""

import re
from collections.abc import Callable
from dataclasses import dataclass

_P = "::warploom::ptx::"
_TYPES = {
    "b8": "std::uint8_t", "u8": "std::uint8_t", "s8": "std::int8_t",
    "b16": "std::uint16_t", "u16": "std::uint16_t", "s16": "std::int16_t",
    "b32": "std::uint32_t", "u32": "std::uint32_t", "s32": "std::int32_t",
    "b64": "std::uint64_t", "u64": "std::uint64_t", "s64": "std::int64_t",
    "f32": "float", "f64": "double", "pred": "bool",
}  # fmt: skip
_SPACES = frozenset(("global", "shared", "shared__cta", "local", "const", "param"))
_ORDERS = {
    "relaxed": "Relaxed", "acquire": "Acquire", "release": "Release", "acq_rel": "AcqRel",
    "sc": "SeqCst", "volatile": "Relaxed",
}  # fmt: skip
_SCOPES = {"cta": "Block", "cluster": "Device", "gpu": "Device", "sys": "System"}
# Where a datum is cached, and how numbers are rounded and flushed: no difference here.
_HINTS = re.compile(
    r"ca|cg|cs|lu|cv|wb|wt|nc|weak|L1__\w+|L2__\w+|ftz|rn|rz|rm|rp|rna|approx|full|sat|noftz|ru|rd"
)
_SIMPLE = {
    "add": "{0} + {1}", "sub": "{0} - {1}", "min": "{0} < {1} ? {0} : {1}",
    "max": "{0} < {1} ? {1} : {0}", "and": "{0} & {1}", "or": "{0} | {1}", "xor": "{0} ^ {1}",
    "not": "~{0}", "neg": "-{0}", "abs": "{0} < 0 ? -{0} : {0}", "div": "{0} / {1}",
    "rem": "{0} % {1}", "fma": "::std::fma({0}, {1}, {2})", "rcp": "1 / {0}",
    "sqrt": "::std::sqrt({0})", "rsqrt": "1 / ::std::sqrt({0})", "ex2": "::std::exp2({0})",
    "lg2": "::std::log2({0})", "sin": "::std::sin({0})", "cos": "::std::cos({0})",
    "tanh": "::std::tanh({0})", "popc": "__builtin_popcountll({0})", "cnot": "{0} == 0",
    "copysign": "::std::copysign({1}, {0})", "mov": "{0}",
}  # fmt: skip
_ARITY = re.compile(r"\{(\d)\}")
_COMPARE = {
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "lo": "<", "ls": "<=",
    "hi": ">", "hs": ">=",
}  # fmt: skip
_CHANGES = {
    "add": "static_cast<T>(old + {0})", "min": "{0} < old ? {0} : old",
    "max": "old < {0} ? {0} : old", "and": "static_cast<T>(old & {0})",
    "or": "static_cast<T>(old | {0})", "xor": "static_cast<T>(old ^ {0})",
    "inc": "old >= {0} ? T(0) : static_cast<T>(old + 1)",
    "dec": "old == 0 || old > {0} ? {0} : static_cast<T>(old - 1)",
    "exch": "{0}", "cas": "old == {0} ? {1} : old",
}  # fmt: skip
REGISTERS = {
    "laneid": "::warploom::lane_index()",
    "warpid": f"{_P}warp_index()",
    "nwarpid": "64u",
    "smid": f"{_P}sm_index()",
    "nsmid": "132u",
    "gridid": "1u",
    "clock": "static_cast<unsigned>(::warploom::device_clock())",
    "clock64": "::warploom::device_clock()",
    "globaltimer": "::warploom::global_timer()",
    "globaltimer_lo": "static_cast<unsigned>(::warploom::global_timer())",
    "globaltimer_hi": "static_cast<unsigned>(::warploom::global_timer() >> 32)",
    "dynamic_smem_size": f"{_P}dynamic_shared_bytes()",
    "lanemask_eq": "(1u << ::warploom::lane_index())",
    "lanemask_lt": "((1u << ::warploom::lane_index()) - 1u)",
    "lanemask_le": "((2u << ::warploom::lane_index()) - 1u)",
    "lanemask_gt": "~((2u << ::warploom::lane_index()) - 1u)",
    "lanemask_ge": "~((1u << ::warploom::lane_index()) - 1u)",
    **{f"tid.{c}": f"threadIdx.{c}" for c in "xyz"},
    **{f"ntid.{c}": f"blockDim.{c}" for c in "xyz"},
    **{f"ctaid.{c}": f"blockIdx.{c}" for c in "xyz"},
    **{f"nctaid.{c}": f"gridDim.{c}" for c in "xyz"},
}
"""Special registers, by name without the percent sign."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: `name`, what follows it after dots, operands, and what operands are in C++.

    `::` in a suffix reads `__`.
    """

    name: str
    suffixes: tuple[str, ...]
    operands: tuple[str, ...]
    reference: Callable[[str], str]

    @property
    def type(self) -> str | None:
        """The C++ type that the last suffix names, None if it names none."""
        return _TYPES.get(self.suffixes[-1]) if self.suffixes else None

    def has(self, *words: str) -> bool:
        """Whether one of `words` is among the suffixes."""
        return any(word in self.suffixes for word in words)

    def others(self, *known: frozenset[str] | dict[str, str]) -> list[str]:
        """Return the suffixes before the type that are in none of `known`, and no mere hints."""
        return [
            s
            for s in self.suffixes[:-1]
            if not _HINTS.fullmatch(s) and not any(s in group for group in known)
        ]

    def value(self, index: int, kind: str) -> str:
        """Return operand `index` read as the C++ type `kind`."""
        return f"{_P}read<{kind}>({self.reference(self.operands[index])})"

    def result(self, value: str, index: int = 0) -> str:
        """Return the statement that gives operand `index` a value; `_` takes none."""
        if self.operands[index] == "_":
            return f"(void)({value});"
        return f"{_P}write({self.reference(self.operands[index])}, {value});"

    def address(self, index: int) -> str:
        """Return the pointer that the operand `[register+offset]` means."""
        found = re.fullmatch(r"\[\s*([^+\]]+?)\s*(?:\+\s*(-?\w+)\s*)?\]", self.operands[index])
        if found is None:
            return f"{_P}generic_address({self.value(index, 'std::uint64_t')})"
        base = f"{_P}read<std::uint64_t>({self.reference(found[1])})"
        offset = f" + ({found[2]})" if found[2] else ""
        kind = "shared" if self.has("shared", "shared__cta") else "generic"
        return f"{_P}{kind}_address({base}{offset})"

    def order(self, default: str = "Relaxed") -> str:
        """Return the memory order that the suffixes name."""
        found = [_ORDERS[s] for s in self.suffixes if s in _ORDERS]
        return f"::warploom::Order::{found[0] if found else default}"

    def scope(self, default: str) -> str:
        """Return the scope that the suffixes name."""
        found = [_SCOPES[s] for s in self.suffixes if s in _SCOPES]
        return f"::warploom::Scope::{found[0] if found else default}"


def statement(i: Instruction) -> str | None:
    """Return the C++ statements of an instruction, None if it is not emulated."""
    if i.name in _SPECIAL:
        return _SPECIAL[i.name](i)
    if i.name in _SIMPLE:
        return _arithmetic(i)
    return None


def _arithmetic(i: Instruction) -> str | None:
    kind = i.type
    pattern = _SIMPLE[i.name]
    arity = len(set(_ARITY.findall(pattern)))
    if kind is None or len(i.operands) != arity + 1 or i.others():
        return None
    if i.name == "popc":
        kind = "std::uint64_t" if i.suffixes[-1] == "b64" else "std::uint32_t"
    values = [i.value(n + 1, kind) for n in range(arity)]
    result = "std::uint32_t" if i.name == "popc" else kind
    return i.result(f"static_cast<{result}>({pattern.format(*values)})")


def _elements(i: Instruction, index: int) -> list[str]:
    return [part.strip() for part in i.operands[index].strip("{} ").split(",")]


def _mov(i: Instruction) -> str | None:
    """`mov`, with vectors packed into a wider register or taken out of it."""
    target, source = i.operands if len(i.operands) == 2 else ("", "")
    bits = re.fullmatch(r"[bu](\d+)", i.suffixes[-1]) if i.suffixes else None
    if not target.startswith("{") and not source.startswith("{"):
        return _arithmetic(i)
    parts = _elements(i, 1 if source.startswith("{") else 0)
    if bits is None or int(bits[1]) % len(parts) or int(bits[1]) > 64:
        return None
    width = int(bits[1]) // len(parts)
    part, whole = f"std::uint{width}_t", f"std::uint{bits[1]}_t"
    if source.startswith("{"):
        pieces = [
            f"static_cast<std::uint64_t>({_P}read<{part}>({i.reference(p)})) << {width * n}"
            for n, p in enumerate(parts)
        ]
        return i.result(f"static_cast<{whole}>({' | '.join(pieces)})")
    wide = i.value(1, "std::uint64_t")
    return f"const std::uint64_t wl_w = {wide}; " + " ".join(
        f"{_P}write({i.reference(p)}, static_cast<{part}>(wl_w >> {width * n}));"
        for n, p in enumerate(parts)
        if p != "_"
    )


def _lanes(i: Instruction) -> int:
    return 4 if i.has("v4") else 2 if i.has("v2") else 1


_VECTORS = frozenset(("v2", "v4"))


def _load(i: Instruction) -> str | None:
    kind = i.type
    if kind is None or len(i.operands) != 2 or i.others(_SPACES, _ORDERS, _SCOPES, _VECTORS):
        return None
    atomic = i.has("relaxed", "acquire", "volatile")
    lanes = _lanes(i)
    targets = _elements(i, 0) if lanes > 1 else [i.operands[0]]
    if len(targets) != lanes:
        return None
    where = f"static_cast<const {kind}*>(wl_p) + "
    lines = [f"const void* wl_p = {i.address(1)};"]
    for n in range(lanes):
        if atomic:
            default = "System" if i.has("volatile") else "Device"
            value = f"{_P}load_atomic<{kind}>({where}{n}, {i.order()}, {i.scope(default)})"
        else:
            value = f"{_P}load<{kind}>({where}{n})"
        lines.append(f"const {kind} wl_v{n} = {value};")
    for n, target in enumerate(targets):
        if target != "_":
            lines.append(f"{_P}write({i.reference(target)}, wl_v{n});")
    return " ".join(lines)


def _store(i: Instruction) -> str | None:
    kind = i.type
    if kind is None or len(i.operands) != 2 or i.others(_SPACES, _ORDERS, _SCOPES, _VECTORS):
        return None
    atomic = i.has("relaxed", "release", "volatile")
    lanes = _lanes(i)
    sources = _elements(i, 1) if lanes > 1 else [i.operands[1]]
    if len(sources) != lanes:
        return None
    lines = [f"void* wl_p = {i.address(0)};"]
    for n, source in enumerate(sources):
        value = f"{_P}read<{kind}>({i.reference(source)})"
        where = f"static_cast<{kind}*>(wl_p) + {n}"
        if atomic:
            default = "System" if i.has("volatile") else "Device"
            lines.append(
                f"{_P}store_atomic<{kind}>({where}, {value}, {i.order()}, {i.scope(default)});"
            )
        else:
            lines.append(f"{_P}store<{kind}>({where}, {value});")
    return " ".join(lines)


def _change(i: Instruction, *, result: bool) -> str | None:
    """`atom` gives the old value, `red` does not."""
    kind = i.type
    names = [s for s in i.suffixes if s in _CHANGES]
    if kind is None or len(names) != 1:
        return None
    if i.others(_SPACES, _ORDERS, _SCOPES, frozenset(names)):
        return None
    first = 1 if result else 0
    arity = 2 if names[0] == "cas" else 1
    if len(i.operands) != first + 1 + arity:
        return None
    values = [f"wl_v{n}" for n in range(arity)]
    lines = [
        f"const {kind} {v} = {i.value(first + 1 + n, kind)};" for n, v in enumerate(values)
    ]
    change = _CHANGES[names[0]].format(*values)
    lines.append(
        f"using T = {kind}; [[maybe_unused]] const T wl_old = {_P}change<T>({i.address(first)}, "
        f"{i.order()}, {i.scope('Device')}, [=](T old) WARPLOOM_UNCHECKED -> T "
        f"{{ (void)old; return {change}; }});"
    )
    if result:
        lines.append(i.result("wl_old"))
    return " ".join(lines)


def _fence(i: Instruction) -> str | None:
    if i.has("proxy"):
        return ";" if i.has("alias", "async") else None  # one view of memory here
    if any(s not in _ORDERS and s not in _SCOPES for s in i.suffixes):
        return None
    return f"::warploom::fence({i.order('SeqCst')}, {i.scope('System')});"


def _membar(i: Instruction) -> str | None:
    scope = {"cta": "Block", "gl": "Device", "sys": "System"}.get("".join(i.suffixes))
    return scope and f"::warploom::fence(::warploom::Order::SeqCst, ::warploom::Scope::{scope});"


def _barrier(i: Instruction) -> str | None:
    if i.has("warp"):
        return f"::warploom::warp_barrier({i.value(0, 'std::uint32_t')});"
    if not i.has("sync") or i.has("cluster"):
        return None
    number = i.value(0, "std::uint32_t")
    if len(i.operands) == 1:
        if i.operands[0] == "0":
            return "::__syncthreads();"
        return f"::warploom::named_barrier({number}, 0, __LINE__);"
    return f"::warploom::named_barrier({number}, {i.value(1, 'std::uint32_t')}, __LINE__);"


def _setp(i: Instruction) -> str | None:
    kind = i.type
    compare = _COMPARE.get(i.suffixes[0]) if i.suffixes else None
    if kind is None or compare is None or len(i.operands) != 3 or len(i.suffixes) > 3:
        return None
    return i.result(f"{i.value(1, kind)} {compare} {i.value(2, kind)}")


def _selp(i: Instruction) -> str | None:
    kind = i.type
    if kind is None or len(i.operands) != 4:
        return None
    return i.result(f"{i.reference(i.operands[3])} ? {i.value(1, kind)} : {i.value(2, kind)}")


def _multiply(i: Instruction) -> str | None:
    """`mul` and `mad`: low or high half, wide, or floating point."""
    kind = i.type
    count = 4 if i.name == "mad" else 3
    if kind is None or len(i.operands) != count or i.others(frozenset(("lo", "hi", "wide"))):
        return None
    a, b = i.value(1, kind), i.value(2, kind)
    result = kind
    if i.has("wide"):
        bits = {"16": "32", "32": "64"}.get(i.suffixes[-1][1:])
        if bits is None:
            return None
        result = kind.replace(i.suffixes[-1][1:], bits)
        product = f"static_cast<{result}>({a}) * static_cast<{result}>({b})"
    elif i.has("hi"):
        product = f"{_P}high_product<{kind}>({a}, {b})"
    else:
        product = f"{a} * {b}"
    if i.name == "mad":
        product = f"{product} + {i.value(3, result)}"
    return i.result(f"static_cast<{result}>({product})")


def _shift(i: Instruction) -> str | None:
    kind = i.type
    if kind is None or len(i.operands) != 3:
        return None
    function = "shift_left" if i.name == "shl" else "shift_right"
    return i.result(f"{_P}{function}<{kind}>({i.value(1, kind)}, {i.value(2, 'std::uint32_t')})")


def _bits(i: Instruction) -> str | None:
    """Instructions on the bits of integers."""
    kind, u = i.type, "std::uint32_t"
    count = len(i.operands)
    if kind is None:
        return None
    wide = kind.endswith("64_t")
    if i.name == "clz" and count == 2:
        call = "__clzll" if wide else "__clz"
        return i.result(f"static_cast<{u}>({call}({i.value(1, kind)}))")
    if i.name == "brev" and count == 2:
        return i.result(f"{'__brevll' if wide else '__brev'}({i.value(1, kind)})")
    if i.name == "bfind" and count == 2 and kind.startswith("std::uint"):
        found = f"{_P}find_top({i.value(1, kind)})"
        if i.has("shiftamt"):
            found = f"{found} ^ {63 if wide else 31}u"
        return i.result(found)
    if i.name == "bfe" and count == 4:
        return i.result(f"{_P}extract<{kind}>({i.value(1, kind)}, {i.value(2, u)}, {i.value(3, u)})")
    if i.name == "bfi" and count == 5:
        values = f"{i.value(1, kind)}, {i.value(2, kind)}, {i.value(3, u)}, {i.value(4, u)}"
        return i.result(f"{_P}insert<{kind}>({values})")
    if i.name == "lop3" and count == 5:
        values = ", ".join(i.value(n, u) for n in range(1, 5))
        return i.result(f"{_P}logic3({values})")
    if i.name == "prmt" and count == 4 and i.suffixes == ("b32",):
        return i.result(f"__byte_perm({', '.join(i.value(n, u) for n in range(1, 4))})")
    return None


def _convert(i: Instruction) -> str | None:
    """`cvt` between numbers of the C++ types; other formats are not emulated."""
    kinds = [s for s in i.suffixes if s in _TYPES]
    rounding = [s for s in i.suffixes if s in ("rni", "rzi", "rmi", "rpi")]
    known = {*kinds, *rounding, "rn", "rz", "ftz"}
    if len(kinds) != 2 or len(i.operands) != 2 or any(s not in known for s in i.suffixes):
        return None
    value = i.value(1, _TYPES[kinds[1]])
    for word, function in (("rni", "nearbyint"), ("rmi", "floor"), ("rpi", "ceil")):
        if word in rounding:
            value = f"::std::{function}({value})"
    return i.result(f"static_cast<{_TYPES[kinds[0]]}>({value})")


def _cvta(i: Instruction) -> str | None:
    if len(i.operands) != 2:
        return None
    if i.has("shared", "shared__cta") and not i.has("to"):
        pointer = f"{_P}shared_address({i.value(1, 'std::uint64_t')})"
        return i.result(f"reinterpret_cast<std::uint64_t>({pointer})")
    return i.result(i.value(1, "std::uint64_t"))


def _vote(i: Instruction) -> str | None:
    if i.suffixes[:1] != ("sync",) or len(i.operands) != 3 or i.operands[1].startswith("!"):
        return None
    call = {"ballot": "__ballot_sync", "any": "__any_sync", "all": "__all_sync"}
    name = call.get(i.suffixes[1])
    mask, predicate = i.value(2, "std::uint32_t"), i.reference(i.operands[1])
    return name and i.result(f"{name}({mask}, {predicate})")


def _shuffle(i: Instruction) -> str | None:
    """The C++ forms, for the operand c that they give: whole warps or segments of a power of two."""
    names = {"idx": "__shfl_sync", "up": "__shfl_up_sync", "down": "__shfl_down_sync",
             "bfly": "__shfl_xor_sync"}  # fmt: skip
    if i.suffixes[:1] != ("sync",) or i.suffixes[1] not in names or len(i.operands) != 5:
        return None
    u = "std::uint32_t"
    width = f"static_cast<int>(32 - ({i.value(3, u)} >> 8 & 31))"
    values = f"{i.value(4, u)}, {i.value(1, u)}, static_cast<int>({i.value(2, u)}), {width}"
    return i.result(f"{names[i.suffixes[1]]}({values})")


def _elect(i: Instruction) -> str | None:
    """`elect.sync d|p, mask`: the lowest lane of the mask."""
    if i.suffixes != ("sync",) or len(i.operands) != 3:
        return None
    mask = i.value(2, "std::uint32_t")
    chosen = f"{_P}write({i.reference(i.operands[1])}, {_P}elected(wl_m));"
    leader = "" if i.operands[0] == "_" else i.result("static_cast<unsigned>(__ffs(wl_m) - 1)")
    return f"const std::uint32_t wl_m = {mask}; {leader} {chosen}"


def _nothing(_: Instruction) -> str:
    return ";"


_SPECIAL: dict[str, Callable[[Instruction], str | None]] = {
    "mov": _mov,
    "ld": _load,
    "ldu": _load,
    "st": _store,
    "atom": lambda i: _change(i, result=True),
    "red": lambda i: _change(i, result=False),
    "fence": _fence,
    "membar": _membar,
    "bar": _barrier,
    "barrier": _barrier,
    "setp": _setp,
    "selp": _selp,
    "mul": _multiply,
    "mad": _multiply,
    "shl": _shift,
    "shr": _shift,
    **dict.fromkeys(("clz", "brev", "bfind", "bfe", "bfi", "lop3", "prmt"), _bits),
    "cvt": _convert,
    "cvta": _cvta,
    "vote": _vote,
    "shfl": _shuffle,
    "elect": _elect,
    "activemask": lambda i: i.result("__activemask()"),
    "nanosleep": lambda i: f"::__nanosleep({i.value(0, 'std::uint32_t')});",
    "trap": lambda _: "::__trap();",
    # Hints, and waits for what does not overlap here.
    **dict.fromkeys(("prefetch", "prefetchu", "griddepcontrol", "setmaxnreg", "brkpt"), _nothing),
}
