"""Transformed programs judged by the emulator: against the host-driven program, adverse networks,
the happens-before check. One build serves all ranks and LSA sizes."""

import re
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pytest
from llm_script import WAIT
from transform_programs import (
    CASES,
    COLLECTIVES,
    MESSAGES,
    SHAPES,
    Sample,
    combined,
    reductions_of,
)

from warploom.core.records import Api, Timing
from warploom.evaluation import Evaluation, Workload, evaluate
from warploom.propose import Proposal, ProposalContext, Stage
from warploom.propose.rules import RulesProposer
from warploom.source import CUDAAnalyzer
from warploom.transform import (
    HostToDeviceTransformer,
    PreTransformPipeline,
    TransformConfig,
)
from warploom.transform.host_to_device import Task
from warploom.transform.trials import describe

ONE_BY_ONE = (Timing.LAZY, Timing.EAGER, Timing.RANDOM)


@dataclass(frozen=True)
class Pair:
    """A host-driven program and its device-initiated form."""

    host: Path
    device: Path

    def judged(self, ranks: int, **changes: object) -> Evaluation:
        """Compare the two at `ranks`; every timing with one seed."""
        settings = {"args": ("{seed}",), "ranks": ranks, "seeds": 1, **changes}
        workload = Workload.from_program(self.host, **settings)  # type: ignore[arg-type]
        return evaluate(self.device, workload, nvcc=False, timings=ONE_BY_ONE)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("programs")


@pytest.fixture(scope="session")
def pair(folder: Path):
    @cache
    def make(name: str, api: Api) -> Pair:
        host = folder / f"{name}.cu"
        host.write_text(TEXTS[name]())
        context = ProposalContext(host.read_text(), CUDAAnalyzer(host).analyze(), api, Stage.DEVICE)
        proposal = RulesProposer().propose(context)
        assert proposal is not None
        device = folder / str(api) / host.name
        device.parent.mkdir(exist_ok=True)
        device.write_text(proposal.text)
        return Pair(host, device)

    return make


TEXTS = {
    "collectives": lambda: combined(COLLECTIVES),
    "messages": lambda: combined(MESSAGES),
    "shapes": lambda: combined(SHAPES),
    "half": lambda: reductions_of("ncclFloat16"),
    "bytes": lambda: reductions_of("ncclInt8"),
    "plain_all": lambda: combined(some("allgather", "alltoall", "allreduce", "allreduce_in_place")),
}


def some(*names: str) -> dict[str, Sample]:
    return {name: COLLECTIVES[name] for name in names}


def require(result: Evaluation) -> None:
    assert result.verified, describe(result)
    assert result.comparisons
    assert all(c.passed and c.max_error == 0 for c in result.comparisons)


def _night(*case: object) -> object:
    """What a sibling shows to CI nearly as well."""
    return pytest.param(*case, marks=pytest.mark.long)


@pytest.mark.parametrize(
    ("name", "api"),
    [
        ("collectives", Api.GIN), ("messages", Api.LSA), ("shapes", Api.GIN),
        _night("collectives", Api.LSA), _night("messages", Api.GIN), _night("shapes", Api.LSA),
    ],
)  # fmt: skip
def test_same_results_on_every_network(name: str, api: Api, pair) -> None:
    require(pair(name, api).judged(4))
    require(pair(name, api).judged(2))


@pytest.mark.parametrize(
    ("name", "lsa_size"),
    [
        ("collectives", 2), ("messages", 1), _night("collectives", 1), _night("messages", 2),
    ],
)  # fmt: skip
def test_gin_needs_no_shared_memory(name: str, lsa_size: int, pair) -> None:
    require(pair(name, Api.GIN).judged(4, lsa_size=lsa_size))


@pytest.mark.parametrize(("name", "api"), [("plain_all", Api.GIN), ("plain_all", Api.LSA)])
def test_the_plain_form(name: str, api: Api, pair) -> None:
    assert ", plain form" in pair(name, api).device.read_text()
    require(pair(name, api).judged(4))
    require(pair(name, api).judged(3, nccl="2.28.9"))
    require(pair(name, api).judged(1))


@pytest.mark.parametrize(("nccl", "api"), [("2.28.9", Api.GIN), ("2.30.7", Api.LSA)])
def test_older_rules(nccl: str, api: Api, pair) -> None:
    require(pair("bytes", api).judged(3, nccl=nccl))


def test_reductions_in_many_rounds(pair) -> None:
    require(pair("bytes", Api.GIN).judged(3, defines={"DEVICE_COMM_STAGING_BYTES": "48"}))


def test_one_rank_alone(pair) -> None:
    require(pair("collectives", Api.GIN).judged(1))


def test_half_types_add_up_in_float(pair) -> None:
    require(pair("half", Api.GIN).judged(4))


def test_lsa_says_what_it_needs(pair) -> None:
    result = pair("half", Api.LSA).judged(4, lsa_size=2)
    assert not result.passed


def test_the_judge_sees_a_broken_protocol(pair, folder: Path) -> None:
    good = pair("half", Api.GIN)
    broken = folder / "broken" / "half.cu"
    broken.parent.mkdir()
    text = good.device.read_text()
    assert WAIT in text
    broken.write_text(text.replace(WAIT, ""))
    result = Pair(good.host, broken).judged(4)
    assert not result.passed
    assert any(m.finding.kind == "missing_wait" for m in result.findings), describe(result)


class Careless(RulesProposer):
    """Forgets to wait for the data."""

    def propose(self, context: ProposalContext) -> Proposal | None:
        made = super().propose(context)
        if made is None:
            return None
        assert WAIT in made.text
        return replace(made, text=made.text.replace(WAIT, ""))


def test_a_failure_is_diagnosed(pair, folder: Path) -> None:
    host = pair("bytes", Api.GIN).host
    workload = Workload.from_program(host, args=("{seed}",), ranks=2, seeds=1)
    analysis = CUDAAnalyzer(host).analyze()
    transformer = HostToDeviceTransformer(TransformConfig(two_stage=False, nvcc=False))
    transformer.proposer = Careless(plain=False)
    (stage,) = transformer.transform(Task(host.read_text(), analysis, workload), Api.GIN)
    assert not stage.passed and stage.attempts == 2
    assert re.match(r"kernel \w+, line \d+: ", stage.diagnosis), stage.diagnosis


def test_the_whole_pipeline(folder: Path, tmp_path: Path) -> None:
    program = folder / "whole.cu"
    program.write_text(CASES)
    workload = Workload.from_program(program, args=("{seed}",), ranks=2, seeds=2)
    config = TransformConfig(api_type="gin", nvcc=False)
    result = PreTransformPipeline(config).run(workload, tmp_path / "out")
    assert result.verified, result.steps
    assert [stage.passed for stage in result.stages] == [True, True]
    assert result.evaluation is not None
    # Two seeds on three networks, and one of them in modelled time.
    assert len(result.evaluation.runs) == 7
