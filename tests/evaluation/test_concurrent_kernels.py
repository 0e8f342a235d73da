"""Kernels that must run at once: a warning of `check`, an error where only a candidate needs it."""

from pathlib import Path

import pytest

from warploom.core.records import Severity
from warploom.evaluation.cascade import evaluate
from warploom.evaluation.check import check
from warploom.evaluation.check_report import CheckReport
from warploom.evaluation.records import Evaluation
from warploom.evaluation.runs.plan import Effort
from warploom.source.regions import Program
from warploom.workload.workload import Workload

KIND = "concurrent_kernels"
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
HOLD = """\
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
__global__ void hold(volatile int* flag, int* out, int seed) {
  while (*flag == 0) {
  }
  *out = seed;
}
__device__ int variable[4];
int main(int argc, char** argv) {
  int seed = atoi(argv[1]), got = 0, *flag, *out, *from, *to, *managed, host[4] = {};
  cudaStream_t one, two;
  cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking);
  cudaMallocHost(&flag, 4);
  cudaMalloc(&out, 4);
  cudaMalloc(&from, 16);
  cudaMalloc(&to, 16);
  cudaMallocManaged(&managed, 16);
  cudaMemset(from, 0, 16);
  cudaDeviceSynchronize();
  *flag = 0;
  hold<<<1, 1, 0, one>>>(flag, out, seed);
  COPY
  cudaStreamSynchronize(two);
  *(volatile int*)flag = 1;
  cudaDeviceSynchronize();
  cudaMemcpy(&got, out, 4, cudaMemcpyDeviceToHost);
  printf("%d\\n", got);
  cudaFree(out);
  cudaFree(from);
  cudaFree(to);
  cudaFree(managed);
  cudaFreeHost(flag);
  cudaStreamDestroy(one);
  cudaStreamDestroy(two);
  return got != seed;
}
"""
ON_DEVICE = {
    "plain": "cudaMemcpyAsync(to, from, 16, cudaMemcpyDeviceToDevice, two);",
    "by its addresses": "cudaMemcpyAsync(to, from, 16, cudaMemcpyDefault, two);",
    "rows": "cudaMemcpy2DAsync(to, 8, from, 8, 4, 2, cudaMemcpyDeviceToDevice, two);",
    "peers": "cudaMemcpyPeerAsync(to, 0, from, 0, 16, two);",
    "a volume": "cudaMemcpy3DParms p{}; p.srcPtr = make_cudaPitchedPtr(from, 8, 8, 2);"
    " p.dstPtr = make_cudaPitchedPtr(to, 8, 8, 2); p.extent = make_cudaExtent(8, 2, 1);"
    " p.kind = cudaMemcpyDeviceToDevice; cudaMemcpy3DAsync(&p, two);",
    "a variable": "cudaMemcpyToSymbolAsync(variable, from, 16, 0, cudaMemcpyDeviceToDevice, two);",
    "managed": "cudaMemcpyAsync(managed, from, 16, cudaMemcpyDefault, two);",
    "a graph": "cudaStreamBeginCapture(two, cudaStreamCaptureModeRelaxed);"
    " cudaMemcpyAsync(to, from, 16, cudaMemcpyDeviceToDevice, two); cudaGraph_t graph;"
    " cudaStreamEndCapture(two, &graph); cudaGraphExec_t exec;"
    " cudaGraphInstantiate(&exec, graph, nullptr, nullptr, 0); cudaGraphLaunch(exec, two);",
}
BY_ENGINES = {
    "upload": "cudaMemcpyAsync(to, host, 16, cudaMemcpyHostToDevice, two);",
    "download": "cudaMemcpyAsync(host, from, 16, cudaMemcpyDeviceToHost, two);",
    "pinned": "cudaMemcpyAsync(to, flag, 4, cudaMemcpyDefault, two);",
}
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


@pytest.mark.parametrize("how", ON_DEVICE)
def test_a_copy_within_a_device_may_be_a_kernel(tmp_path: Path, how: str):
    path = tmp_path / "held.cu"
    path.write_text(HOLD.replace("COPY", ON_DEVICE[how]))
    assert (KIND, Severity.WARNING) in checked(path)


@pytest.mark.parametrize("how", BY_ENGINES)
def test_copy_engines_work_beside_kernels(tmp_path: Path, how: str):
    path = tmp_path / "held.cu"
    path.write_text(HOLD.replace("COPY", BY_ENGINES[how]))
    told = checked(path)
    assert KIND not in dict(told) and Severity.ERROR not in dict(told).values()


def test_a_candidate_may_not_need_it(tmp_path: Path):
    outcome = judged(program(tmp_path, FINE["one stream"]), AT_ONCE)
    assert not outcome.passed
    assert KIND in {kind for kind, severity in found(outcome) if severity is Severity.ERROR}


def test_a_candidate_may_need_what_the_trusted_program_needs(tmp_path: Path):
    outcome = judged(program(tmp_path, AT_ONCE), AT_ONCE)
    assert outcome.passed
    assert (KIND, Severity.WARNING) in found(outcome)
