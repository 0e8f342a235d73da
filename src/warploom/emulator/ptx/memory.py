"""PTX instructions that access memory, synchronize, or concern the warp (PTX ISA 8.x)."""

from warploom.emulator.ptx.asynchronous import arrive_behind_copies, bulk
from warploom.emulator.ptx.operands import ORDERS, PTX, SCOPES, Instruction

_SPACES = frozenset(
    ("global", "shared", "shared__cta", "shared__cluster", "local", "const", "param")
)
_VECTORS = frozenset(("v2", "v4"))
_CHANGES = {
    "add": "static_cast<wl_t>(old + {0})", "min": "{0} < old ? {0} : old",
    "max": "old < {0} ? {0} : old", "and": "static_cast<wl_t>(old & {0})",
    "or": "static_cast<wl_t>(old | {0})", "xor": "static_cast<wl_t>(old ^ {0})",
    "inc": "old >= {0} ? wl_t(0) : static_cast<wl_t>(old + 1)",
    "dec": "old == 0 || old > {0} ? {0} : static_cast<wl_t>(old - 1)",
    "exch": "{0}", "cas": "old == {0} ? {1} : old",
}  # fmt: skip
_UPDATES = {
    "add": "adds<wl_t>", "min": "leasts<wl_t>", "max": "mosts<wl_t>", "and": "Update::And",
    "or": "Update::Or", "xor": "Update::Bits", "inc": "adds<wl_t>", "dec": "adds<wl_t>",
    "exch": "Update::Exchange",
}  # fmt: skip


def _lanes(i: Instruction) -> int:
    return 4 if i.has("v4") else 2 if i.has("v2") else 1


def _together(kind: str, lanes: int) -> str:
    """Say that the accesses of a vector's elements are of one instruction."""
    return f"warploom::vector_access(wl_p, {lanes} * sizeof({kind}));"


def load(i: Instruction) -> str | None:
    """`ld`: plain, or atomic where an order is named; vectors too."""
    kind = i.type
    if kind is None or len(i.operands) != 2 or i.others(_SPACES, ORDERS, SCOPES, _VECTORS):
        return None
    atomic = i.has("relaxed", "acquire", "volatile")
    lanes = _lanes(i)
    targets = i.elements(0) if lanes > 1 else [i.operands[0]]
    if len(targets) != lanes:
        return None
    where = f"static_cast<const {kind}*>(wl_p) + "
    lines = [f"const void* wl_p = {i.address(1)};"]
    if i.has("nc"):
        lines.append(f"::warploom::read_only_access(wl_p, {lanes} * sizeof({kind}));")
    if atomic and lanes > 1:
        lines.append(_together(kind, lanes))
    for n in range(lanes):
        if atomic:
            default = "System" if i.has("volatile") else "Device"
            value = f"{PTX}load_atomic<{kind}>({where}{n}, {i.order()}, {i.scope(default)})"
        else:
            value = f"{PTX}load<{kind}>({where}{n})"
        lines.append(f"const {kind} wl_v{n} = {value};")
    for n, target in enumerate(targets):
        if target != "_":
            lines.append(f"{PTX}write({i.reference(target)}, wl_v{n});")
    return " ".join(lines)


def store(i: Instruction) -> str | None:
    """`st`: plain, or atomic where an order is named; vectors too."""
    kind = i.type
    if kind is None or len(i.operands) != 2 or i.others(_SPACES, ORDERS, SCOPES, _VECTORS):
        return None
    atomic = i.has("relaxed", "release", "volatile")
    lanes = _lanes(i)
    sources = i.elements(1) if lanes > 1 else [i.operands[1]]
    if len(sources) != lanes:
        return None
    lines = [f"void* wl_p = {i.address(0)};"]
    if atomic and lanes > 1:
        lines.append(_together(kind, lanes))
    for n, source in enumerate(sources):
        value = f"{PTX}read<{kind}>({i.reference(source)})"
        where = f"static_cast<{kind}*>(wl_p) + {n}"
        if atomic:
            default = "System" if i.has("volatile") else "Device"
            lines.append(
                f"{PTX}store_atomic<{kind}>({where}, {value}, {i.order()}, {i.scope(default)});"
            )
        else:
            lines.append(f"{PTX}store<{kind}>({where}, {value});")
    return " ".join(lines)


