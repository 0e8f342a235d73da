"""Comparing read-backs: types, tolerances, special values, and every way not to match."""

import math
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warploom.emulator import Taken
from warploom.evaluation.compare.differential import (
    compare,
    compare_buffer,
    decode,
    typical_magnitude,
    weak_outputs,
)
from warploom.evaluation.compare.outputs import Key, Sample, label, output_of, select
from warploom.evaluation.sites import Site
from warploom.workload.dtypes import DTYPES, dtype_of
from warploom.workload.outputs import Output
from warploom.workload.workload import Workload


def floats(*values: float) -> bytes:
    return np.array(values, np.float32).tobytes()


def sample(
    data: bytes, dtype: str = "float32", rank: int = 0, buffer: str = "d_out", occurrence: int = 0
) -> Sample:
    return Sample(Key(rank, buffer, occurrence), dtype, data, "a.cu", 9)


F32 = Output.with_defaults("d_out", "float32")


def bf16(value: float) -> bytes:
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    return struct.pack("<H", bits >> 16)


@given(st.lists(st.floats(width=32), min_size=1, max_size=40))
def test_equal_bytes_always_match(values: list[float]) -> None:
    data = floats(*values)
    elements, mismatched, worst, error = compare_buffer(data, data, F32)
    assert (elements, mismatched, worst, error) == (len(values), 0, None, 0.0)


@given(st.sampled_from(sorted(DTYPES)), st.binary(min_size=16, max_size=16))
def test_every_type_matches_itself(dtype: str, data: bytes) -> None:
    output = Output.with_defaults("x", dtype)
    assert compare_buffer(data, data, output)[1] == 0
    assert decode(data, dtype).size == 16 // DTYPES[dtype].size


@given(
    st.lists(st.floats(min_value=1, max_value=1e6, width=32), min_size=1, max_size=20),
    st.integers(min_value=0),
    st.floats(min_value=1e-3, max_value=1e3),
)
def test_one_changed_element_is_found_and_named(
    values: list[float], at: int, relative: float
) -> None:
    index = at % len(values)
    changed = list(values)
    changed[index] = values[index] + (relative + 1) * max(values)
    elements, mismatched, worst, _ = compare_buffer(floats(*values), floats(*changed), F32)
    assert (elements, mismatched) == (len(values), 1)
    assert worst is not None
    assert worst.index == index
    assert worst.expected == pytest.approx(values[index], rel=1e-6)
    assert worst.error > worst.tolerance


def test_worst_is_the_largest_excess_not_the_first() -> None:
    _, mismatched, worst, largest = compare_buffer(floats(1, 1, 1), floats(1.1, 3, 1.2), F32)
    assert worst is not None
    assert (mismatched, worst.index) == (3, 1)
    assert largest == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("want", "got", "good"),
    [
        (math.nan, math.nan, True),
        (math.nan, 1.0, False),
        (1.0, math.nan, False),
        (math.inf, math.inf, True),
        (math.inf, -math.inf, False),
        (math.inf, 3e38, False),
        (3e38, math.inf, False),
        (0.0, -0.0, True),
    ],
)
def test_special_values(want: float, got: float, good: bool) -> None:
    wanted, had = floats(1.0, want), floats(1.0, got)
    elements, mismatched, worst, _ = compare_buffer(wanted, had, F32)
    assert (elements, mismatched == 0) == (2, good)
    assert (worst is None) == good
    if worst is not None:
        assert worst.index == 1


def test_a_nan_does_not_hide_another_error() -> None:
    _, mismatched, worst, _ = compare_buffer(floats(math.nan, 1, 2), floats(math.nan, 1, 9), F32)
    assert mismatched == 1
    assert worst is not None
    assert worst.index == 2


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "uint64", "int64", "bytes"])
def test_integers_and_bytes_match_bit_by_bit(dtype: str) -> None:
    kind = np.dtype("uint8" if dtype == "bytes" else dtype)
    want = np.arange(8).astype(kind)
    got = want.copy()
    got[5] += 1
    _, mismatched, worst, _ = compare_buffer(
        want.tobytes(), got.tobytes(), Output.with_defaults("x", dtype)
    )
    assert mismatched == 1
    assert worst is not None
    assert (worst.index, worst.expected, worst.got) == (5, 5, 6)


def test_large_integers_are_not_compared_as_floats() -> None:
    want = np.array([2**62], np.int64)
    output = Output.with_defaults("x", "int64")
    assert compare_buffer(want.tobytes(), (want + 1).tobytes(), output)[1] == 1


def test_half_precision_types() -> None:
    values = [0.0, 1.0, -2.5, 1024.0]
    assert list(decode(b"".join(map(bf16, values)), "bfloat16")) == values
    assert list(decode(np.array(values, np.float16).tobytes(), "float16")) == values
    output = Output.with_defaults("x", "bfloat16")
    assert compare_buffer(bf16(1.0), bf16(1.0078125), output)[1] == 0  # one unit in the last place
    assert compare_buffer(bf16(1.0), bf16(1.125), output)[1] == 1
    assert math.isnan(decode(b"\xc0\x7f", "bfloat16")[0])


def test_default_tolerance_takes_no_lower_precision() -> None:
    exact = np.random.default_rng(1).normal(size=256).astype(np.float32)
    rounded = exact.astype(np.float16).astype(np.float32)
    assert compare_buffer(exact.tobytes(), rounded.tobytes(), F32)[1] > 0
    wide = exact.astype(np.float64)
    narrow = (wide + 1e-9).astype(np.float32).astype(np.float64)
    double = Output.with_defaults("x", "float64")
    assert compare_buffer((wide + 1e-9).tobytes(), narrow.tobytes(), double)[1] > 0


