"""Kernels that must run at once: a warning of `check`, an error where only a candidate needs it."""

from pathlib import Path

import pytest

from warploom.core.records import Severity
from warploom.evaluation.cascade import evaluate
from warploom.evaluation.check import check
from warploom.evaluation.check_report import CheckReport
from warploom.evaluation.records import Evaluation
from warploom.evaluation.runs.concurrent_kernels import KIND
from warploom.evaluation.runs.plan import Effort
from warploom.source.regions import Program
from warploom.workload.workload import Workload

TEXT = """\
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
__global__ void produce(int* ready, int* data, int seed) {
  *data = 3 * seed;
  __threadfence();
  atomicExch(ready, 1);
}
__global__ void consume(int* ready, int* data, int* out) {
  while (atomicAdd(ready, 0) == 0) {
  }
  __threadfence();
  *out = *data + 1;
}
int main(int argc, char** argv) {
  int seed = atoi(argv[1]), got = 0;
  int *ready, *data, *out;
  cudaStream_t one, two;
  cudaEvent_t event;
  cudaEventCreate(&event);
  cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking);
  cudaMalloc(&ready, 4);
  cudaMalloc(&data, 4);
  cudaMalloc(&out, 4);
  cudaMemset(ready, 0, 4);
  cudaDeviceSynchronize();
  LAUNCHES
  cudaDeviceSynchronize();
  cudaMemcpy(&got, out, 4, cudaMemcpyDeviceToHost);
  printf("%d\\n", got);
  cudaFree(ready);
  cudaFree(data);
  cudaFree(out);
  return 0;
}
"""
PRODUCE = "produce<<<1, 1, 0, {0}>>>(ready, data, seed);"
CONSUME = "consume<<<1, 1, 0, {0}>>>(ready, data, out);"
AT_ONCE = CONSUME.format("one") + PRODUCE.format("two")
LATER_ON = (
    "cudaStreamBeginCapture(one, cudaStreamCaptureModeGlobal); cudaEventRecord(event, one);"
    " cudaStreamWaitEvent(two, event, 0); " + CONSUME.format("one") + PRODUCE.format("two") +
    " cudaEventRecord(event, two); cudaStreamWaitEvent(one, event, 0); cudaGraph_t graph;"
    " cudaStreamEndCapture(one, &graph); cudaGraphExec_t exec;"
    " cudaGraphInstantiate(&exec, graph, nullptr, nullptr, 0); cudaGraphLaunch(exec, one);"
)  # fmt: skip
FINE = {
    "one stream": PRODUCE.format("one") + CONSUME.format("one"),
    "two streams in order": PRODUCE.format("two") + CONSUME.format("one"),
    "an event": (
        PRODUCE.format("two") + "cudaEventRecord(event, two); cudaStreamWaitEvent(one, event, 0);"
        + CONSUME.format("one")
    ),
}  # fmt: skip


def program(tmp_path: Path, launches: str, name: str = "trusted.cu") -> Path:
    path = tmp_path / name
    path.write_text(TEXT.replace("LAUNCHES", launches))
    return path


def found(report: CheckReport | Evaluation) -> list[tuple[str, Severity]]:
    return [(item.finding.kind, item.finding.severity) for item in report.findings]


def checked(path: Path) -> list[tuple[str, Severity]]:
    return found(check(path, ranks=1, args=["3"], effort=Effort.QUICK))


def judged(trusted: Path, launches: str) -> Evaluation:
    task = Workload.from_program(trusted, ranks=1, args=["{seed}"], seeds=1)
    text = TEXT.replace("LAUNCHES", launches)
    return evaluate(Program(text, Path("candidate.cu")), task, nvcc=False)


@pytest.mark.parametrize("launches", [AT_ONCE, LATER_ON], ids=["streams", "graph"])
def test_check_warns(tmp_path: Path, launches: str):
    assert (KIND, Severity.WARNING) in checked(program(tmp_path, launches))


@pytest.mark.parametrize("name", FINE)
def test_what_needs_no_other_kernel_is_right(tmp_path: Path, name: str):
    told = checked(program(tmp_path, FINE[name]))
    assert KIND not in dict(told) and Severity.ERROR not in dict(told).values()


def test_a_candidate_may_not_need_it(tmp_path: Path):
    outcome = judged(program(tmp_path, FINE["one stream"]), AT_ONCE)
    assert not outcome.passed
    assert KIND in {kind for kind, severity in found(outcome) if severity is Severity.ERROR}


def test_a_candidate_may_need_what_the_trusted_program_needs(tmp_path: Path):
    outcome = judged(program(tmp_path, AT_ONCE), AT_ONCE)
    assert outcome.passed
    assert (KIND, Severity.WARNING) in found(outcome)
