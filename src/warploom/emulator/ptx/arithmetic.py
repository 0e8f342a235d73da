"""PTX instructions that compute (PTX ISA 8.x, chapter "Instruction Set")."""

import re

from warploom.emulator.ptx.operands import PTX, TYPES, Instruction

SIMPLE = {
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


def arithmetic(i: Instruction) -> str | None:
    """What one C++ expression says: see `SIMPLE`."""
    kind = i.type
    pattern = SIMPLE[i.name]
    arity = len(set(_ARITY.findall(pattern)))
    if kind is None or len(i.operands) != arity + 1 or i.others():
        return None
    if i.name == "popc":
        kind = "std::uint64_t" if i.suffixes[-1] == "b64" else "std::uint32_t"
    values = [i.value(n + 1, kind) for n in range(arity)]
    result = "std::uint32_t" if i.name == "popc" else kind
    return i.result(f"static_cast<{result}>({pattern.format(*values)})")


def mov(i: Instruction) -> str | None:
    """`mov`, with vectors packed into a wider register or taken out of it."""
    target, source = i.operands if len(i.operands) == 2 else ("", "")
    bits = re.fullmatch(r"[bu](\d+)", i.suffixes[-1]) if i.suffixes else None
    if not target.startswith("{") and not source.startswith("{"):
        return arithmetic(i)
    parts = i.elements(1 if source.startswith("{") else 0)
    if bits is None or int(bits[1]) % len(parts) or int(bits[1]) > 64:
        return None
    width = int(bits[1]) // len(parts)
    part, whole = f"std::uint{width}_t", f"std::uint{bits[1]}_t"
    if source.startswith("{"):
        pieces = [
            f"static_cast<std::uint64_t>({PTX}read<{part}>({i.reference(p)})) << {width * n}"
            for n, p in enumerate(parts)
        ]
        return i.result(f"static_cast<{whole}>({' | '.join(pieces)})")
    wide = i.value(1, "std::uint64_t")
    return f"const std::uint64_t wl_w = {wide}; " + " ".join(
        f"{PTX}write({i.reference(p)}, static_cast<{part}>(wl_w >> {width * n}));"
        for n, p in enumerate(parts)
        if p != "_"
    )


def setp(i: Instruction) -> str | None:
    """`setp`: a comparison into a predicate."""
    kind = i.type
    compare = _COMPARE.get(i.suffixes[0]) if i.suffixes else None
    if kind is None or compare is None or len(i.operands) != 3 or len(i.suffixes) > 3:
        return None
    return i.result(f"{i.value(1, kind)} {compare} {i.value(2, kind)}")


def selp(i: Instruction) -> str | None:
    """`selp`: one of two values, by a predicate."""
    kind = i.type
    if kind is None or len(i.operands) != 4:
        return None
    return i.result(f"{i.reference(i.operands[3])} ? {i.value(1, kind)} : {i.value(2, kind)}")


def multiply(i: Instruction) -> str | None:
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
        product = f"{PTX}high_product<{kind}>({a}, {b})"
    else:
        product = f"{a} * {b}"
    if i.name == "mad":
        product = f"{product} + {i.value(3, result)}"
    return i.result(f"static_cast<{result}>({product})")


def shift(i: Instruction) -> str | None:
    """`shl` and `shr`: too long a shift leaves zeros or signs."""
    kind = i.type
    if kind is None or len(i.operands) != 3:
        return None
    function = "shift_left" if i.name == "shl" else "shift_right"
    return i.result(f"{PTX}{function}<{kind}>({i.value(1, kind)}, {i.value(2, 'std::uint32_t')})")


def bits(i: Instruction) -> str | None:
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
        found = f"{PTX}find_top({i.value(1, kind)})"
        if i.has("shiftamt"):
            found = f"{found} ^ {63 if wide else 31}u"
        return i.result(found)
    if i.name == "bfe" and count == 4:
        return i.result(
            f"{PTX}extract<{kind}>({i.value(1, kind)}, {i.value(2, u)}, {i.value(3, u)})"
        )
    if i.name == "bfi" and count == 5:
        values = f"{i.value(1, kind)}, {i.value(2, kind)}, {i.value(3, u)}, {i.value(4, u)}"
        return i.result(f"{PTX}insert<{kind}>({values})")
    if i.name == "lop3" and count == 5:
        values = ", ".join(i.value(n, u) for n in range(1, 5))
        return i.result(f"{PTX}logic3({values})")
    if i.name == "prmt" and count == 4 and i.suffixes == ("b32",):
        return i.result(f"__byte_perm({', '.join(i.value(n, u) for n in range(1, 4))})")
    return None


def convert(i: Instruction) -> str | None:
    """`cvt` between numbers of the C++ types; other formats are not emulated."""
    kinds = [s for s in i.suffixes if s in TYPES]
    rounding = [s for s in i.suffixes if s in ("rni", "rzi", "rmi", "rpi")]
    known = {*kinds, *rounding, "rn", "rz", "ftz"}
    if len(kinds) != 2 or len(i.operands) != 2 or any(s not in known for s in i.suffixes):
        return None
    value = i.value(1, TYPES[kinds[1]])
    for word, function in (("rni", "nearbyint"), ("rmi", "floor"), ("rpi", "ceil")):
        if word in rounding:
            value = f"::std::{function}({value})"
    return i.result(f"static_cast<{TYPES[kinds[0]]}>({value})")
