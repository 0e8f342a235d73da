"""The judge passes what the levers make, and finds the one step that is wrong for a program."""

from pathlib import Path

import pytest

from warploom.core.records import Api
from warploom.evaluation import evaluate
from warploom.propose import Stage
from warploom.propose.mutate import Mutation, apply
from warploom.propose.rules import RewritePlan, rewrite
from warploom.source import CUDAAnalyzer
from warploom.workload.workload import Workload

EXAMPLES = Path(__file__).parents[2] / "examples"


def mutated(name: str, api: str, values: dict[str, str]) -> str:
    path = EXAMPLES / name / f"{name}.cu"
    plan = RewritePlan(Api(api), Stage.DEVICE)
    text = rewrite(path.read_text(), CUDAAnalyzer(path).analyze(), plan).text
    for lever, value in values.items():
        text = apply(text, Mutation(lever, value, ""))
    return text


JUDGED = [
    ("moe", "lsa", {"blocks": "2", "block_bytes": "2048"}),
    ("gemm_allgather", "lsa", {"blocks": "2", "threads": "64"}),
    ("kv_transfer", "lsa", {"parts": "2", "block_bytes": "2048"}),
    ("kv_transfer", "lsa", {"parts": "1", "size:kThreads": "128"}),
    ("moe", "lsa", {"spread": "turn"}),
    ("attention", "lsa", {"spread": "blocks", "own_bytes": "0"}),
    ("moe", "lsa", {"spread": "blocks", "leave": "alone"}),
    ("attention", "lsa", {"order": "events"}),
    ("moe", "gin", {"own_bytes": "0", "order": "events"}),
    ("moe", "lsa", {"group": "together"}),
    ("moe", "gin", {"group": "together", "offer": "around"}),
    ("moe", "gin", {"offer": "ahead"}),
    ("moe", "lsa", {"group": "together", "read:layer.recv_count": "direct",
                    "read:layer.recv": "direct", "read:layer.returned": "direct"}),
    ("gemm_allgather", "lsa", {"read:d_gathered": "fenced"}),
    ("moe", "lsa", {"leave": "alone", "close": "alone", "read:layer.recv_count": "fused",
                    "read:layer.recv": "fused", "read:layer.returned": "fused"}),
    ("gemm_allgather", "lsa", {"read:d_gathered": "guarded"}),
    ("moe", "lsa", {"threads:expert_mlp": "64", "unroll:expert_mlp": "8",
                    "restrict:expert_mlp": "on", "bounds:expert_mlp": "on"}),
    ("gemm_allgather", "gin", {"threads:assemble": "128", "size:TILE": "16", "unroll:gemm": "4",
                               "restrict:gemm": "on", "bounds:gemm": "on"}),
    ("moe_int8", "lsa", {"parts": "2", "block_bytes": "2048", "size:kThreads": "64"}),
    ("moe_int8", "gin", {"own_bytes": "0"}),
]  # fmt: skip

CI_JUDGES = (3, 6, 11, 14, 17)  # of each API, and of most levers one


@pytest.mark.parametrize(
    ("name", "api", "values"),
    [
        pytest.param(*case, marks=() if at in CI_JUDGES else pytest.mark.long)
        for at, case in enumerate(JUDGED)
    ],
)
def test_the_judge_passes_each_lever(
    name: str, api: str, values: dict[str, str], tmp_path: Path
) -> None:
    path = tmp_path / f"{name}.cu"
    path.write_text(mutated(name, api, values))
    workload = Workload.from_file(EXAMPLES / name).with_overrides(seeds=1)
    result = evaluate(path, workload)
    assert result.passed, [item.finding.message for item in result.findings]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("gemm_allgather", {"read:d_gathered": "direct"}),
        ("gemm_allgather", {"read:d_gathered": "fused"}),
        ("attention", {"leave": "alone"}),
    ],
)
def test_the_judge_finds_a_wrong_step(name: str, values: dict[str, str], tmp_path: Path) -> None:
    """One exchange an iteration: the next one's producer overwrites what peers still read."""
    path = tmp_path / f"{name}.cu"
    path.write_text(mutated(name, "lsa", values))
    workload = Workload.from_file(EXAMPLES / name).with_overrides(seeds=1)
    assert not evaluate(path, workload).passed


@pytest.mark.parametrize(
    "left_out",
    [
        "device_comm::enter(device_comm::kConsumes);",
        "device_comm::leave(device_comm::kProduces);",  # consumers wait for what was told before
    ],
)
def test_the_judge_finds_a_gate_that_is_left_out(left_out: str, tmp_path: Path) -> None:
    text = mutated("moe", "lsa", {"read:layer.recv": "fused", "read:layer.recv_count": "fused",
                                  "read:layer.returned": "fused"})  # fmt: skip
    assert text.count(left_out) == 1
    path = tmp_path / "moe.cu"
    path.write_text(text.replace(left_out, ""))
    workload = Workload.from_file(EXAMPLES / "moe").with_overrides(seeds=1)
    result = evaluate(path, workload)
    assert not result.passed
    assert "data_race" in {item.finding.kind for item in result.findings}
