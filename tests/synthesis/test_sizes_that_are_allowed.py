"""Sizes at which a reference does something else than its trace are refused, never wrong."""

import importlib.util
from pathlib import Path

import pytest

from warploom.core.errors import BadInputError, UnsupportedError
from warploom.synthesis.codegen import generate
from warploom.synthesis.correctness import prepare_trial
from warploom.synthesis.correctness.accept import Trial
from warploom.synthesis.correctness.allowed import at_ends, attempts, is_allowed
from warploom.synthesis.correctness.cases import plan_cases
from warploom.synthesis.export.package import binding_text
from warploom.synthesis.interview import interview
from warploom.synthesis.interview.conditions import conditions_of
from warploom.synthesis.records import KernelSpec
from warploom.synthesis.reference.client import ReferenceProcess
from warploom.synthesis.reference.relations import Relation, relations_in
from warploom.synthesis.sizes import holds

_TEMPLATE = """
import torch

def reference({names}):
    {body}

def example_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return ({inputs},)
"""


def _file(folder: Path, body: str, **shapes: tuple[int, ...]) -> Path:
    file = folder / "reference.py"
    drawn = ", ".join(f"torch.randn({shape}, generator=g)" for shape in shapes.values())
    file.write_text(_TEMPLATE.format(names=", ".join(shapes), body=body, inputs=drawn))
    return file


def _specified(file: Path) -> KernelSpec:
    with ReferenceProcess(file) as reference:
        return interview(reference, "a kernel", "sm_90", [1, 2]).spec


def _trial(file: Path, folder: Path) -> tuple[KernelSpec, Trial]:
    with ReferenceProcess(file) as reference:
        found = interview(reference, "a kernel", "sm_90", [1, 2])
        return found.spec, prepare_trial(
            found.spec, reference, 5, folder, generate(found.graph).text
        )


@pytest.mark.parametrize(
    ("body", "condition"),
    [
        ("return x * 2 if x.shape[0] > 20 else x * 3", "d0 >= 21"),
        ("return x * 2 if x.shape[0] < 100000 else x * 3", "d0 <= 99999"),
        ("return x[:100] * 2", "d0 <= 99"),
        ("a, b = x.chunk(2, -1); return a * b", "d1%2 == 0"),
    ],
)
def test_what_a_trace_takes_for_granted_is_a_condition(
    tmp_path: Path, body: str, condition: str
) -> None:
    spec = _specified(_file(tmp_path, body, x=(33, 18)))
    assert spec.conditions == (condition,)
    plans = [one for plan in plan_cases(spec, 1) for one in attempts(spec, plan)]
    assert len(plans) > 20
    assert all(is_allowed(spec, plan.symbols) for plan in plans)


def test_sizes_that_are_right_stay_allowed(tmp_path: Path) -> None:
    body = "return x.sum(-1, keepdim=True) + x[:, ::2].amax(-1, keepdim=True)"
    assert _specified(_file(tmp_path, body, x=(33, 18))).conditions in ((), ("d1 >= 1",))


def test_cases_reach_both_ends(tmp_path: Path) -> None:
    body = "return x * 2 if 4 < x.shape[0] < 50 else x * 3"
    spec = _specified(_file(tmp_path, body, x=(33, 18)))
    assert {plan.symbols["d0"] for plan in at_ends(spec, 1)} == {5, 49}


def test_the_operator_refuses_other_sizes(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    body = "return x * 2 if x.shape[0] > 20 else x * 3"
    spec = _specified(_file(tmp_path, body, x=(33, 17)))
    module = tmp_path / "kernel_branch.py"
    module.write_text(binding_text(spec, "kernel_branch"))
    found = importlib.util.spec_from_file_location("kernel_branch", module)
    assert found is not None
    assert found.loader is not None
    made = importlib.util.module_from_spec(found)
    found.loader.exec_module(made)
    with pytest.raises(ValueError, match=r"d0 >= 21 only, got \{'d0': 20\}"):
        made.forward(torch.zeros(20, 17))
    with torch.device("meta"):
        assert made.forward(torch.zeros(21, 17)).shape == (21, 17)


def test_a_size_that_follows_from_another_is_no_symbol(tmp_path: Path) -> None:
    body = (
        "n, c, h, v = x.shape; cols = torch.nn.functional.unfold(x, 3, padding=1); "
        "return (w.flatten(1) @ cols).view(n, w.shape[0], h, v)"
    )
    spec, trial = _trial(_file(tmp_path, body, x=(2, 3, 12, 13), w=(5, 3, 3, 3)), tmp_path)
    assert [tensor.shape for tensor in spec.inputs] == [
        ("d0", "d1", "d2", "d3"),
        ("d4", "d1", "3", "3"),
    ]
    done = {case.plan.check for case in trial.cases}
    assert {"even-sizes", "named-sizes", "long", "accumulation", "special-values"} <= done


def test_a_size_that_is_twice_another_says_so(tmp_path: Path) -> None:
    body = "return x[..., 0::2] * f + x[..., 1::2]"
    spec = _specified(_file(tmp_path, body, x=(5, 32), f=(16,)))
    assert [tensor.shape for tensor in spec.inputs] == [("d0", "(2*d1)"), ("d1",)]


def test_relations_are_few_and_of_one_dimension() -> None:
    sizes = {"a": 3, "b": 3, "c": 3, "d": 3}
    dims = {"a": 1, "b": 1, "c": 2, "d": 3}
    assert set(relations_in(["9*a == b*c*d"], sizes, dims)) == {
        Relation("b", 1, "a"),
        Relation("c", 3),
        Relation("d", 3),
    }
    assert relations_in(["(a//2) == b"], {"a": 8, "b": 4}, dims) == (Relation("a", 2, "b"),)
    assert relations_in(["a*b == (a//2)*2*b"], {"a": 8, "b": 4}, dims) == ()


def test_what_few_sizes_break_is_tried() -> None:
    def differs_at_two(sizes: dict[str, int]) -> str:
        return "differs" if sizes["d0"] == 2 else "agrees"

    found = conditions_of({"d0": 8}, ["d0//2 > 1", "d0 < 70"], differs_at_two)  # type: ignore[arg-type]
    assert found == ("d0 <= 69", "d0 != 2")
    assert conditions_of({"d0": 8}, ["d0//2 > 1"], lambda _: "agrees") == ()


def test_a_reference_that_differs_without_a_guard_is_refused(tmp_path: Path) -> None:
    body = "return x * (2 if torch.compiler.is_compiling() or x.shape[1] < 50 else 3)"
    with pytest.raises(UnsupportedError, match="returns something else than its trace"):
        _trial(_file(tmp_path, body, x=(33, 17)), tmp_path)


def test_a_check_without_a_case_is_refused(tmp_path: Path) -> None:
    body = "assert torch.compiler.is_compiling() or x.shape[1] % 2, 'odd rows only'; return x * 2"
    with pytest.raises(BadInputError, match=r"no case of even-sizes .* fails at .*d1 = \d+"):
        _trial(_file(tmp_path, body, x=(33, 17)), tmp_path)


@pytest.mark.parametrize(
    ("text", "right"),
    [("d0%4 == 0 and d0 > 4", True), ("(not d0 > 4) or d0 == 9", False), ("9%d1 == 1", True)],
)
def test_conditions_are_read(text: str, right: bool) -> None:
    assert holds(text, {"d0": 8, "d1": 0}) is right
