"""The reference's process as one of several ranks: gloo, and collectives that a trace can hold.

`torch.distributed` writes into tensors that it is given; a graph has functions. So each collective
is an operation of our own that returns a new tensor and calls gloo, and the functions of
`torch.distributed` copy what it returns to where the caller wants it.
"""

import contextlib
import datetime
import os
import socket
import sys
import traceback
from collections.abc import Callable, Generator
from typing import Any

from warploom.synthesis.reference.failures import ReferenceFailedError
from warploom.synthesis.reference.torch_module import is_tensor, torch

MODULE = "warploom_reference"
"""The name under which the reference file is imported."""
_PATIENCE = datetime.timedelta(seconds=120)
_REDUCED = ("sum", "max", "min")
_SIGNATURES = {
    **{f"all_reduce_{kind}": "(Tensor x) -> Tensor" for kind in _REDUCED},
    **{f"reduce_scatter_{kind}": "(Tensor x) -> Tensor" for kind in _REDUCED},
    "all_gather": "(Tensor x) -> Tensor", "all_to_all": "(Tensor x) -> Tensor",
    "broadcast": "(Tensor x, int src) -> Tensor",
}  # fmt: skip
OPERATIONS = frozenset(_SIGNATURES)
"""The names of our operations."""
_SINGLE = ("all_reduce", "all_gather_into_tensor", "reduce_scatter_tensor", "all_to_all_single",
           "broadcast")  # fmt: skip
"""The functions of gloo that compute our operations."""
_BEYOND = (
    "all_gather_coalesced", "all_gather_object", "all_reduce_coalesced", "all_to_all", "barrier",
    "batch_isend_irecv", "broadcast_object_list", "gather", "gather_object", "irecv", "isend",
    "monitored_barrier", "new_group", "new_subgroups", "new_subgroups_by_enumeration", "recv",
    "recv_object_list", "reduce", "reduce_scatter", "scatter", "scatter_object_list", "send",
    "send_object_list", "shrink_group", "split_group", "init_device_mesh", "destroy_process_group",
)  # fmt: skip
_PARTS = {"reduce_scatter", "all_to_all"}
_KEPT: list[Any] = []  # libraries of operations: they end with what defines them


class _Place:
    """Which of how many ranks this process is."""

    rank = 0
    ranks = 1


def rank() -> int:
    """Return which rank this process is."""
    return _Place.rank


def ranks() -> int:
    """Return how many there are."""
    return _Place.ranks


def join(number: int, count: int, store: str) -> None:
    """Become rank `number` of `count`, which find each other by the file `store`."""
    if not torch.distributed.is_available():
        raise ReferenceFailedError("this PyTorch has no torch.distributed")
    _Place.rank, _Place.ranks = number, count
    loopback = [name for _, name in socket.if_nameindex() if name.startswith("lo")]
    if loopback:
        os.environ["GLOO_SOCKET_IFNAME"] = loopback[0]
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{store}", rank=number, world_size=count, timeout=_PATIENCE
    )
    real = {name: getattr(torch.distributed, name) for name in _SINGLE}
    _define(real, count)
    _replace()


@contextlib.contextmanager
def in_step() -> Generator[None]:
    """Let all ranks go on, or none: a failure of one is told to the others.

    Who goes on alone waits in the next collective for those that do not.
    """
    failure: Exception | None = None
    try:
        yield
    except Exception as error:  # noqa: BLE001 - the others must know of any
        failure = error
    if _Place.ranks > 1:
        failed = torch.tensor([int(failure is not None)])
        if _operation("all_reduce_max")(failed).item() and failure is None:
            failure = ReferenceFailedError("another rank of the reference failed here", echo=True)
    if failure is not None:
        raise failure


def _define(real: dict[str, Any], count: int) -> None:
    """Define the operations, with what they return of tensors without values."""
    library = torch.library.Library("warploom", "FRAGMENT")
    _KEPT.append(library)
    for name, signature in _SIGNATURES.items():
        library.define(f"{name}{signature}")
        library.impl(name, _computed(name, real, count), "CompositeExplicitAutograd")
        torch.library.register_fake(f"warploom::{name}", _fake(name, count), lib=library)


def _computed(name: str, real: dict[str, Any], count: int) -> Callable[..., Any]:
    """Return what computes an operation, by gloo."""
    base, _, kind = name.rpartition("_")
    reduced = kind in _REDUCED
    base = base if reduced else name
    how = {"op": getattr(torch.distributed.ReduceOp, kind.upper())} if reduced else {}

    def compute(x: Any, src: int = 0) -> Any:
        given = x.contiguous()
        if base in _PARTS and x.shape[0] % count:
            raise ValueError(f"{count} ranks must divide the first dimension, got {x.shape[0]}")
        out = torch.empty(_shape(base, x.shape, count), dtype=x.dtype)
        if out.numel() == 0:
            return out
        if base in ("all_reduce", "broadcast"):
            out.copy_(given)
        # Bytes, where nothing is computed: gloo has not all types.
        wire = [t if reduced else t.view(torch.uint8) for t in (out, given)]
        if base == "all_reduce":
            real["all_reduce"](wire[0], **how)
        elif base == "broadcast":
            real["broadcast"](wire[0], src)
        else:
            real[_CALLED[base]](*wire, **how)
        return out

    return compute


_CALLED = {"all_gather": "all_gather_into_tensor", "reduce_scatter": "reduce_scatter_tensor",
           "all_to_all": "all_to_all_single"}  # fmt: skip


