"""Which cases a specification gets: each size along which something is reduced is tried long."""

from pathlib import Path

import pytest

from warploom.synthesis.correctness.cases import CasePlan, plan_cases, tall_cases
from warploom.synthesis.correctness.tied import tied
from warploom.synthesis.interview import interview
from warploom.synthesis.records import KernelSpec
from warploom.synthesis.reference.client import ReferenceProcess
from warploom.synthesis.sizes import size_value

_TWO_REDUCTIONS = """
import torch

def reference(x):
    return torch.softmax(x, 0).sum(1)

def example_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(5, 40, generator=g),)
"""
_BATCHES = """
import torch

def reference(q, k):
    return torch.softmax(q @ k.transpose(-1, -2), dim=-1)

def example_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(2, 7, 16, generator=g), torch.randn(2, 13, 16, generator=g))
"""

_PLACES = """
import torch

def reference(x):
    return torch.argmax(x, -1)

def example_inputs(seed):
    return (torch.randn(7, 13, generator=torch.Generator().manual_seed(seed)),)
"""

_PARTS = """
import torch

def reference(x):
    return torch.nn.functional.pixel_unshuffle(x, 3)

def example_inputs(seed):
    shape = (3, 3, 9 + 3 * (seed % 2), 12)
    return (torch.randn(shape, generator=torch.Generator().manual_seed(seed)),)
"""


def _specified(folder: Path, text: str) -> KernelSpec:
    file = folder / "reference.py"
    file.write_text(text)
    with ReferenceProcess(file) as reference:
        return interview(reference, "a kernel", "sm_90", [1, 2, 3]).spec


def _by_name(spec: KernelSpec) -> dict[str, CasePlan]:
    return {plan.name: plan for plan in plan_cases(spec, 1)}


def test_each_reduced_size_is_long_and_late(tmp_path: Path) -> None:
    spec = _specified(tmp_path, _TWO_REDUCTIONS)
    assert spec.reduced == ("d0", "d1")
    found = _by_name(spec)
    for name in spec.reduced:  # the second is the longest
        for kind in ("normal", "positive", "early", "early-even", "late", "late-even"):
            assert found[f"{name}-long-{kind}"].symbols[name] > 500


def test_where_the_first_of_equals_counts_rows_of_odd_and_even_sizes_have_many_and_few(
    tmp_path: Path,
) -> None:
    spec = _specified(tmp_path, _PLACES)
    plans = [plan for plan in plan_cases(spec, 1) if plan.symbols["d1"] > 500]
    for kind in ("ties", "few-ties", "nans", "few-nans"):
        assert {plan.symbols["d1"] % 2 for plan in plans if plan.kind == kind} == {0, 1}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_few_products_at_a_time(tmp_path: Path, seed: int) -> None:
    spec = _specified(tmp_path, _BATCHES)
    assert spec.reduced == ("d2", "d3")
    plans = plan_cases(spec, seed)
    assert {plan.symbols["d0"] for plan in plans if plan.name.startswith("odd-")} <= {2, 3, 5}
    assert [plan.name for plan in plans if plan.symbols["d0"] > 500] == ["d0-long-normal"]


def test_two_sizes_that_count_products_are_no_more_products_together(tmp_path: Path) -> None:
    heads = "return (torch.randn(2, 3, 7, 16), torch.randn(2, 3, 13, 16), torch.rand(3))"
    text = _BATCHES.replace("(q, k)", "(q, k, slopes)").replace(
        "q @ k.transpose(-1, -2)", "q @ k.transpose(-1, -2) * slopes[:, None, None]"
    )
    spec = _specified(tmp_path, f"{text.split('    g =')[0]}    {heads}\n")
    plans = plan_cases(spec, 1, "if (d0 == 512) return 1;")
    counts = {plan.name: plan.symbols["d0"] * plan.symbols["d1"] for plan in plans}
    assert counts["d0-long-normal"] > 250
    assert counts["d1-long-normal"] > 250
    assert max(counts.values()) <= 520
    assert sum(counts.values()) < 2500
    assert any(512 in plan.symbols.values() for plan in plans if plan.name.startswith("named-"))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_what_a_size_is_at_most_is_gone_beyond(tmp_path: Path, seed: int) -> None:
    spec = _specified(tmp_path, _TWO_REDUCTIONS.replace("softmax(x, 0).sum(1)", "relu(x)"))
    many = " ".join(str(number) for number in range(40_000, 64_000, 1_000))
    plans = plan_cases(spec, seed, f"{many} smaller_of(60999, d0)")
    assert any(plan.symbols["d0"] == 61_000 for plan in plans)
    assert {"d0": 62_464, "d1": 4} in [plan.symbols for plan in plans]


def test_sizes_that_are_multiples_stay_even_and_zero(tmp_path: Path) -> None:
    spec = _specified(tmp_path, _PARTS)
    divided = [symbol.name for symbol in spec.symbols if symbol.multiple == 3]
    assert len(divided) == 2
    found = _by_name(spec)
    for even in tied(spec, found["even"]):
        assert all(even.symbols[name] % 12 == 0 for name in divided)
    for odd in tied(spec, found["odd-normal"]):
        assert all(odd.symbols[name] % 6 == 3 for name in divided)
    for empty in tied(spec, found["d1-0"]):  # though d0 is as large in the example
        assert empty.symbols["d1"] == 0


def test_where_places_of_powers_are_asked_for_no_named_value_drowns_the_others(
    tmp_path: Path,
) -> None:
    text = _PLACES.replace("torch.argmax(x, -1)", "torch.topk(torch.softmax(x, -1), 2)")
    spec = _specified(tmp_path, text)
    (values,) = [plan.values for plan in plan_cases(spec, 1, "f(8.5f, 512.0f)") if plan.values]
    assert values == (8.5,)


def test_each_size_is_tall_once(tmp_path: Path) -> None:
    plans = tall_cases(_specified(tmp_path, _TWO_REDUCTIONS), 1)
    assert [sorted(plan.symbols.values())[0] for plan in plans] == [1, 1]
    assert all(65_535 < max(plan.symbols.values()) < 66_000 for plan in plans)


def test_the_longest_reduction_is_that_of_the_case(tmp_path: Path) -> None:
    spec = _specified(tmp_path, _BATCHES)
    (rule,) = spec.tolerances
    assert size_value(rule.reduction, dict.fromkeys(["d0", "d1", "d3"], 2) | {"d2": 512}) == 512
    assert size_value(rule.reduction, dict.fromkeys(["d0", "d1", "d2"], 2) | {"d3": 512}) == 512
