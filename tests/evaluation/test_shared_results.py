"""Results that a program leaves in memory which both sides see: no copy brings them to the host."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from reduced_program import INCLUDES, KERNEL, MAIN

from warploom.core.records import Severity, Timing
from warploom.evaluation.cascade import evaluate
from warploom.evaluation.check import check
from warploom.evaluation.records import Evaluation
from warploom.workload.outputs import Output
from warploom.workload.workload import Workload

KEPT = """\
__managed__ float kept[2 * kCount];
static float* take(int n) {
  float* both;
  cudaMallocManaged(&both, n * sizeof(float));
  return both;
}
"""
ALLOCATIONS = {
    "managed": "cudaMallocManaged(&out[d], kCount * sizeof(float));",
    "mapped": "cudaHostAlloc((void**)&out[d], kCount * sizeof(float),\n"
    "                  cudaHostAllocMapped);",
    "pinned": "cudaMallocHost(&out[d], kCount * sizeof(float));",
    "variable": "out[d] = kept + d * kCount;",
    "helper": "out[d] = take(kCount);",
}
LOOP = "for (int i = 0; i < kCount; i++) total += out[d][i];"
READS = {
    "loop": LOOP,
    "memcpy": "float got[kCount]; std::memcpy(got, out[d], sizeof got); total += got[5];",
    "copy": "float got[kCount]; total += got[0] = 0;"
    " cudaMemcpy(got, out[d], sizeof got, cudaMemcpyDefault); total += got[5];",
    "call": "std::fwrite(out[d], sizeof(float), kCount, stderr);",
    "one": "total += out[d][5];",
}
WRONG = ("3 * sum", "2 * sum")

Judge = Callable[..., Evaluation]


def program(allocate: str = "managed", read: str = "loop") -> str:
    """Return the text of a program that keeps and reads its results in these ways."""
    main = MAIN.replace("ALLOCATE", ALLOCATIONS[allocate]).replace("READ", READS[read])
    return INCLUDES + KEPT + KERNEL + main


def unmarked(text: str) -> str:
    """Return the text without regions: candidates may change all of it."""
    return re.sub(r" *// EVOLVE-BLOCK.*\n", "", text)


@pytest.fixture
def judge(tmp_path: Path) -> Judge:
    """Judge a candidate by a reference, both given as text."""

    def judge(trusted: str, candidate: str, outputs: tuple[Output, ...] = ()) -> Evaluation:
        path, other = tmp_path / "trusted.cu", tmp_path / "candidate.cu"
        path.write_text(trusted)
        other.write_text(candidate)
        task = Workload.from_program(path, ranks=2, args=("{seed}",), seeds=2)
        task = replace(task, outputs=outputs)
        return evaluate(other, task, nvcc=False, timings=[Timing.EAGER])

    return judge


def kinds(result: Evaluation) -> list[str]:
    return [i.finding.kind for i in result.findings if i.finding.severity is Severity.ERROR]


def told(result: Evaluation) -> list[str]:
    return [str(item.finding) for item in result.findings]


@pytest.mark.parametrize("allocate", ALLOCATIONS)
def test_what_the_host_reads_in_place_is_compared(judge: Judge, allocate: str) -> None:
    text = program(allocate)
    result = judge(text, text)
    assert result.passed, told(result)
    [compared] = result.comparisons
    assert (compared.buffer, compared.dtype) == (
        "kept" if allocate == "variable" else "out",
        "float32",
    )
    result = judge(text, text.replace(*WRONG))
    assert set(kinds(result)) == {"wrong_result"}, told(result)


@pytest.mark.parametrize("read", READS)
def test_in_whatever_way_the_host_reads_it(judge: Judge, read: str) -> None:
    text = program(read=read)
    result = judge(text, text.replace(*WRONG))
    assert set(kinds(result)) == {"wrong_result"}, told(result)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("int i = 0; i < kCount; i++) total += out", "int i = kCount; i--;) total += out"),
        ("kCount * sizeof(float));\n    cudaMemcpy(", "8192);\n    cudaMemcpy("),
        ("total += out[d][i];", "total += out[d][i], total += 0 * out[d][i];"),
        (
            LOOP,
            "float* mine; cudaMallocHost(&mine, 256); finish<<<1, 64>>>(sum[d], mine);"
            " cudaDeviceSynchronize(); total += 0 * mine[3];" + LOOP,
        ),
        (LOOP, "cudaDeviceSynchronize(); " + LOOP + " out[d][0] = 1;"),
    ],
    ids=["order", "size", "twice", "scratch", "host"],
)
def test_other_ways_of_the_same_are_none(judge: Judge, before: str, after: str) -> None:
    text = unmarked(program())
    assert before in text
    result = judge(text, text.replace(before, after))
    assert result.passed, told(result)


def test_a_host_that_reads_less_is_told(judge: Judge) -> None:
    text = unmarked(program())
    result = judge(text, text.replace("i < kCount; i++) total", "i < kCount - 1; i++) total"))
    assert set(kinds(result)) == {"resized_result"}, told(result)
    result = judge(text, text.replace(LOOP, ""))
    assert set(kinds(result)) == {"missing_result"}, told(result)


def test_who_stores_them_on_the_host_has_no_results(judge: Judge) -> None:
    text = unmarked(program())
    stored = "for (int i = 0; i < kCount; i++) out[d][i] = out[d][i]; "
    result = judge(text, text.replace(LOOP, stored + LOOP))
    assert result.passed, told(result)  # it has read what the kernel stored
    host = "for (int i = 0; i < kCount; i++) out[d][i] = 1; "
    result = judge(text, text.replace(LOOP, host + LOOP))
    assert set(kinds(result)) == {"missing_result"}, told(result)


def test_each_value_that_the_host_takes_is_one(judge: Judge) -> None:
    again = " finish<<<1, kCount, 0, streams[d]>>>(out[d], out[d]); cudaDeviceSynchronize(); "
    text = program().replace(LOOP, LOOP + again + LOOP)
    once = judge(program(), program()).comparisons[0].compared
    assert judge(text, text).comparisons[0].compared == 2 * once
    wrong = text.replace("  out[threadIdx.x] = 3", "  out[threadIdx.x] = sum == out ? 0 : 3")
    result = judge(text, wrong)
    assert "value 2 that the host reads in out" in " ".join(told(result))


def test_a_declared_output_is_found_and_others_are_left_out(judge: Judge) -> None:
    text = program()
    result = judge(text, text, (Output.with_defaults("out", "float32"),))
    assert [item.buffer for item in result.comparisons] == ["out"]


FLAG = """\
#include <cuda_runtime.h>
#include <cstdio>
__global__ void work(volatile int* flag, float* out, int seed) {
  out[threadIdx.x] = seed + threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence_system();
    for (int i = 1; i <= 5; i++) *flag = i;
  }
}
int main(int argc, char**) {
  volatile int* flag;
  float *out, got[32];
  cudaMallocHost((void**)&flag, sizeof(int));
  cudaMalloc(&out, sizeof got);
  *flag = 0;
  work<<<1, 32>>>(flag, out, argc);
  while (*flag < 5) {}
  cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost);
}
"""


def test_a_flag_that_is_polled_is_no_result(judge: Judge) -> None:
    result = judge(FLAG, FLAG)
    assert [item.buffer for item in result.comparisons] == ["out"]


@pytest.mark.parametrize("allocate", ["managed", "mapped", "variable"])
def test_no_readback_is_not_said_of_them(tmp_path: Path, allocate: str) -> None:
    path = tmp_path / "program.cu"
    path.write_text(program(allocate))
    report = check(Workload.from_program(path, ranks=2), effort="quick")
    assert "no_readback" not in {item.finding.kind for item in report.findings}
    lost = program(allocate).replace(ALLOCATIONS[allocate], "cudaMalloc(&out[d], 4 * kCount);")
    path.write_text(lost.replace(LOOP, ""))
    report = check(Workload.from_program(path, ranks=2), effort="quick")
    assert "no_readback" in {item.finding.kind for item in report.findings}
