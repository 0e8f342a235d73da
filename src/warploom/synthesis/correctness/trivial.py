"""Whether a task can tell a kernel from no kernel: zeros, constants and copies must fail."""

from collections.abc import Iterator, Sequence

import numpy as np

from warploom.synthesis.correctness.compare import Expected, compare_values
from warploom.synthesis.correctness.expectations import PreparedCase
from warploom.synthesis.correctness.numbers import Array, decode, is_floating
from warploom.synthesis.records import KernelSpec

_NAN_TOLD = ("special", "rows")  # NaN is told from anything


def weak_outputs(spec: KernelSpec, cases: Sequence[PreparedCase]) -> list[str]:
    """Return, for each output that something trivial passes as in every case, what that is."""
    told_by = [c for c in cases if c.plan.kind not in _NAN_TOLD]
    found: list[str] = []
    for at, tensor in enumerate(spec.outputs):
        told = [set(_passing(spec, case, at)) for case in told_by if case.outputs[at].exact.size]
        common = set[str].intersection(*told) if told else {"nothing at all"}
        if common:
            found.append(f"{tensor.name} is right as {min(common)} in every case")
    return found


def _passing(spec: KernelSpec, case: PreparedCase, at: int) -> Iterator[str]:
    expected = case.outputs[at]
    count = expected.exact.size
    finite = expected.exact[np.isfinite(expected.exact)]
    with np.errstate(over="ignore"):
        mean = float(finite.mean()) if finite.size else 0.0
    if _passes(np.zeros(count), expected, spec, at):
        yield "zeros"
    if np.unique(finite).size > 1 and _passes(np.full(count, mean), expected, spec, at):
        yield "its mean"
    for number, tensor in enumerate(spec.inputs):
        values = decode(case.inputs[number], tensor.dtype)
        computes = values.size == count and (spec.ranks > 1 or _is_copy_refused(spec))
        if computes and _passes(values, expected, spec, at):
            yield f"a copy of {tensor.name}"


def _is_copy_refused(spec: KernelSpec) -> bool:
    """Whether a copy would be no kernel: one that only moves data has copies as its results."""
    return any(op in _COMPUTING for op in spec.operations)


_COMPUTING = frozenset(
    {"mul", "sum", "exp", "div", "sub", "mm", "bmm", "rsqrt", "cumsum", "amax", "tanh", "sigmoid"}
)


def _passes(values: Array, expected: Expected, spec: KernelSpec, at: int) -> bool:
    if is_floating(expected.dtype):
        return compare_values(values, expected, spec.tolerances[at]).passed
    return bool(np.all(np.rint(values) == expected.exact))