def change(i: Instruction, *, result: bool) -> str | None:
    """`atom` gives the old value, `red` does not."""
    kind = i.type
    names = [s for s in i.suffixes if s in _CHANGES]
    if kind is None or len(names) != 1:
        return None
    if i.others(_SPACES, ORDERS, SCOPES, frozenset(names)):
        return None
    first = 1 if result else 0
    arity = 2 if names[0] == "cas" else 1
    if len(i.operands) != first + 1 + arity:
        return None
    values = [f"wl_v{n}" for n in range(arity)]
    lines = [f"const {kind} {v} = {i.value(first + 1 + n, kind)};" for n, v in enumerate(values)]
    if names[0] == "cas":
        lines.append("::warploom::compares_with(wl_v0);")
    change = _CHANGES[names[0]].format(*values)
    update = f"::warploom::{_UPDATES.get(names[0], 'Update::Other')}"
    lines.append(
        f"using wl_t = {kind}; [[maybe_unused]] const wl_t wl_old = "
        f"{PTX}change<wl_t, {update}>({i.address(first)}, {i.order()}, {i.scope('Device')}, "
        f"[=](wl_t old) WARPLOOM_UNCHECKED -> wl_t {{ (void)old; return {change}; }});"
    )
    if result:
        lines.append(i.result("wl_old"))
    else:
        lines.append("::warploom::result_unused();")
    return " ".join(lines)


def copy_async(i: Instruction) -> str | None:
    """`cp.async` from global to shared memory, its groups and their waits."""
    if i.suffixes[:2] == ("async", "bulk"):
        return bulk(i)
    if i.suffixes[:2] == ("async", "mbarrier"):
        return arrive_behind_copies(i)
    if i.suffixes == ("async", "commit_group"):
        return "::warploom::copies_commit();"
    if i.suffixes == ("async", "wait_all"):
        return "::warploom::copies_wait_all();"
    u = "std::uint32_t"
    if i.suffixes == ("async", "wait_group") and len(i.operands) == 1:
        return f"::warploom::copies_wait({i.value(0, u)});"
    named = [s for s in i.suffixes[1:] if not s.startswith("L2__")]
    if i.suffixes[:1] != ("async",) or len(named) != 3 or named[0] not in ("ca", "cg"):
        return None
    if named[1] not in ("shared", "shared__cta") or named[2] != "global":
        return None
    operands = len(i.operands) - i.has("L2__cache_hint")
    if not 3 <= operands <= 4:
        return None
    bytes_ = i.value(2, u)
    kept = f"{PTX}kept_bytes({bytes_}, {i.reference(i.operands[3])})" if operands == 4 else bytes_
    target, source = i.address(0, "shared"), i.address(1, "generic")
    return f"::warploom::thread_copy({target}, {source}, {bytes_}, {kept});"


def fence(i: Instruction) -> str | None:
    """`fence` with its order and scope."""
    if i.has("proxy"):
        if i.suffixes[:2] == ("proxy", "async"):
            return _proxy_fence(i.suffixes[2:])
        return ";" if i.suffixes == ("proxy", "alias") else None  # one view of memory here
    if i.suffixes[:1] == ("mbarrier_init",):
        known = ("mbarrier_init", "release", "cluster")
        return "::warploom::fence_inits();" if i.suffixes == known else None
    if any(s not in ORDERS and s not in SCOPES for s in i.suffixes):
        return None
    return f"::warploom::fence({i.order('SeqCst')}, {i.scope('System')});"


def _proxy_fence(spaces: tuple[str, ...]) -> str | None:
    """Return `fence.proxy.async` with the state space that it names; none are all."""
    if spaces not in ((), ("global",), ("shared__cta",), ("shared__cluster",)):
        return None
    shared, global_ = spaces != ("global",), spaces in ((), ("global",))
    return f"::warploom::proxy_fence({str(shared).lower()}, {str(global_).lower()});"


def membar(i: Instruction) -> str | None:
    """The older `membar`."""
    scope = {"cta": "Block", "gl": "Device", "sys": "System"}.get("".join(i.suffixes))
    return scope and f"::warploom::fence(::warploom::Order::SeqCst, ::warploom::Scope::{scope});"


def barrier(i: Instruction) -> str | None:
    """`bar.sync` and its other spellings."""
    if i.has("warp"):
        return f"::warploom::warp_barrier({i.value(0, 'std::uint32_t')});"
    if i.suffixes[:1] == ("cluster",):
        return _cluster_barrier(i)
    if not i.has("sync"):
        return None
    number = i.value(0, "std::uint32_t")
    if len(i.operands) == 1 and i.operands[0] == "0":
        return "::__syncthreads();"
    aligned = i.name == "bar" or i.has("aligned")
    call = f"::warploom::{'aligned' if aligned else 'numbered'}_barrier"
    threads = i.value(1, "std::uint32_t") if len(i.operands) > 1 else "0"
    return f"{call}({number}, {threads});"


