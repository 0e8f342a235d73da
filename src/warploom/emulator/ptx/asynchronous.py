"""PTX instructions on mbarriers, and copies in the background (PTX ISA 8.x)."""

from warploom.emulator.ptx.operands import PTX, Instruction

_ASYNC = "::warploom::"
_SHARED = frozenset(("shared", "shared__cta", "shared__cluster"))
_SCOPES = frozenset(("cta", "cluster"))
_ORDERS = frozenset(("relaxed", "acquire", "release"))
# Barriers of other blocks of a cluster are used with the scope of a block by all that do so.
_REACH = f"{_ASYNC}Scope::Device"
_U32 = "std::uint32_t"


def _known(i: Instruction, *words: str) -> bool:
    """Whether all suffixes are among these, the spaces, scopes and orders, and `b64` ends them."""
    allowed = {*words, *_SHARED, *_SCOPES, *_ORDERS}
    return i.suffixes[-1:] == ("b64",) and all(s in allowed for s in i.suffixes[:-1])


def _object(i: Instruction, index: int) -> str:
    """Return the mbarrier that an operand names, in shared memory where no space is named."""
    space = "shared" if i.has(*_SHARED) else "generic"
    return f"{PTX}barrier_at({i.address(index, space)})"


def mbarrier(i: Instruction) -> str | None:
    """`mbarrier` with its operations."""
    name = i.suffixes[0] if i.suffixes else ""
    if i.has("relaxed") and name not in ("expect_tx", "complete_tx"):
        return None  # every arrival releases here, and every wait acquires
    made = {
        "init": _start,
        "inval": _end,
        "expect_tx": _bytes,
        "complete_tx": _bytes,
        "arrive": _arrive,
        "arrive_drop": _arrive,
        "test_wait": _ask,
        "try_wait": _ask,
        "pending_count": _pending,
    }.get(name)
    return made(i) if made else None


def _start(i: Instruction) -> str | None:
    if not _known(i, "init") or len(i.operands) != 2:
        return None
    return f"{_ASYNC}start_barrier({_object(i, 0)}, {i.value(1, _U32)});"


def _end(i: Instruction) -> str | None:
    if not _known(i, "inval") or len(i.operands) != 1:
        return None
    return f"{_ASYNC}end_barrier({_object(i, 0)});"


def _bytes(i: Instruction) -> str | None:
    name = i.suffixes[0]
    if not _known(i, name) or len(i.operands) != 2:
        return None
    call = "expect_bytes" if name == "expect_tx" else "complete_bytes"
    return f"{_ASYNC}{call}({_object(i, 0)}, {i.value(1, _U32)}, {_REACH});"


def _arrive(i: Instruction) -> str | None:
    name = i.suffixes[0]
    if not _known(i, name, "expect_tx", "noComplete") or not 2 <= len(i.operands) <= 3:
        return None
    third = i.value(2, _U32) if len(i.operands) == 3 else "1u"
    lines = [f"{_ASYNC}PhaseBarrier* const wl_b = {_object(i, 1)};"]
    count = third
    if i.has("expect_tx"):
        if len(i.operands) != 3 or i.has("noComplete"):
            return None
        lines.append(f"{_ASYNC}expect_bytes(wl_b, {third}, {_REACH});")
        count = "1u"
    elif i.has("noComplete") and len(i.operands) != 3:
        return None
    call = {"arrive": "arrive_at", "arrive_drop": "drop_from"}[name]
    if i.has("noComplete"):
        if name == "arrive_drop":
            return None
        call = "arrive_early"
    lines.append(i.result(f"{_ASYNC}{call}(wl_b, {count}, {_REACH})"))
    return " ".join(lines)


def _ask(i: Instruction) -> str | None:
    name = i.suffixes[0]
    most = 4 if name == "try_wait" else 3  # how long to suspend the thread is a hint
    if not _known(i, name, "parity") or not 3 <= len(i.operands) <= most:
        return None
    if i.has("parity"):
        call = f"{_ASYNC}parity_is_over({_object(i, 1)}, {i.value(2, _U32)}, {_REACH})"
    else:
        phase = f"{_ASYNC}phase_of({i.value(2, 'std::uint64_t')})"
        call = f"{_ASYNC}phase_is_over({_object(i, 1)}, {phase}, {_REACH})"
    return i.result(call)


def _pending(i: Instruction) -> str | None:
    if i.suffixes != ("pending_count", "b64") or len(i.operands) != 2:
        return None
    mask = f"((1u << {_ASYNC}kPendingBits) - 1u)"
    return i.result(f"static_cast<{_U32}>({i.value(1, 'std::uint64_t')}) & {mask}")


def arrive_behind_copies(i: Instruction) -> str | None:
    """`cp.async.mbarrier.arrive`: behind the copies that the thread has issued."""
    rest = tuple(s for s in i.suffixes[3:] if s not in _SHARED)
    if i.suffixes[:3] != ("async", "mbarrier", "arrive") or len(i.operands) != 1:
        return None
    if rest not in (("b64",), ("noinc", "b64")):
        return None
    # Without `noinc` the arrival is one more than the phase counts.
    counted = str(rest[0] == "noinc").lower()
    return f"{_ASYNC}arrive_behind_copies({_object(i, 0)}, {counted}, {_REACH});"


def bulk(i: Instruction) -> str | None:
    """`cp.async.bulk` without a tensor map, its groups and their waits."""
    rest = i.suffixes[2:]
    if rest == ("commit_group",) and not i.operands:
        return f"{_ASYNC}bulk_commit();"
    if rest in (("wait_group",), ("wait_group", "read")) and len(i.operands) == 1:
        read = str(len(rest) == 2).lower()
        return f"{_ASYNC}bulk_wait({i.value(0, _U32)}, {read});"
    if rest == ("prefetch", "L2", "global") and len(i.operands) == 2:
        return ";"
    operands = len(i.operands)
    if rest[-1:] == ("L2__cache_hint",):
        rest, operands = rest[:-1], operands - 1
    if len(rest) < 3:
        return None
    to, source, *how = rest
    spaces = {*_SHARED, "global"}
    if to not in spaces or source not in spaces:
        return None
    target = i.address(0, "shared" if to in _SHARED else "generic")
    origin = i.address(1, "shared" if source in _SHARED else "generic")
    size = i.value(2, _U32) if len(i.operands) > 2 else ""
    if how == ["bulk_group"] and operands == 3:
        return f"{_ASYNC}bulk_copy({target}, {origin}, {size}, nullptr);"
    if how == ["mbarrier__complete_tx__bytes"] and operands == 4:
        done = f"{PTX}barrier_at({i.address(3, 'shared')})"
        return f"{_ASYNC}bulk_copy({target}, {origin}, {size}, {done});"
    return None
