"""PTX instructions on multimem addresses (PTX ISA 8.x, "multimem")."""

from warploom.emulator.ptx.operands import ORDERS, PTX, SCOPES, Instruction

_MULTIMEM = "::warploom::multimem::"
# The register of an element, its kind, and how many elements of that kind it holds.
_ELEMENTS = {
    "u32": ("std::uint32_t", "U32"), "s32": ("std::int32_t", "S32"),
    "u64": ("std::uint64_t", "U64"), "s64": ("std::int64_t", "S64"),
    "b32": ("std::uint32_t", "U32"), "b64": ("std::uint64_t", "U64"),
    "f32": ("float", "F32"), "f64": ("double", "F64"),
    "f16": ("std::uint16_t", "F16"), "f16x2": ("std::uint32_t", "F16"),
    "bf16": ("std::uint16_t", "Bf16"), "bf16x2": ("std::uint32_t", "Bf16"),
}  # fmt: skip
_CHANGES = {"add": "Add", "min": "Min", "max": "Max", "and": "And", "or": "Or", "xor": "Xor"}
_LANES = {"v2": 2, "v4": 4, "v8": 8}
_INTEGERS = frozenset(("u32", "s32", "u64", "s64"))
_BITS = frozenset(("b32", "b64"))
_SHORT = frozenset(("f16", "f16x2", "bf16", "bf16x2"))


def _allowed(change: str, kind: str) -> bool:
    """Whether the instruction set has this operation on this type."""
    if change in ("and", "or", "xor"):
        return kind in _BITS
    if change == "add":
        return kind not in _BITS and kind != "s64"
    return kind in _INTEGERS or kind in _SHORT


def multimem(i: Instruction) -> str | None:
    """`multimem.ld_reduce`, `multimem.st` and `multimem.red`, with vectors."""
    if len(i.suffixes) < 2 or len(i.operands) != 2 or i.suffixes[-1] not in _ELEMENTS:
        return None
    what, kind = i.suffixes[0], i.suffixes[-1]
    changes = [s for s in i.suffixes if s in _CHANGES]
    lanes = [_LANES[s] for s in i.suffixes if s in _LANES]
    wide = i.has("acc__f32")
    known = frozenset((what, "global", "acc__f32", *_CHANGES, *_LANES))
    if i.others(known, ORDERS, SCOPES) or len(lanes) > 1 or (wide and kind not in _SHORT):
        return None
    if what == "st" and not changes:
        return _store(i, kind, lanes[0] if lanes else 1)
    if len(changes) != 1 or not _allowed(changes[0], kind):
        return None
    count = lanes[0] if lanes else 1
    if what == "ld_reduce":
        return _load(i, kind, count, _CHANGES[changes[0]], wide=wide)
    return _reduce(i, kind, count, _CHANGES[changes[0]]) if what == "red" else None


def _access(i: Instruction, kind: str, change: str, *, weak: bool, wide: bool = False) -> str:
    flags = f"{str(weak).lower()}, {i.order()}, {i.scope('Device')}, {str(wide).lower()}"
    element = f"{_MULTIMEM}Element::{_ELEMENTS[kind][1]}"
    return f"{_MULTIMEM}Access{{{element}, {_MULTIMEM}Change::{change}, {flags}}}"


def _load(i: Instruction, kind: str, lanes: int, change: str, *, wide: bool) -> str | None:
    targets = i.elements(0) if lanes > 1 else [i.operands[0]]
    if len(targets) != lanes:
        return None
    weak = not i.has("relaxed", "acquire")
    access = _access(i, kind, change, weak=weak, wide=wide)
    lines = [
        f"{_ELEMENTS[kind][0]} wl_v[{lanes}];",
        f"{_MULTIMEM}load_reduce({access}, {i.address(1)}, sizeof wl_v, wl_v);",
    ]
    lines += [
        f"{PTX}write({i.reference(target)}, wl_v[{n}]);"
        for n, target in enumerate(targets)
        if target != "_"
    ]
    return " ".join(lines)


def _values(i: Instruction, kind: str, lanes: int) -> str | None:
    """Return the declaration of the vector that operand 1 is."""
    sources = i.elements(1) if lanes > 1 else [i.operands[1]]
    if len(sources) != lanes:
        return None
    register = _ELEMENTS[kind][0]
    values = ", ".join(f"{PTX}read<{register}>({i.reference(s)})" for s in sources)
    return f"const {register} wl_v[{lanes}] = {{{values}}};"


def _store(i: Instruction, kind: str, lanes: int) -> str | None:
    values = _values(i, kind, lanes)
    access = _access(i, kind, "Add", weak=not i.has("relaxed", "release"))
    return values and f"{values} {_MULTIMEM}store({access}, {i.address(0)}, sizeof wl_v, wl_v);"


def _reduce(i: Instruction, kind: str, lanes: int, change: str) -> str | None:
    values = _values(i, kind, lanes)
    access = _access(i, kind, change, weak=False)  # a reduction is relaxed where no order is named
    return values and f"{values} {_MULTIMEM}reduce({access}, {i.address(0)}, sizeof wl_v, wl_v);"
