"""Which C++ each emulated PTX instruction becomes."""

from collections.abc import Callable

from warploom.emulator.ptx import arithmetic as compute
from warploom.emulator.ptx import memory as memory
from warploom.emulator.ptx.asynchronous import mbarrier
from warploom.emulator.ptx.multimem import multimem
from warploom.emulator.ptx.operands import Instruction


def statement(i: Instruction) -> str | None:
    """Return the C++ statements of an instruction, None if it is not emulated."""
    if i.name in _SPECIAL:
        return _SPECIAL[i.name](i)
    if i.name in compute.SIMPLE:
        return compute.arithmetic(i)
    return None


def _nothing(_: Instruction) -> str:
    return ";"


def _dependent_launch(i: Instruction) -> str | None:
    if i.suffixes == ("wait",):
        return "::warploom::await_primary();"
    return "::warploom::trigger_dependents();" if i.suffixes == ("launch_dependents",) else None


_SPECIAL: dict[str, Callable[[Instruction], str | None]] = {
    "mov": compute.mov,
    "ld": memory.load,
    "ldu": memory.load,
    "st": memory.store,
    "atom": lambda i: memory.change(i, result=True),
    "red": lambda i: memory.change(i, result=False),
    "cp": memory.copy_async,
    "fence": memory.fence,
    "membar": memory.membar,
    "bar": memory.barrier,
    "barrier": memory.barrier,
    "setp": compute.setp,
    "selp": compute.selp,
    "mul": compute.multiply,
    "mad": compute.multiply,
    "shl": compute.shift,
    "shr": compute.shift,
    **dict.fromkeys(("clz", "brev", "bfind", "bfe", "bfi", "lop3", "prmt"), compute.bits),
    "cvt": compute.convert,
    "cvta": memory.cvta,
    "mapa": memory.mapa,
    "getctarank": memory.getctarank,
    "vote": memory.vote,
    "shfl": memory.shuffle,
    "elect": memory.elect,
    "mbarrier": mbarrier,
    "multimem": multimem,
    "activemask": lambda i: i.result("__activemask()"),
    "nanosleep": lambda i: f"::__nanosleep({i.value(0, 'std::uint32_t')});",
    "trap": lambda _: "::__trap();",
    "griddepcontrol": _dependent_launch,
    # Hints, and waits for what does not overlap here.
    **dict.fromkeys(("prefetch", "prefetchu", "setmaxnreg", "brkpt"), _nothing),
}
