"""Compares what a candidate read back with what the reference read back."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from warploom.evaluation.compare.difference import Difference, Worst
from warploom.evaluation.compare.outputs import Key, Sample, filled, fitting, output_of
from warploom.workload.dtypes import DTYPES
from warploom.workload.outputs import Output

_Values = npt.NDArray[np.generic]
_Floats = npt.NDArray[np.float64]


def decode(data: bytes | memoryview, dtype: str) -> _Values:
    """Return the elements of `data`; bytes that are no whole number of elements stay bytes."""
    if len(data) % DTYPES[dtype].size:
        dtype = "bytes"
    if dtype == "bfloat16":  # the upper half of a float32
        upper = np.frombuffer(data, np.uint16).astype(np.uint32) << np.uint32(16)
        return upper.view(np.float32)
    return np.frombuffer(data, np.dtype("uint8" if dtype == "bytes" else dtype))


def compare_buffer(
    expected: bytes | memoryview, got: bytes | memoryview, output: Output
) -> tuple[int, int, Worst | None, float]:
    """Compare two buffers of equal size.

    Returns:
        (elements, mismatched, worst element or None, largest absolute error: infinite where one
        of the two is not finite and they differ).
        NaN matches only NaN, and an infinity only the same infinity.
    """
    with np.errstate(all="ignore"):  # signalling NaN and overflow are data here, not errors
        return _compare_values(decode(expected, output.dtype), decode(got, output.dtype), output)


def differing(expected: Sample, got: Sample, output: Output) -> npt.NDArray[np.bool_]:
    """Return which elements of two read-backs are out of tolerance: all, if their sizes differ.

    Bytes that nobody wrote in what is expected are never out of it.
    """
    want = decode(expected.data, output.dtype)
    data = fitting(expected, got)
    if len(expected.data) != len(data):
        return np.ones(want.shape, np.bool_)
    have = decode(filled(expected, data), output.dtype)
    if not DTYPES[output.dtype].is_float or want.dtype == np.uint8:
        return np.not_equal(want, have)
    with np.errstate(all="ignore"):
        return _compare_floats(want.astype(np.float64), have.astype(np.float64), output)[0]


def _compare_values(
    want: _Values, have: _Values, output: Output
) -> tuple[int, int, Worst | None, float]:
    if not DTYPES[output.dtype].is_float or want.dtype == np.uint8:
        wrong: npt.NDArray[np.bool_] = np.not_equal(want, have)
        error = np.abs(want.astype(np.float64) - have.astype(np.float64))
        tolerance = np.zeros_like(error)
    else:
        wrong, error, tolerance = _compare_floats(
            want.astype(np.float64), have.astype(np.float64), output
        )
    mismatched = int(np.count_nonzero(wrong))
    largest = float(np.max(error, initial=0.0, where=np.isfinite(error)))
    if mismatched == 0:
        return want.size, 0, None, largest
    if bool((wrong & ~np.isfinite(error)).any()):
        largest = math.inf  # no number says how far what is none is off
    index = _worst_index(wrong, error, tolerance)
    worst = Worst(
        index=index,
        expected=float(want[index].item()),
        got=float(have[index].item()),
        error=float(error[index]),
        tolerance=float(tolerance[index]),
    )
    return want.size, mismatched, worst, largest


def _compare_floats(
    want: _Floats, have: _Floats, output: Output
) -> tuple[npt.NDArray[np.bool_], _Floats, _Floats]:
    atol = output.rtol * typical_magnitude(want) if output.atol is None else output.atol
    tolerance = atol + output.rtol * np.abs(want)
    error = np.abs(have - want)
    good = error <= tolerance
    same = (want == have) | (np.isnan(want) & np.isnan(have))
    finite = np.isfinite(want) & np.isfinite(have)
    wrong = ~np.where(finite, good, same)
    error[same] = 0.0
    error[~finite & ~same] = np.inf
    tolerance[~np.isfinite(tolerance)] = 0.0
    return wrong, error, tolerance


def typical_magnitude(values: _Floats) -> float:
    """Return the median magnitude of the finite non-zero elements, 0 where there is none."""
    sizes = np.abs(values[np.isfinite(values) & (values != 0)])
    return float(np.median(sizes)) if sizes.size else 0.0


def _worst_index(wrong: npt.NDArray[np.bool_], error: _Floats, tolerance: _Floats) -> int:
    """Return the wrong element whose error is largest in units of its tolerance."""
    excess = np.where(tolerance > 0, error / np.where(tolerance > 0, tolerance, 1.0), error)
    return int(np.argmax(np.where(wrong, np.nan_to_num(excess, nan=np.inf, posinf=1e308), -1.0)))


def compare(
    expected: Mapping[Key, Sample], got: Mapping[Key, Sample], outputs: Sequence[Output]
) -> tuple[Difference, ...]:
    """Compare all read-backs of one run with the reference's of the same input seed.

    A read-back that only one side makes, or that has another size, is a failure. A candidate may
    read more than the reference does of memory that both sides see.
    """
    differences: list[Difference] = []
    for key, sample in expected.items():
        output = output_of(sample, outputs)
        other = got.get(key)
        count = len(sample.data) // DTYPES[output.dtype].size
        if other is None:
            differences.append(
                Difference(key, output.dtype, "missing", count, file=sample.file, line=sample.line)
            )
        elif len(fitting(sample, other)) != len(sample.data):
            differences.append(
                Difference(key, output.dtype, "resized", count, file=other.file, line=other.line)
            )
        else:
            differences.append(_difference(sample, other, output))
    differences += [
        Difference(key, extra.dtype, "extra", 0, file=extra.file, line=extra.line)
        for key, extra in got.items()
        if key not in expected and key.part is None
    ]
    return tuple(differences)


def _difference(sample: Sample, other: Sample, output: Output) -> Difference:
    have = filled(sample, fitting(sample, other))
    elements, mismatched, worst, largest = compare_buffer(sample.data, have, output)
    return Difference(
        key=sample.key,
        dtype=output.dtype,
        problem="differs" if mismatched else "",
        elements=elements,
        mismatched=mismatched,
        worst=worst,
        max_error=largest,
        file=other.file,
        line=other.line,
    )


def weak_outputs(
    references: Sequence[Mapping[Key, Sample]], outputs: Sequence[Output]
) -> dict[str, str]:
    """Return buffers whose reference values cannot tell a right program from a wrong one.

    `references` holds the reference's read-backs, one mapping per input seed. A buffer is weak
    where it is all zero, all NaN, or one single value throughout, in every read-back, by the
    elements that somebody wrote. Maps the buffer to the reason.
    """
    values: dict[str, list[_Values]] = {}
    for samples in references:
        for key, sample in samples.items():
            dtype = output_of(sample, outputs).dtype
            values.setdefault(key.buffer, []).append(_written(sample, dtype))
    reasons = {buffer: _weakness(arrays) for buffer, arrays in values.items()}
    return {buffer: reason for buffer, reason in reasons.items() if reason}


def _written(sample: Sample, dtype: str) -> _Values:
    """Return the elements of which somebody wrote each byte."""
    values = decode(sample.data, dtype)
    if sample.unwritten is None:
        return values
    return values[~sample.unwritten.reshape(values.size, -1).any(axis=1)] if values.size else values


def _weakness(arrays: list[_Values]) -> str:
    filled = [array for array in arrays if array.size]
    if not filled:
        return "empty"
    if all(not array.astype(np.bool_).any() for array in filled):
        return "all zero"
    if all(array.dtype.kind == "f" and bool(np.isnan(array).all()) for array in filled):
        return "all NaN"
    if all(array.size == 1 for array in filled):
        return (
            "constant"
            if len({array.tobytes() for array in filled}) == 1 and (len(filled) > 1)
            else ""
        )
    if all(bool((array == array[0]).all()) for array in filled):
        return "constant"
    return ""
