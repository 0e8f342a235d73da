"""Programs by the way in which their ranks come to be, transformed and judged by the emulator."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from warploom.core.records import Api, Timing
from warploom.evaluation import Evaluation, Workload, evaluate
from warploom.propose import ProposalContext, Stage
from warploom.propose.rules import RulesProposer
from warploom.source import CUDAAnalyzer
from warploom.transform.trials import describe

PROGRAMS = Path(__file__).parent / "programs"
STYLES = {
    "init_all": "init_all",
    "grouped_ranks": "single_process",
    "threads": "threads",
    "mpi_devices": "mpi_multi_device",
    "grid": "mpi",
    "classes": "file",
    "pooled": "mpi",
    "graphs": "mpi",
    "scaled": "mpi",
    "templated": "mpi",
    "carved": "mpi",
    "windows": "mpi",
}


@cache
def device_text(name: str, api: Api, stage: Stage = Stage.DEVICE) -> str:
    """The program of that name as the rules transform it."""
    host = PROGRAMS / f"{name}.cu"
    context = ProposalContext(host.read_text(), CUDAAnalyzer(host).analyze(), api, stage)
    proposal = RulesProposer().propose(context)
    assert proposal is not None
    return proposal.text


@pytest.fixture
def judged(tmp_path: Path) -> Callable[..., Evaluation]:
    """Returns what is said of a text in place of a program, by the seed `{seed}`."""

    def judge(name: str, text: str, ranks: int, timing: Timing) -> Evaluation:
        candidate = tmp_path / f"{name}.cu"
        candidate.write_text(text)
        workload = Workload.from_program(
            PROGRAMS / f"{name}.cu", args=("{seed}",), ranks=ranks, seeds=1
        )
        if name == "mpi_devices":
            workload = workload.with_overrides(processes=2)
        return evaluate(candidate, workload, nvcc=False, timings=(timing,))

    return judge


def require(result: Evaluation) -> None:
    assert result.verified, describe(result)
    assert result.comparisons
    assert all(c.passed and c.max_error == 0 for c in result.comparisons)


@pytest.mark.parametrize("name", STYLES)
def test_the_style_is_known(name: str) -> None:
    assert CUDAAnalyzer(PROGRAMS / f"{name}.cu").analyze().setup.style == STYLES[name]


# Each program with one API: docs/compatibility.md has all of them, with both.
@pytest.mark.parametrize(
    ("name", "api", "timing"),
    [
        ("init_all", Api.GIN, Timing.LAZY),
        ("grouped_ranks", Api.LSA, Timing.LAZY),
        pytest.param("threads", Api.GIN, Timing.RANDOM, marks=pytest.mark.long),
        ("mpi_devices", Api.LSA, Timing.RANDOM),
        ("grid", Api.GIN, Timing.LAZY),
        pytest.param("classes", Api.LSA, Timing.LAZY, marks=pytest.mark.long),
        pytest.param("pooled", Api.GIN, Timing.LAZY, marks=pytest.mark.long),
        ("graphs", Api.LSA, Timing.LAZY),
        pytest.param("scaled", Api.GIN, Timing.LAZY, marks=pytest.mark.long),
        ("templated", Api.GIN, Timing.RANDOM),
        pytest.param("carved", Api.LSA, Timing.LAZY, marks=pytest.mark.long),
        pytest.param("windows", Api.LSA, Timing.RANDOM, marks=pytest.mark.long),
    ],
)
def test_the_style_is_verified(name: str, api: Api, timing: Timing, judged) -> None:
    require(judged(name, device_text(name, api), 4, timing))


@pytest.mark.long
@pytest.mark.parametrize("name", STYLES)
@pytest.mark.parametrize("api", list(Api))
def test_the_style_is_verified_with_two_ranks(name: str, api: Api, judged) -> None:
    require(judged(name, device_text(name, api), 2, Timing.LAZY))


def test_the_style_keeps_its_host_collectives_in_stage_a(judged) -> None:
    text = device_text("grouped_ranks", Api.GIN, Stage.WINDOWS)
    assert "NCCLCHECK(ncclAlltoAll(" in text
    require(judged("grouped_ranks", text, 2, Timing.LAZY))


OPENING = "  NCCLCHECK(device_comm::openWindows());\n"
STEP = "  DEVICE_COMM_NCCL(forEach(all, step));\n"
START = "  if (all.size() > 1) DEVICE_COMM_NCCL(ncclGroupStart());\n"
END = "  if (all.size() > 1) DEVICE_COMM_NCCL(accepted(ncclGroupEnd()));\n"

# What would be wrong on GPUs: the judge must see it.
WRONG = {
    # The one thread waits for devices whose windows it would open next.
    "one device after the other": (
        "openSessions(madeWith(s))",
        "openSessions(Sessions(1, &s))",
        "deadlock",
    ),
    "no group around the set-up": (START + STEP + END, STEP, "deadlock"),
    # Set-up and kernels go to the device that is current.
    "the wrong device": (
        "    if (before_ != device) ok_ = cudaSetDevice(device) == cudaSuccess;\n",
        "",
        "window_memory",
    ),
}


@pytest.mark.parametrize("case", WRONG, ids=lambda c: c.replace(" ", "_"))
def test_the_judge_sees_wrong_set_up(case: str, judged) -> None:
    old, new, kind = WRONG[case]
    text = device_text("init_all", Api.GIN)
    assert old in text
    assert OPENING in text
    result = judged("init_all", text.replace(old, new).replace(OPENING, ""), 2, Timing.LAZY)
    assert not result.passed
    assert any(m.finding.kind == kind for m in result.findings), describe(result)
