"""What MPI promises to nobody is named with its line; a candidate may need it only with cause."""

from functools import cache
from pathlib import Path

import pytest

from warploom.core.records import BuildSpec, Finding, RunSpec, Severity, Timing
from warploom.emulator import RunOptions, build, run
from warploom.evaluation.cascade import evaluate
from warploom.evaluation.records import Evaluation
from warploom.source.regions import Program
from warploom.workload.workload import Workload

PROGRAM = Path(__file__).with_name("programs") / "mpi_unpromised.cu"
WAYS = ("SEND", "SCAN", "GATHER", "BCASTS", "TAG")
RESULT = """\
#include <cuda_runtime.h>
#include <mpi.h>
#include <cstdio>
#include <cstdlib>
__global__ void change(int* value, int rank) { *value = 3 * *value + rank; }
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, value = atoi(argv[1]), got = 0, *on_device;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  cudaSetDevice(rank);
  cudaMalloc(&on_device, 4);
  cudaMemcpy(on_device, &value, 4, cudaMemcpyHostToDevice);
  change<<<1, 1>>>(on_device, rank);
  cudaMemcpy(&value, on_device, 4, cudaMemcpyDeviceToHost);
  EXCHANGE
  cudaMemcpy(on_device, &got, 4, cudaMemcpyHostToDevice);
  change<<<1, 1>>>(on_device, rank);
  cudaMemcpy(&value, on_device, 4, cudaMemcpyDeviceToHost);
  printf("%d\\n", value);
  cudaFree(on_device);
  END
  return 0;
}
"""
APART = (
    "MPI_Sendrecv(&value, 1, MPI_INT, 1 - rank, 0, &got, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD,"
    " MPI_STATUS_IGNORE);"
)
BUFFERED = (
    "MPI_Send(&value, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD); MPI_Recv(&got, 1, MPI_INT,"
    " 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);"
)
END = "MPI_Finalize();"


@cache
def told(*macros: str) -> tuple[Finding, ...]:
    program = build(BuildSpec(PROGRAM, defines=dict.fromkeys(macros, "1")))
    done = run(program, RunOptions(ranks=2, run=RunSpec(0, Timing.LAZY)))
    assert done.state == "finished", done.findings
    return done.findings


def line_of(mark: str, macro: str) -> int:
    lines = PROGRAM.read_text().splitlines()
    at = next((n for n, line in enumerate(lines) if f"defined({macro})" in line), 0)
    return next(n for n, line in enumerate(lines[at:], at + 1) if line.endswith(f"// {mark}"))


@pytest.mark.parametrize("macro", WAYS)
def test_what_is_not_promised_is_named(macro: str) -> None:
    found = [f for f in told(macro) if f.kind == "mpi_unpromised"]
    assert {f.severity for f in found} == {Severity.WARNING}
    assert {f.line for f in found} == {line_of("EXPECT", macro)}


def test_a_process_that_does_not_finalize_is_named() -> None:
    program = build(BuildSpec(PROGRAM, defines={"ENDS": "1"}))
    done = run(program, RunOptions(ranks=2, run=RunSpec(0, Timing.LAZY)))
    found = [f for f in done.findings if f.kind == "mpi_not_finalized"]
    assert [(f.line, f.severity) for f in found] == [(line_of("END", ""), Severity.WARNING)]


@pytest.mark.parametrize("timing", Timing)
def test_what_is_promised_is_right(timing: Timing) -> None:
    program = build(BuildSpec(PROGRAM))
    done = run(program, RunOptions(ranks=2, run=RunSpec(1, timing)))
    assert (done.state, done.findings) == ("finished", ())


def judged(folder: Path, trusted: tuple[str, str], candidate: tuple[str, str]) -> Evaluation:
    def text(exchange: str, end: str) -> str:
        return RESULT.replace("EXCHANGE", exchange).replace("END", end)

    path = folder / "trusted.cu"
    path.write_text(text(*trusted))
    task = Workload.from_program(path, ranks=2, args=["{seed}"], seeds=1)
    return evaluate(Program(text(*candidate), Path("candidate.cu")), task, nvcc=False)


@pytest.mark.parametrize(
    ("kind", "candidate"),
    [("mpi_unpromised", (BUFFERED, END)), ("mpi_not_finalized", (APART, ""))],
)
def test_a_candidate_needs_it_only_with_the_trusted_program(
    tmp_path: Path, kind: str, candidate: tuple[str, str]
) -> None:
    outcome = judged(tmp_path, (APART, END), candidate)
    assert not outcome.passed
    assert kind in {
        f.finding.kind for f in outcome.findings if f.finding.severity is Severity.ERROR
    }
    assert judged(tmp_path, candidate, candidate).passed
