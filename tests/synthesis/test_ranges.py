"""Tests of indices that only ever go one way are not written."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warploom.synthesis.codegen import generate
from warploom.synthesis.codegen.graph import graph_from
from warploom.synthesis.codegen.ranges import is_never_negative, needed


def _text(nodes: list[dict[str, Any]], output: str) -> str:
    symbols = [{"name": f"d{at}", "input": 0, "dim": at} for at in range(2)]
    x = {"name": "x", "shape": ["d0", "d1"], "dtype": "float32"}
    made = [{"kwargs": {}, "dtype": "float32", "line": 7, **node} for node in nodes]
    data = {"inputs": [x], "nodes": made, "outputs": [output], "symbols": symbols}
    return generate(graph_from(data)).text


def _slice_of_pad(start: int) -> str:
    pad = {"name": "p", "op": "constant_pad_nd", "args": [{"node": "x"}, [1, 1], 0.0],
           "shape": ["d0", "(2 + d1)"]}  # fmt: skip
    part = {"name": "s", "op": "slice", "args": [{"node": "p"}, 1, start, {"sym": "d1"}],
            "shape": ["d0", "d1"]}  # fmt: skip
    return _text([pad, part], "s")


def test_a_slice_of_what_is_padded_tests_the_side_that_it_reaches() -> None:
    left, middle, right = map(_slice_of_pad, range(3))
    assert "(i1 - (1)) >= 0;" in left
    assert "< d1;" not in left
    assert "const bool v" not in middle
    assert "((i1 + 2) - (1)) < d1;" in right
    assert ">= 0" not in right


def test_a_part_of_a_join_that_is_cut_off_is_not_read() -> None:
    other = {"name": "y", "op": "neg", "args": [{"node": "x"}], "shape": ["d0", "d1"]}
    both = {"name": "b", "op": "cat", "args": [[{"node": "x"}, {"node": "y"}], 1],
            "shape": ["d0", "(2*d1)"]}  # fmt: skip
    for start, is_negated in ((0, False), ({"sym": "d1"}, True)):
        part = {"name": "s", "op": "slice", "args": [{"node": "b"}, 1, start, {"sym": "d1"}],
                "shape": ["d0", "d1"]}  # fmt: skip
        text = _text([other, both, part], "s")
        assert "const bool v" not in text
        assert ("= (-v" in text) is is_negated


@pytest.mark.parametrize(("size", "is_kept"), [("(d1*(d0//4))", False), ("(-1 + d1)", True)])
def test_a_size_that_is_never_negative_is_not_made_zero_at_least(size: str, is_kept: bool) -> None:
    count = {"name": "c", "op": "scalar_tensor", "args": [{"sym": size}], "shape": []}
    least = {"name": "l", "op": "clamp", "args": [{"node": "c"}, 0], "shape": []}
    share = {"name": "s", "op": "div", "args": [{"node": "x"}, {"node": "l"}],
             "shape": ["d0", "d1"]}  # fmt: skip
    assert ("< 0.0f" in _text([count, least, share], "s")) is is_kept


@given(
    numbers=st.tuples(*[st.integers(-3, 3)] * 4),
    sign=st.sampled_from([">=", "<"]),
    bound=st.sampled_from(["0", "d0", "d0 + d1", "2"]),
)
def test_only_what_holds_for_all_indices_is_left_out(
    numbers: tuple[int, int, int, int], sign: str, bound: str
) -> None:
    a, b, c, d = numbers
    at = f"((i0 * {a} + ({b})) - (i1 * ({c}) + d1 * {d}))"
    left = needed([(at, sign, bound)], {"i0": "d0", "i1": "(d1)"})
    ways = {
        eval(f"{at} {sign} {bound}", {"d0": d0, "d1": d1, "i0": i0, "i1": i1})
        for d0 in range(5) for d1 in range(5) for i0 in range(d0) for i1 in range(d1)
    }  # fmt: skip
    if left is None:
        assert ways == {False}
    elif not left:
        assert ways == {True}


@pytest.mark.parametrize(
    ("text", "is_shown"),
    [
        ("d1", True), ("((d1/4)*d3*d2)", True), ("larger_of(d0 - 1, 0)", True), ("d0//2 + 1", True),
        ("(-1 + d1)", False), ("d0 - d1", False), ("v1", False), ("smaller_of(d0, d1 - 1)", False),
        ("d0) + (d1", False), ("(d0 - 1) / 2", False), ("in_x[i0]", False), ("0.5", False),
    ],
)  # fmt: skip
def test_what_is_never_negative(text: str, is_shown: bool) -> None:
    assert is_never_negative(text) is is_shown
