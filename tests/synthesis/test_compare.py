"""The comparison: what it allows, and what it does not."""

from dataclasses import replace

import numpy as np
import pytest

from warploom.synthesis.correctness.compare import (
    Expected,
    compare,
    exactness_of,
    same_values,
    tolerance_for,
)
from warploom.synthesis.correctness.numbers import decode


def _expected(values: list[float], dtype: str = "float32", *, reach: float = 0.0) -> Expected:
    exact = np.array(values, dtype=np.float64)
    with np.errstate(over="ignore"):
        native = exact.astype({"float32": np.float32, "float16": np.float16}.get(dtype, np.int64))
    return Expected(
        dtype, exact.shape, exact, native.astype(np.float64), exact - reach, exact + reach,
        native.tobytes(),
    )  # fmt: skip


def _passes(got: list[float], expected: Expected) -> bool:
    kind = {"float32": np.float32, "float16": np.float16}.get(expected.dtype, np.int64)
    rule = tolerance_for(expected.dtype, "float32", "1")
    return compare(np.array(got, dtype=kind).tobytes(), expected, rule).passed


def test_a_rounding_passes_and_more_does_not() -> None:
    right = [1.0, -2.5, 1e-3, 123.456]
    assert _passes(right, _expected(right))
    assert _passes([v * (1 + 2.0**-23) for v in right], _expected(right))
    assert not _passes([v * (1 + 2.0**-18) for v in right], _expected(right))


def test_what_a_rounding_of_the_inputs_moves_is_allowed_where_it_does() -> None:
    assert _passes([1e-3 + 1e-6], _expected([1e-3], reach=1e-6))
    assert not _passes([1e-3 + 1e-6], _expected([1e-3]))


def test_what_is_no_number_must_be_none() -> None:
    nan, inf = float("nan"), float("inf")
    assert _passes([nan, inf, -inf], _expected([nan, inf, -inf]))
    for wrong in ([0.0, inf, -inf], [nan, -inf, -inf], [nan, 3e38, -inf]):
        assert not _passes(wrong, _expected([nan, inf, -inf]))
    assert not _passes([nan], _expected([1.0]))


def test_beyond_the_largest_number_of_the_type_is_infinity() -> None:
    assert _passes([float("inf")], _expected([1e6], "float16"))
    assert not _passes([60000.0], _expected([1e6], "float16"))


def test_where_a_type_ends_a_number_may_be_beyond_it_or_not() -> None:
    inf = float("inf")
    below, beyond = (_expected([v], "float16", reach=10.0) for v in (65500.0, 65540.0))
    for end in (below, replace(beyond, eager=np.array([inf]))):
        assert _passes([inf], end)
        assert _passes([65504.0], end)
        assert not _passes([-inf], end)
        assert not _passes([65000.0], end)
    assert not _passes([inf], _expected([65000.0], "float16", reach=10.0))


def test_a_running_product_that_has_overflowed_stays_infinite() -> None:
    inf, close = float("inf"), [2.9e38, 1.0]
    products = replace(_expected(close), products=True)
    assert _passes([inf, 1.0], products)
    assert _passes(close, products)
    assert not _passes([-inf, 1.0], products)
    assert not _passes([1e38, 1.0], products)
    assert not _passes([inf, inf], products)  # far from any overflow
    assert not _passes([inf, 1.0], _expected(close))


@pytest.mark.parametrize("eager", [float("nan"), -448.0])  # PyTorch 2.11, 2.13
def test_beyond_eight_bits_is_the_largest_number_or_what_pytorch_has(eager: float) -> None:
    exact = np.array([-1e7])
    seen = np.array([eager])
    expected = Expected("float8_e4m3fn", (1,), exact, seen, exact, exact, b"")
    rule = tolerance_for("float8_e4m3fn", "float32", "1")
    assert compare(b"\xfe", expected, rule).passed  # -448
    assert compare(b"\xff", expected, rule).passed == np.isnan(eager)
    assert not compare(b"\x7e", replace(expected, eager=np.array([np.nan])), rule).passed  # 448


def test_integers_are_equal_or_as_for_inputs_a_rounding_away() -> None:
    assert _passes([3, 4], _expected([3, 4], "int64"))
    assert not _passes([3, 5], _expected([3, 4], "int64"))
    near = _expected([3, 4], "int64", reach=1.0)
    assert _passes([3, 5], near)
    exactly = tolerance_for(
        "int64", "float32", "1", exactness_of(["round", "_to_copy"], (), "int64")
    )
    assert not compare(np.array([3, 5]).tobytes(), near, exactly).passed, "nothing was rounded"
    assert compare(np.array([3, 4]).tobytes(), near, exactly).passed
    assert not exactness_of(["div", "round", "_to_copy"], (), "int64")


def test_too_few_elements_fail() -> None:
    assert not _passes([1.0], _expected([1.0, 2.0]))


@pytest.mark.parametrize(
    ("dtype", "data", "value"),
    [
        ("bfloat16", b"\x80\x3f", 1.0), ("bfloat16", b"\x20\xc0", -2.5),
        ("float8_e4m3fn", b"\x38", 1.0), ("float8_e4m3fn", b"\x7e", 448.0),
        ("float8_e4m3fn", b"\x01", 2.0**-9), ("float8_e5m2", b"\xbc", -1.0),
        ("float8_e5m2", b"\x7c", float("inf")), ("float16", b"\x00\x3c", 1.0),
        ("bool", b"\x01", 1.0), ("int8", b"\xff", -1.0),
    ],
)  # fmt: skip
def test_bytes_of_each_type_are_read(dtype: str, data: bytes, value: float) -> None:
    assert decode(data, dtype).tolist() == [value]


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
def test_values_are_the_same_whichever_nan_they_are(dtype: str) -> None:
    values = np.array([1.0, float("nan"), -0.0], dtype=dtype)
    others = np.copysign(values, [1, -1, -1]).astype(dtype)
    assert values.tobytes() != others.tobytes()
    assert same_values(values.tobytes(), others.tobytes(), dtype)
    others[0] = np.nextafter(values[0], values[0] * 2)
    assert not same_values(values.tobytes(), others.tobytes(), dtype)
    assert not same_values(values.tobytes(), np.abs(values).tobytes(), dtype)  # the sign of zero
    assert not same_values(b"\1\0\0\0", b"\2\0\0\0", "int32")
