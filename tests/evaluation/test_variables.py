"""A program's environment: what it is given, and nothing that others would read."""

from pathlib import Path

import pytest

from warploom.cli.run_options import parse_variables
from warploom.core.errors import BadInputError, WorkloadError
from warploom.core.records import Verdict
from warploom.evaluation.check import check
from warploom.evaluation.runs.plan import Effort
from warploom.workload.workload import Workload

PROGRAM = """
#include <cuda_runtime.h>
#include <cstdlib>
#include <cstring>
#include <mpi.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  cudaFree(nullptr);
  const char *wants = getenv("APP_WANTS"), *home = getenv("SECRET_OF_OURS");
  MPI_Finalize();
  return wants && !strcmp(wants, "a=b c") && getenv("RANK") && !home ? 0 : 1;
}
"""
REFUSED = [
    "LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "WARPLOOM_CACHE", "GLIBC_TUNABLES",
    "MALLOC_PERTURB_", "GCONV_PATH", "LOCPATH", "RANK", "OMPI_COMM_WORLD_RANK",
    "PMI_SIZE", "A=B", "1ST", "",
]  # fmt: skip
TAKEN = ["MPICH_RDMA_ENABLED_CUDA", "OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES", "NCCL_DEBUG", "LDX"]


def test_the_program_gets_it_and_none_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_OURS", "1")
    program = tmp_path / "asks.cu"
    program.write_text(PROGRAM)
    given = {"APP_WANTS": "a=b c"}
    assert check(program, ranks=2, effort=Effort.QUICK, env=given).verdict is Verdict.OK
    assert check(program, ranks=2, effort=Effort.QUICK).verdict is Verdict.FAILED


@pytest.mark.parametrize("name", REFUSED)
def test_what_others_would_read_is_refused(tmp_path: Path, name: str) -> None:
    program = tmp_path / "asks.cu"
    program.write_text(PROGRAM)
    with pytest.raises(BadInputError, match="env must"):
        Workload.from_program(program).with_overrides(env={name: "1"})


@pytest.mark.parametrize("name", TAKEN)
def test_what_programs_ask_for_is_taken(tmp_path: Path, name: str) -> None:
    program = tmp_path / "asks.cu"
    program.write_text(PROGRAM)
    assert Workload.from_program(program).with_overrides(env={name: ""}).env == {name: ""}


def test_a_workload_may_say_it(tmp_path: Path) -> None:
    (tmp_path / "asks.cu").write_text(PROGRAM)
    file = tmp_path / "workload.toml"
    file.write_text('program = "asks.cu"\n[env]\nAPP_WANTS = "a=b c"\n')
    workload = Workload.from_file(file)
    assert workload.env == {"APP_WANTS": "a=b c"}
    assert workload.with_overrides(env={"B": "2"}).env == {"APP_WANTS": "a=b c", "B": "2"}
    file.write_text('program = "asks.cu"\n[env]\nLD_PRELOAD = "x.so"\n')
    with pytest.raises(WorkloadError, match="LD_PRELOAD") as caught:
        Workload.from_file(file)
    assert caught.value.line == 2


def test_the_option_needs_a_name_and_a_value() -> None:
    assert parse_variables(["A=1", "B=", "C=x=y"]) == {"A": "1", "B": "", "C": "x=y"}
    for wrong in ("A", "=1", ""):
        with pytest.raises(BadInputError, match="--env must be NAME=VALUE"):
            parse_variables([wrong])