def _cluster_barrier(i: Instruction) -> str | None:
    """Return one half of `barrier.cluster`."""
    words = set(i.suffixes[1:]) - {"aligned"}
    if i.operands:
        return None
    if words in ({"arrive"}, {"arrive", "release"}):
        return "::warploom::cluster_arrive(true);"
    if words == {"arrive", "relaxed"}:
        return "::warploom::cluster_arrive(false);"
    return "::warploom::cluster_wait();" if words in ({"wait"}, {"wait", "acquire"}) else None


def mapa(i: Instruction) -> str | None:
    """`mapa`: the same place in the shared memory of another block of the cluster."""
    if len(i.operands) != 3 or i.suffixes not in (
        ("u32",), ("u64",), ("shared__cluster", "u32"), ("shared__cluster", "u64"),
    ):  # fmt: skip
        return None
    address, rank = i.value(1, "std::uint64_t"), i.value(2, "std::uint32_t")
    if len(i.suffixes) == 2:
        return i.result(f"{PTX}mapped_offset({address}, {rank})")
    mapped = f"::warploom::cluster_map({PTX}generic_address({address}), {rank})"
    return i.result(f"reinterpret_cast<std::uint64_t>({mapped})")


def getctarank(i: Instruction) -> str | None:
    """`getctarank`: the block of the cluster whose shared memory an address is of."""
    if len(i.operands) != 2 or i.suffixes[-1:] != ("u32",) or len(i.suffixes) > 2:
        return None
    space = "shared" if i.suffixes[:-1] == ("shared__cluster",) else "generic"
    pointer = f"{PTX}{space}_address({i.value(1, 'std::uint64_t')})"
    return i.result(f"::warploom::cluster_rank_of({pointer})")


def cvta(i: Instruction) -> str | None:
    """`cvta`: generic addresses and those of a state space."""
    if len(i.operands) != 2:
        return None
    if i.has("shared", "shared__cta", "shared__cluster") and not i.has("to"):
        pointer = f"{PTX}shared_address({i.value(1, 'std::uint64_t')})"
        return i.result(f"reinterpret_cast<std::uint64_t>({pointer})")
    if i.has("shared", "shared__cta", "shared__cluster"):
        pointer = f"{PTX}generic_address({i.value(1, 'std::uint64_t')})"
        return i.result(f"{PTX}shared_offset({pointer})")
    return i.result(i.value(1, "std::uint64_t"))


def vote(i: Instruction) -> str | None:
    """`vote.sync`: ballot, any and all."""
    if i.suffixes[:1] != ("sync",) or len(i.operands) != 3 or i.operands[1].startswith("!"):
        return None
    call = {"ballot": "__ballot_sync", "any": "__any_sync", "all": "__all_sync"}
    name = call.get(i.suffixes[1])
    mask, predicate = i.value(2, "std::uint32_t"), i.reference(i.operands[1])
    return name and i.result(f"{name}({mask}, {predicate})")


def shuffle(i: Instruction) -> str | None:
    """`shfl.sync`, for the operand c of the C++ forms: segments of a power of two."""
    names = {"idx": "__shfl_sync", "up": "__shfl_up_sync", "down": "__shfl_down_sync",
             "bfly": "__shfl_xor_sync"}  # fmt: skip
    if i.suffixes[:1] != ("sync",) or i.suffixes[1] not in names or len(i.operands) != 5:
        return None
    u = "std::uint32_t"
    width = f"static_cast<int>(32 - ({i.value(3, u)} >> 8 & 31))"
    values = f"{i.value(4, u)}, {i.value(1, u)}, static_cast<int>({i.value(2, u)}), {width}"
    return i.result(f"{names[i.suffixes[1]]}({values})")


def elect(i: Instruction) -> str | None:
    """`elect.sync d|p, mask`: the lowest lane of the mask."""
    if i.suffixes != ("sync",) or len(i.operands) != 3:
        return None
    mask = i.value(2, "std::uint32_t")
    chosen = f"{PTX}write({i.reference(i.operands[1])}, {PTX}elected(wl_m));"
    leader = "" if i.operands[0] == "_" else i.result("static_cast<unsigned>(__ffs(wl_m) - 1)")
    return f"const std::uint32_t wl_m = {mask}; {leader} {chosen}"