def test_default_tolerance_takes_another_order_of_summation() -> None:
    terms = np.random.default_rng(2).normal(size=(64, 512)).astype(np.float32)
    forward, backward = np.zeros(512, np.float32), np.zeros(512, np.float32)
    for i in range(64):
        forward += terms[i]
        backward += terms[63 - i]
    assert (forward != backward).any()
    assert compare_buffer(forward.tobytes(), backward.tobytes(), F32)[1] == 0


def test_typical_magnitude_ignores_zeros_and_outliers() -> None:
    assert typical_magnitude(np.array([0, 0, 1, 1, 1e30])) == 1
    assert typical_magnitude(np.array([0.0, math.nan, math.inf])) == 0


def test_small_results_are_not_passed_by_zeros() -> None:
    small = np.full(16, 1e-9, np.float32)
    small[3] = 2e-9
    assert compare_buffer(small.tobytes(), bytes(64), F32)[1] == 16


def test_a_partial_element_is_compared_as_bytes() -> None:
    assert compare_buffer(b"abcde", b"abcdf", F32)[:2] == (5, 1)


def test_missing_extra_and_resized_are_failures() -> None:
    want = {s.key: s for s in (sample(floats(1, 2)), sample(floats(3), occurrence=1))}
    extra = sample(floats(1), buffer="d_new")
    got = {s.key: s for s in (sample(floats(1, 2, 3)), extra)}
    found = compare(want, got, ())
    assert [(d.problem, d.key.buffer, d.key.occurrence) for d in found] == [
        ("resized", "d_out", 0),
        ("missing", "d_out", 1),
        ("extra", "d_new", 0),
    ]
    assert all(d.describe() for d in found)


def test_ranks_are_not_mixed_up() -> None:
    want = {s.key: s for s in (sample(floats(1)), sample(floats(2), rank=1))}
    swapped = {s.key: s for s in (sample(floats(2)), sample(floats(1), rank=1))}
    assert [d.problem for d in compare(want, swapped, ())] == ["differs", "differs"]


class Copy:
    def __init__(self, rank: int, line: int | None, data: bytes = b"", file: str = "/x/a.cu"):
        self.rank, self.line, self.data, self.file = rank, line, data, file
        self.taken: Taken | None = None
        self.readers: tuple[tuple[tuple[str, int], ...], ...] = ()
        self.arrived: None = None


def test_readbacks_are_named_by_the_copy_that_made_them() -> None:
    sites = (
        Site("/x/a.cu", 10, 12, "d_out", "float"),
        Site("/x/a.cu", 1, 40, "whole", "int"),
        Site("/x/b.cu", 11, 11, "other", "int"),
    )
    copies = [Copy(0, 11), Copy(0, 12), Copy(1, 10), Copy(0, 30), Copy(0, 99), Copy(0, None)]
    found = label(copies, sites)
    assert [(s.key.rank, s.key.buffer, s.key.occurrence) for s in found] == [
        (0, "d_out", 0),
        (0, "d_out", 1),
        (1, "d_out", 0),
        (0, "whole", 0),
        (0, "", 0),
        (0, "", 1),
    ]
    assert [s.dtype for s in found[:4]] == ["float32", "float32", "float32", "int32"]
    assert label([Copy(0, 11, file="/y/b.cu")], sites)[0].key.buffer == "other"


def test_declared_outputs_select_and_type() -> None:
    output = Output("d_out", "float16", 0.1, 0.0)
    samples = (sample(b"1234"), sample(b"1234", buffer="scratch"))
    task = Workload("test", Path(), Path("test.cu"))
    assert list(select(samples, replace(task, outputs=(output,)))) == [samples[0].key]
    assert list(select(samples, task)) == [s.key for s in samples]
    assert list(select(samples, replace(task, leave_out=("d_out",)))) == [samples[1].key]
    assert output_of(samples[0], (output,)) == output
    assert output_of(samples[1], (output,)).dtype == "float32"


@pytest.mark.parametrize(
    ("arrays", "reason"),
    [
        ([floats(0, 0), floats(0, 0)], "all zero"),
        ([floats(math.nan), floats(math.nan, math.nan)], "all NaN"),
        ([floats(4, 4), floats(8, 8)], "constant"),
        ([floats(4), floats(4)], "constant"),
        ([floats(4), floats(5)], ""),
        ([floats(4)], ""),
        ([floats(1, 2)], ""),
        ([floats(0, 0), floats(0, 1)], ""),
        ([b""], "empty"),
    ],
)
def test_outputs_that_distinguish_nothing(arrays: list[bytes], reason: str) -> None:
    references = [{Key(0, "d_out", 0): sample(data)} for data in arrays]
    assert weak_outputs(references, ()) == ({"d_out": reason} if reason else {})


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("const float *", "float32"),
        ("std::uint32_t", "uint32"),
        ("unsigned long long", "uint64"),
        ("__nv_bfloat16", "bfloat16"),
        ("half", "float16"),
        ("float32", "float32"),
        ("struct Row", "bytes"),
        ("", "bytes"),
        (None, "bytes"),
    ],
)
def test_c_types(spelling: str | None, name: str) -> None:
    assert dtype_of(spelling).name == name


@pytest.mark.parametrize("values", [(1.0, math.nan), (1.0, math.inf), (math.nan, 1.0)])
def test_no_error_stands_beside_what_is_no_number(values: tuple[float, float]) -> None:
    """Not even the largest one: of the elements that are numbers it may be 0."""
    key = Key(0, "d_out", 0)
    want, got = (sample(floats(3.0, value)) for value in values)
    [difference] = compare({key: want}, {key: got}, (F32,))
    assert difference.max_error == math.inf
    assert "error" not in difference.describe()