def _shape(base: str, shape: Any, count: int) -> tuple[Any, ...]:
    first, *rest = shape
    if base == "all_gather":
        return (first * count, *rest)
    return (first // count, *rest) if base == "reduce_scatter" else (first, *rest)


def _fake(name: str, count: int) -> Callable[..., Any]:
    base = name.rpartition("_")[0] if name.rpartition("_")[2] in _REDUCED else name

    def made(x: Any, src: int = 0) -> Any:
        del src
        return x.new_empty(_shape(base, x.shape, count))

    return made


def _replace() -> None:
    """Put functions that go through our operations into `torch.distributed`."""
    functions = {
        "all_reduce": _all_reduce, "broadcast": _broadcast, "all_gather": _all_gather,
        "all_gather_into_tensor": _all_gather_into, "all_gather_single": _all_gather_into,
        "reduce_scatter_tensor": _reduce_scatter, "reduce_scatter_single": _reduce_scatter,
        "all_to_all_single": _all_to_all, **{name: _beyond(name) for name in _BEYOND},
    }  # fmt: skip
    for name, function in functions.items():
        if hasattr(torch.distributed, name):
            setattr(torch.distributed, name, function)


def _operation(name: str) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(torch.ops.warploom, name)
    return found


def _line() -> int | None:
    """Return the line of the reference that calls."""
    file = getattr(sys.modules.get(MODULE), "__file__", None)
    lines = [frame.lineno for frame in traceback.extract_stack() if frame.filename == file]
    return lines[-1] if lines else None


def _refuse(what: str) -> ReferenceFailedError:
    return ReferenceFailedError(
        f"the rules have no code for {what}", line=_line(), beyond=True,
        hint="one collective of one tensor, among all ranks, is what they know",
    )  # fmt: skip


def _beyond(name: str) -> Callable[..., Any]:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        del args, kwargs
        raise _refuse(f"torch.distributed.{name}")

    return refuse


def _check(name: str, group: Any, async_op: bool, *tensors: Any) -> None:
    if group is not None:
        raise _refuse(f"{name} in a process group")
    if async_op:
        raise _refuse(f"{name} with async_op")
    for tensor in tensors:
        if not is_tensor(tensor) or tensor.dim() == 0:
            raise _refuse(f"{name} of anything but tensors with a dimension")


def _kind(name: str, op: Any) -> str:
    known = {str(getattr(torch.distributed.ReduceOp, k.upper())): k for k in _REDUCED}
    if str(op) not in known:
        raise _refuse(f"{name} with {op}")
    return known[str(op)]


def _put(out: Any, found: Any, name: str) -> None:
    """Copy what a collective returns to where its caller wants it: joined, or one above another."""
    stacked = tuple(out.shape) != tuple(found.shape)
    if stacked:
        found = found.reshape(out.shape)
    if out.dtype != found.dtype:
        raise ReferenceFailedError(
            f"{name} must write to a tensor of the type {found.dtype}, got {out.dtype}",
            line=_line(),
        )
    out.copy_(found)


def _all_reduce(tensor: Any, op: Any = None, group: Any = None, async_op: bool = False) -> None:
    _check("all_reduce", group, async_op, tensor)
    kind = "sum" if op is None else _kind("all_reduce", op)
    _put(tensor, _operation(f"all_reduce_{kind}")(tensor), "all_reduce")


def _broadcast(
    tensor: Any, src: int | None = None, group: Any = None, async_op: bool = False,
    group_src: int | None = None,
) -> None:  # fmt: skip
    _check("broadcast", group, async_op, tensor)
    source = src if src is not None else group_src or 0
    if not 0 <= source < _Place.ranks:
        raise ReferenceFailedError(
            f"src must be a rank below {_Place.ranks}, got {source}", line=_line()
        )
    _put(tensor, _operation("broadcast")(tensor, int(source)), "broadcast")


def _all_gather(
    tensor_list: Any, tensor: Any, group: Any = None, async_op: bool = False
) -> None:  # fmt: skip
    _check("all_gather", group, async_op, tensor)
    if len(tensor_list) != _Place.ranks:
        raise ReferenceFailedError(
            f"all_gather needs a tensor for each of {_Place.ranks} ranks, got {len(tensor_list)}",
            line=_line(),
        )
    found = _operation("all_gather")(tensor).reshape(_Place.ranks, *tensor.shape)
    for at, out in enumerate(tensor_list):
        _put(out, found[at], "all_gather")


def _all_gather_into(
    output_tensor: Any, input_tensor: Any, group: Any = None, async_op: bool = False
) -> None:
    _check("all_gather_into_tensor", group, async_op, input_tensor, output_tensor)
    _put(output_tensor, _operation("all_gather")(input_tensor), "all_gather_into_tensor")


def _reduce_scatter(
    output: Any,
    input: Any,  # noqa: A002 - PyTorch calls it so
    op: Any = None,
    group: Any = None,
    async_op: bool = False,
) -> None:
    _check("reduce_scatter_tensor", group, async_op, input, output)
    kind = "sum" if op is None else _kind("reduce_scatter_tensor", op)
    given = input
    if input.dim() == output.dim() + 1:  # one above another
        given = input.reshape(input.shape[0] * input.shape[1], *input.shape[2:])
    found = _operation(f"reduce_scatter_{kind}")(given)
    _put(output, found, "reduce_scatter_tensor")


def _all_to_all(
    output: Any, input: Any, output_split_sizes: Any = None, input_split_sizes: Any = None,  # noqa: A002
    group: Any = None, async_op: bool = False,
) -> None:  # fmt: skip
    _check("all_to_all_single", group, async_op, input, output)
    if output_split_sizes or input_split_sizes:
        raise _refuse("all_to_all_single with sizes of parts")
    _put(output, _operation("all_to_all")(input), "all_to_all_single")
