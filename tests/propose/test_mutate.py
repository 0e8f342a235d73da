"""Levers: what each program has, and that every step reads back as it was set."""

from functools import cache
from pathlib import Path

import pytest

from warploom.core.records import Api
from warploom.propose import Stage
from warploom.propose.mutate import (
    Mutation,
    MutationError,
    apply,
    directives,
    mutations,
    recipes,
)
from warploom.propose.rules import RewritePlan, rewrite
from warploom.source import CUDAAnalyzer

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = ("allreduce_dp", "attention", "gemm_allgather", "kv_transfer", "moe", "moe_int8")


@cache
def transformed(name: str, api: str) -> str:
    path = EXAMPLES / name / f"{name}.cu"
    plan = RewritePlan(Api(api), Stage.DEVICE)
    return rewrite(path.read_text(), CUDAAnalyzer(path).analyze(), plan).text


# Each example by one API, moe by both: it has the most levers. A night's run takes the others.
READ_BACK = [("moe", "gin"), ("moe", "lsa"), ("allreduce_dp", "gin"), ("attention", "lsa")]
READ_BACK += [("gemm_allgather", "gin"), ("kv_transfer", "lsa")]
AT_NIGHT = [(name, api) for name in NAMES for api in ("gin", "lsa") if (name, api) not in READ_BACK]


@pytest.mark.parametrize(
    ("name", "api"),
    [*READ_BACK, *(pytest.param(*case, marks=pytest.mark.long) for case in AT_NIGHT)],
)
def test_every_step_reads_back(name: str, api: str) -> None:
    source = transformed(name, api)
    before = directives(source)
    steps = mutations(source)
    assert steps == mutations(source)
    assert {step.lever for step in steps} == set(before)
    for mutation in steps:
        after = apply(source, mutation)
        assert directives(after)[mutation.lever] == mutation.value
        assert mutation.summary.endswith(".")
        assert mutation.summary[0].isupper()
        assert apply(after, Mutation(mutation.lever, before[mutation.lever], "")) == source


@pytest.mark.parametrize("api", ["gin", "lsa"])
def test_steps_combine(api: str) -> None:
    source = transformed("moe", api)
    wanted = {"group": "together", "order": "events", "threads:expert_mlp": "64"}
    direct = {"read:layer.recv": "direct", "leave": "alone"}
    wanted |= {"offer": "around"} if api == "gin" else direct
    for lever, value in wanted.items():
        source = apply(source, Mutation(lever, value, ""))
    found = directives(source)
    assert {lever: found[lever] for lever in wanted} == wanted


def test_programs_have_the_levers_that_fit() -> None:
    assert "read:b.all_k" not in directives(transformed("attention", "lsa"))  # `k + ...`: a pointer
    assert "read:d_gathered" in directives(transformed("gemm_allgather", "lsa"))
    assert not any(name.startswith("read") for name in directives(transformed("moe", "gin")))
    moe = directives(transformed("moe", "gin"))
    assert "threads:assign_slots" not in moe  # a warp that counts by ballots
    assert moe["offer"] == "asked"
    assert "offer" not in directives(transformed("gemm_allgather", "gin"))  # one exchange in a loop
    assert directives("int main() {}\n") == {}
    assert mutations("int main() {}\n") == ()


def test_gates_leave_launches_as_they_are_and_go_away_again() -> None:
    """The judge wants launches behind the last communication as they were."""
    plain = source = transformed("moe", "lsa")
    buffers = ("recv_count", "recv", "returned")
    values = {"bounds:expert_mlp": "on", **{f"read:layer.{name}": "fused" for name in buffers}}
    for lever, value in values.items():
        source = apply(source, Mutation(lever, value, ""))
    launch = "combine_tokens<<<TOKENS, 32, 0, stream>>>(layer.returned, layer.expert, layer.slot,"
    assert launch in plain
    assert launch in source
    assert "enter(device_comm::kProduces | device_comm::kConsumes);" in source  # expert_mlp
    assert "combine_tokens_work(device_comm::receivedBy(returned, 2), expert" in source
    found = directives(source)
    assert "bounds:expert_mlp" not in found  # it is the kernel's around the work
    assert found["threads:expert_mlp"] == "32"
    assert found["unroll:expert_mlp"] == "auto"
    for name in buffers:
        source = apply(source, Mutation(f"read:layer.{name}", "copied", ""))
    assert source == apply(plain, Mutation("bounds:expert_mlp", "on", ""))


def test_pushed_reductions_go_away_again_whatever_their_size() -> None:
    plain = transformed("allreduce_dp", "lsa")
    assert "push_bytes" not in directives(plain)
    source = apply(plain, Mutation("reduce", "pushed", ""))
    source = apply(source, Mutation("push_bytes", "524288", ""))
    assert "    case ncclFloat32:\n      reducePushed<float>(wire, r);\n      break;\n" in source
    assert "@" not in source  # each place of the template is filled
    assert directives(source)["reduce"] == "pushed"
    assert apply(source, Mutation("reduce", "slices", "")) == plain
    assert "reduce" not in directives(transformed("allreduce_dp", "gin"))
    assert "reduce" not in directives(transformed("moe", "lsa"))


def test_windows_are_given_back_alone_only_where_a_last_meeting_would_be() -> None:
    source = transformed("moe", "lsa")
    assert "close" not in directives(source)
    assert directives(apply(source, Mutation("leave", "alone", "")))["close"] == "together"
    assert (
        directives(apply(source, Mutation("read:layer.recv", "fused", "")))["close"] == "together"
    )
    assert "close" not in directives(transformed("moe", "gin"))


def test_recipes_are_steps_one_after_the_other() -> None:
    for name, api in (("moe", "lsa"), ("gemm_allgather", "lsa")):
        source = transformed(name, api)
        known = recipes(source)
        assert known and len(set(known)) == len(known)
        for steps in known:
            after = source
            for step in steps:
                after = apply(after, step)
            assert {s.lever: s.value for s in steps}.items() <= directives(after).items()
    first = [f"{step.lever}={step.value}" for step in recipes(transformed("moe", "lsa"))[0]]
    assert "read:layer.returned=fused" in first
    assert recipes("int main() {}\n") == ()


@pytest.mark.parametrize(
    ("lever", "value", "told"),
    [
        ("blocks", "7", "can be set to 1, 2"),
        ("offer", "ahead", "must name a lever of the program, got 'offer'; it has: blocks"),
        ("threads:nothing", "64", "must name a lever"),
    ],
)
def test_what_does_not_fit_is_refused(lever: str, value: str, told: str) -> None:
    with pytest.raises(MutationError, match=told):
        apply(transformed("moe", "lsa"), Mutation(lever, value, ""))


def test_line_ends_and_comments_do_not_mislead() -> None:
    source = transformed("moe", "lsa").replace("\n", "\r\n")
    assert directives(source)["blocks"] == "64"
    fake = "// constexpr int kBlocks = 4;\n/* device_comm::launchAlltoAll(a, b); */\n" + source
    assert directives(fake) == directives(source)
