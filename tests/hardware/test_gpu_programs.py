"""What only real GPUs show: calls that wait in the driver, and read-backs of several threads."""

import os
import shutil
from pathlib import Path

import pytest

from warploom import check
from warploom.core.records import Verdict
from warploom.toolchain import gpu
from warploom.workload.workload import Workload

PROGRAMS = Path(__file__).parent / "programs"
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(
        not gpu.find_gpus() or not shutil.which("nvcc") or not os.environ.get("WARPLOOM_NCCL_HOME"),
        reason="needs GPUs, nvcc, NCCL's library and an MPI, with WARPLOOM_NCCL_HOME set",
    ),
]


def test_our_network_goes_on_whatever_the_host_waits_for() -> None:
    workload = Workload.from_program(PROGRAMS / "blocked_calls.cu", ranks=2)
    report = check(workload, backend="cuda", tools=())
    assert report.verdict is Verdict.OK, report.output
    assert report.expected == "emulator"
    assert all(item.passed for item in report.comparisons)


@pytest.mark.skipif(len(gpu.find_gpus()) < 2, reason="needs two GPUs for one process")
@pytest.mark.parametrize("defines", [{}, {"OWN_DEVICE": ""}])
def test_read_backs_of_threads_are_told_apart(defines: dict[str, str]) -> None:
    workload = Workload.from_program(PROGRAMS / "threads.cu", ranks=2, defines=defines)
    report = check(workload, backend="cuda", tools=())
    assert report.verdict is Verdict.OK, report.output
    assert report.expected == "emulator"
    assert sum(item.compared for item in report.comparisons) == 3 * 2 * 3 * 5
    assert all(item.passed for item in report.comparisons)
