"""The values that the harness draws: those that wrong kernels fail on are among them."""

import math

import pytest

torch = pytest.importorskip("torch")


def _drawn(kind: str, dtype: object, shape: list[int], seed: int = 1, *, whole: bool = False):
    return _tensor(kind, dtype, shape, seed, whole=whole).flatten().tolist()


def _tensor(
    kind: str, dtype: object, shape: list[int], seed: int = 1, *, whole: bool = False,
    number: int = 0, count: int = 1,
):  # fmt: skip
    from warploom.synthesis.reference.values import Among, Domain, draw

    domain = Domain(-3.0, 3.0, dtype.is_floating_point)  # type: ignore[attr-defined]
    return draw(
        shape, dtype, domain, kind, torch.Generator().manual_seed(seed + number), 0, whole=whole,
        among=Among(number, count, seed, pointwise=True),
    )  # fmt: skip


def test_each_special_value_meets_each_of_another_input_and_others() -> None:
    one, other = (
        _tensor("special", torch.float32, [101, 129], number=n, count=2).flatten().tolist()
        for n in (0, 1)
    )

    def word(value: float) -> str:
        special = not math.isfinite(value) or abs(value) > 1e38 or abs(value) < 1e-38
        return f"{value:g}" if special else "plain"

    met = {(word(a), word(b)) for a, b in zip(one, other, strict=True)}
    words = {a for a, _ in met}
    assert len(words) >= 9
    assert met >= {(a, b) for a in words for b in words}


@pytest.mark.parametrize(("kind", "bits"), [("float32", "int32"), ("bfloat16", "int16")])
def test_nan_has_any_of_its_bits(kind: str, bits: str) -> None:
    found = _tensor("nans", getattr(torch, kind), [37, 41])
    words = set(found.view(getattr(torch, bits))[found.isnan()].tolist())
    assert len(words) == 5
    assert -1 in words


def test_norms_of_rows_lie_below_and_above_any_floor() -> None:
    rows = [_tensor("scales", torch.float64, [63, 65], seed) for seed in range(3)]
    norms = torch.cat([tensor.norm(dim=1) for tensor in rows])
    assert float(norms.min()) < 1e-9
    assert float(norms.max()) > 1e2


def test_where_places_are_asked_for_no_named_value_is_there_twice() -> None:
    from warploom.synthesis.reference.values import Domain, draw

    values = draw(
        [37, 63], torch.float32, Domain(-3.0, 3.0, floating=True), "normal",
        torch.Generator().manual_seed(1), 0, distinct=True, strewn=(64.0, 512.0),
    )  # fmt: skip
    assert [int((values == word).sum()) for word in (64, -64, 512, -512)] == [1, 1, 1, 1]


@pytest.mark.parametrize("seed", range(8))
def test_a_short_vector_has_each_special_value(seed: int) -> None:
    values = _drawn("special", torch.float32, [37], seed)
    zeros = {math.copysign(1.0, v) for v in values if v == 0}
    assert zeros == {1.0, -1.0}
    assert {math.inf, -math.inf} <= set(values)
    assert any(math.isnan(v) for v in values)
    small = torch.finfo(torch.float32).tiny
    assert {math.copysign(1.0, v) for v in values if 0 < abs(v) < small} == {1.0, -1.0}


def test_weights_have_few_special_values() -> None:
    from warploom.synthesis.reference.values import Domain, draw

    values = draw(
        [37], torch.float32, Domain(-3.0, 3.0, floating=True), "special",
        torch.Generator().manual_seed(1), 0, largest=False,
    )  # fmt: skip
    assert [v for v in values.tolist() if not math.isfinite(v)] == [
        pytest.approx(math.nan, nan_ok=True)
    ]


def test_of_two_values_not_the_same_one_is_special_for_each_seed() -> None:
    kept = {v for seed in range(160) for v in _drawn("special", torch.float32, [2], seed)
            if v == 0 or math.isinf(v)}  # fmt: skip
    assert kept == {0.0, math.inf, -math.inf}


def test_halves_are_whole_numbers_and_halves_of_both_signs() -> None:
    values = _drawn("halves", torch.float32, [401])
    assert all((2 * v).is_integer() for v in values)
    assert {0.5, -0.5, 1.5, -1.5, 1.0, -2.0} <= set(values)


@pytest.mark.parametrize(("kind", "beyond"), [("int64", 2**53 + 1), ("int32", 2**24 + 1)])
def test_integers_beyond_what_a_float_holds_stand_beside_small_ones(kind: str, beyond: int) -> None:
    values = _drawn("large", getattr(torch, kind), [401], whole=True)
    assert {beyond, -beyond, 1, -1, 2, 7} <= set(values)
    assert max(map(abs, values)) > beyond
    assert all(-3 <= v <= 3 for v in _drawn("large", getattr(torch, kind), [401]))
