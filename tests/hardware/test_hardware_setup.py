"""The machine is looked at once for an evaluation; each program has the network that it wants."""

from pathlib import Path

import pytest

from warploom.evaluation import evaluate
from warploom.hardware import setup as setups
from warploom.hardware.setup import connect, find_setup
from warploom.toolchain.gpu import Gpu, parse_gpus
from warploom.toolchain.mpi import Mpi
from warploom.toolchain.nccl import NcclHeaders
from warploom.workload.workload import Workload

OPENMPI = Mpi(Path("/opt/mpi/bin/mpirun"), "openmpi", (), ())
PLUGIN = Path("/cache/network.so")
HOST_DRIVEN = """\
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  cudaSetDevice(0);
  // EVOLVE-BLOCK-START
  ncclGroupStart();
  ncclGroupEnd();
  // EVOLVE-BLOCK-END
  return MPI_Finalize();
}
"""


@pytest.fixture
def searches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Give this machine two GPUs, an NCCL and an MPI; return what is looked for, as it happens."""
    (tmp_path / "nccl" / "include").mkdir(parents=True)
    (tmp_path / "nccl" / "lib").mkdir()
    (tmp_path / "nccl" / "lib" / "libnccl.so.2").write_bytes(b"")
    headers = NcclHeaders("2.32.3", tmp_path / "nccl" / "include", "test")
    said: list[str] = []

    def gpus() -> tuple[Gpu, ...]:
        said.append("gpus")
        return parse_gpus("0, H200, 9.0, 1 MiB, 580.1\n1, H200, 9.0, 1 MiB, 580.1\n")

    def get_nccl(_version: str | None) -> NcclHeaders:
        said.append("nccl")
        return headers

    def network() -> Path:
        said.append("network")
        return PLUGIN

    monkeypatch.setattr(setups, "require_gpus", gpus)
    monkeypatch.setattr(setups, "get_nccl", get_nccl)
    monkeypatch.setattr(setups, "find_mpi", lambda: OPENMPI)
    monkeypatch.setattr(setups, "has_card", lambda: False)
    monkeypatch.setattr(setups, "build_network", network)
    return said


def test_a_candidate_alone_wants_the_network_and_nothing_else_is_looked_for_again(
    tmp_path: Path, searches: list[str]
) -> None:
    trusted, candidate = tmp_path / "trusted.cu", tmp_path / "candidate.cu"
    trusted.write_text(HOST_DRIVEN)
    candidate.write_text(HOST_DRIVEN.replace("ncclGroupStart()", "ncclPutSignal()"))
    told = evaluate(candidate, Workload.from_program(trusted, ranks=2), level=0, backend="cuda")
    assert told.passed, told.findings
    assert told.own_network and told.nccl == "2.32.3" and len(told.devices) == 2
    assert searches == ["gpus", "nccl", "network"]


def test_a_candidate_that_sends_nothing_over_it_runs_without_the_network(
    tmp_path: Path, searches: list[str]
) -> None:
    trusted, candidate = tmp_path / "trusted.cu", tmp_path / "candidate.cu"
    trusted.write_text(HOST_DRIVEN.replace("ncclGroupStart()", "ncclPutSignal()"))
    candidate.write_text(HOST_DRIVEN)
    told = evaluate(candidate, Workload.from_program(trusted, ranks=2), level=0, backend="cuda")
    assert told.passed, told.findings
    assert not told.own_network
    assert searches == ["gpus", "nccl", "network"]  # the trusted program's


def test_a_machine_with_a_card_needs_no_network_of_ours(
    searches: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    setup = find_setup(2, "per_rank", uses_mpi=True, wants_network=True, nccl=None)
    assert setup.network == PLUGIN
    assert connect(setup, wants_network=False).network is None
    monkeypatch.setattr(setups, "has_card", lambda: True)
    assert connect(setup, wants_network=True).network is None
    assert searches == ["gpus", "nccl", "network"]
