"""Cases with their inputs and what is expected of them, drawn in the reference's process."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from warploom.core.errors import BadInputError, SourceError
from warploom.synthesis.correctness.cases import (
    REDUCING,
    CasePlan,
    leaves_nan_open,
    takes_products,
)
from warploom.synthesis.correctness.compare import Expected
from warploom.synthesis.correctness.numbers import is_floating
from warploom.synthesis.records import KernelSpec
from warploom.synthesis.reference.client import ReferenceProcess
from warploom.synthesis.sizes import shape_value, size_value


@dataclass(frozen=True)
class PreparedCase:
    """A case with the bytes of its inputs and what is expected of its outputs, on one rank.

    `window` is how many bytes the window of one of several has.
    """

    plan: CasePlan
    sizes: tuple[int, ...]
    inputs: tuple[bytes, ...]
    outputs: tuple[Expected, ...]
    rank: int = 0
    window: int | None = None


@dataclass(frozen=True, slots=True)
class Judge:
    """Where the reference says what is expected: on a device of PyTorch's.

    On a GPU that others use meanwhile all hold the lock of the file `lock`.
    """

    device: str = "cpu"
    lock: Path | None = None


_ON_CPU = Judge()


def prepare_case(
    spec: KernelSpec, plan: CasePlan, reference: ReferenceProcess, folder: Path,
    judge: Judge = _ON_CPU,
) -> PreparedCase:  # fmt: skip
    """Have the reference draw and judge one case of one rank; see `prepare_ranks`."""
    return prepare_ranks(spec, plan, reference, folder, judge)[0]


def prepare_ranks(
    spec: KernelSpec, plan: CasePlan, reference: ReferenceProcess, folder: Path,
    judge: Judge = _ON_CPU,
) -> tuple[PreparedCase, ...]:  # fmt: skip
    """Have the reference draw and judge one case, on each rank; `folder` is closed to candidates.

    Raises:
        SourceError: the reference fails on these inputs.
    """
    stems = [folder / f"case-{plan.name}-{rank}" for rank in range(spec.ranks)]
    answers = reference.case({
        **request_of(spec, plan), "computed_in": spec.tolerances[0].computed_in,
        "rounded": not all(rule.exact for rule in spec.tolerances),
        "device": judge.device, "lock": str(judge.lock or ""),
    }, [str(stem) for stem in stems])  # fmt: skip
    return tuple(
        _prepared(spec, plan, stems[rank], answer, rank) for rank, answer in enumerate(answers)
    )


def agreement(spec: KernelSpec, symbols: Mapping[str, int], reference: ReferenceProcess) -> str:
    """Say whether the reference "agrees" with its trace at some sizes, "differs" or "fails"."""
    plan = CasePlan("agreement", "", symbols, "normal", 1)
    try:
        request = request_of(spec, plan)
    except BadInputError:  # a size of the specification divides by zero there
        return "fails"
    return reference.agreement(request, [""] * spec.ranks)


def request_of(spec: KernelSpec, plan: CasePlan) -> dict[str, Any]:
    """Return what the reference's process is asked for the inputs of a case."""
    return {
        "seed": plan.seed, "kind": plan.kind, "inputs": _entries_of(spec, plan),
        "distinct": _asks_for_places(spec), "subnormals": not takes_products(spec),
        "values": list(plan.values), "pointwise": not REDUCING & set(spec.operations),
    }  # fmt: skip


def _prepared(
    spec: KernelSpec, plan: CasePlan, stem: Path, answer: Mapping[str, Any], rank: int
) -> PreparedCase:
    """Return what one rank's files hold, which are deleted."""
    shapes = answer["inputs"]
    sizes = tuple(shapes[s.input][s.dim] for s in spec.symbols)
    outputs: list[Expected] = []
    for at, entry in enumerate(answer["outputs"]):
        wanted = shape_value(spec.outputs[at].shape, _named(spec, sizes))
        if tuple(entry["shape"]) != wanted or entry["dtype"] != spec.outputs[at].dtype:
            raise SourceError(
                f"the reference returned {entry['dtype']}{entry['shape']} where its trace says "
                f"{spec.outputs[at].dtype}{list(wanted)}"
            )
        length = size_value(spec.tolerances[at].reduction, _named(spec, sizes))
        one = _expected(stem, at, entry, length, places=_asks_for_places(spec))
        outputs.append(
            replace(one, scale=answer["scale"], products=takes_products(spec),
                    open=leaves_nan_open(spec))
        )  # fmt: skip
    inputs = tuple(Path(f"{stem}.in{at}").read_bytes() for at in range(len(shapes)))
    for path in stem.parent.glob(f"{stem.name}.*"):
        path.unlink()
    window = size_value(spec.window, _named(spec, sizes)) if spec.ranks > 1 else None
    return PreparedCase(plan, sizes, inputs, tuple(outputs), rank, window)


def _entries_of(spec: KernelSpec, plan: CasePlan) -> list[Mapping[str, Any]]:
    """Return how the reference's process draws each input of a case."""
    entries: list[Mapping[str, Any]] = []
    for at, tensor in enumerate(spec.inputs):
        bound = size_value(tensor.index_of, plan.symbols) if tensor.index_of else 0
        entries.append({
            "shape": list(shape_value(tensor.shape, plan.symbols)), "bound": bound,
            "same_as": plan.alias.get(at), "whole": is_whole(spec),
        })  # fmt: skip
    return entries


def is_whole(spec: KernelSpec) -> bool:
    """Whether a task is given integers alone: these wrap, whatever their values."""
    return not any(is_floating(tensor.dtype) for tensor in spec.inputs)


def _asks_for_places(spec: KernelSpec) -> bool:
    return any(op in ("argmax", "argmin") for op in spec.operations)


def _named(spec: KernelSpec, sizes: Sequence[int]) -> dict[str, int]:
    return {symbol.name: size for symbol, size in zip(spec.symbols, sizes, strict=True)}


def _expected(
    stem: Path, at: int, entry: Mapping[str, Any], length: int, *, places: bool
) -> Expected:
    values = {
        name: np.frombuffer(Path(f"{stem}.out{at}.{name}").read_bytes(), dtype=np.float64)
        for name in ("exact", "eager", "low", "high", "rounded")
    }
    native = Path(f"{stem}.out{at}.native").read_bytes()
    return Expected(
        entry["dtype"], tuple(entry["shape"]), values["exact"], values["eager"], values["low"],
        values["high"], native, max(length, 1),
        places and entry["dtype"] == "int64", rounded=values["rounded"],
    )  # fmt: skip
