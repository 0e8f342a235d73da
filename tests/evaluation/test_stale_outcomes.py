"""Stale reads that matter for some runs only, behind harmless ones, and on two devices."""

from pathlib import Path

import pytest

from warploom.core.records import BuildSpec, Limits, RunSpec, Severity, Timing
from warploom.emulator import EmulatorRun, RunOptions, build, run
from warploom.evaluation.check import check
from warploom.evaluation.runs.plan import Effort
from warploom.evaluation.runs.stale_reads import judge_stale_reads

HIDDEN = """\
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
__device__ void wait_for(volatile int* p) {
  while (*p == 0) {
  }
}
__global__ void hand_over(volatile int* box, int* out, bool fenced) {
  if (blockIdx.x == 0) {
    box[0] = 42;
    for (int i = 1; i < 16; i++) box[i * 4] = 7;
    if (fenced) __threadfence();
    HINT
    box[80] = 1;
  } else {
    wait_for(box + 80);
    if (fenced) __threadfence();
    READ
  }
}
int main(int, char** argv) {
  int *box, *out, got = 0;
  cudaMalloc(&box, 1024);
  cudaMalloc(&out, 4);
  cudaMemset(box, 0, 1024);
  hand_over<<<2, 1>>>(box, out, std::atoi(argv[1]) % 2);
  cudaMemcpy(&got, out, 4, cudaMemcpyDeviceToHost);
  AFTER
  std::printf("%d\\n", got);
}
"""
HINT = "box[72] = 7;"
DECOYS = "".join(f"\n    int d{i} = box[{i * 4}];" for i in range(1, 11))
ANY_STALE = " || ".join(f"d{i} == 0" for i in range(1, 11))
# The statements that stand for HINT, READ and AFTER.
FORMS = {
    "a hint that every run throws away": (
        HINT, "if (box[72] == 5) *out = 1;\n    *out = box[0];  // BAD", ""
    ),
    "the same place in every run": (
        HINT, "int got = box[fenced ? 72 : 0];  // BAD\n    *out = fenced ? 42 : got;", ""
    ),
    "more places that undo each other": (
        "", DECOYS + f"\n    int got = box[0];  // BAD\n    *out = {ANY_STALE} ? 42 : got;", ""
    ),
    "no end": ("", "*out = box[0];  // BAD", "while (got != 42) std::atoi(argv[1]);"),
}  # fmt: skip
DEVICES = """\
#include <cuda_runtime.h>
#include <cstdio>
__device__ int g_data;
__device__ volatile int g_flag, g_more[64];
__global__ void hand_over(int* out, bool fenced) {
  if (blockIdx.x == 0) {
    *(volatile int*)&g_data = 42;
    if (fenced) __threadfence();
    g_flag = 1;
  } else {
    while (g_flag == 0) {
    }
    if (fenced) __threadfence();
    *out = *(volatile int*)&g_data;  // BAD
  }
}
__global__ void by_a_block(int* out) {
  if (blockIdx.x == 0) {
    g_more[threadIdx.x] = threadIdx.x + 1;
    __syncthreads();
    if (threadIdx.x == 0) g_flag = 1;
  } else {
    if (threadIdx.x == 0) {
      while (g_flag == 0) {
      }
    }
    __syncthreads();
    out[threadIdx.x] = g_more[threadIdx.x];  // BY_A_BLOCK
  }
}
int main() {
  for (int d = 0; d < 2; d++) {
    int *out, got[64];
    cudaSetDevice(d);
    cudaMalloc(&out, sizeof got);
    cudaMemset(out, 0, sizeof got);
    LAUNCH
    cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost);
    std::printf("%d %d\\n", got[0], got[9]);
  }
}
"""
KNOWN = "int known = 42; cudaMemcpyToSymbol(g_data, &known, 4);"


def line_of(text: str, mark: str) -> int:
    return next(n for n, line in enumerate(text.splitlines(), 1) if line.endswith(f"// {mark}"))


def accused(outcome: EmulatorRun) -> list[tuple[str, int | None]]:
    return [(f.kind, f.line) for f in outcome.findings if f.severity is Severity.ERROR]


@pytest.mark.parametrize("form", FORMS)
def test_each_outcome_is_tried_where_right_and_wrong_are_known(tmp_path: Path, form: str) -> None:
    text = HIDDEN
    for name, statement in zip(("HINT", "READ", "AFTER"), FORMS[form], strict=True):
        text = text.replace(name, statement)
    path = tmp_path / "program.cu"
    path.write_text(text)
    built = build(BuildSpec(path))
    specs = [RunSpec(3, timing) for timing in (Timing.EAGER, Timing.LAZY, Timing.RANDOM)]
    outcomes = [
        run(built, RunOptions(spec, 1, args=(seed,), limits=Limits(seconds=4)))
        for seed in ("3", "5", "8")
        for spec in specs
    ]
    assert [outcome.stdout for outcome in outcomes] == ["42\n"] * len(outcomes)
    judged = judge_stale_reads(built, outcomes, lambda outcome: outcome.stdout != "42\n")
    bad = ("stale_read", line_of(text, "BAD"))
    assert any(bad in accused(outcome) for outcome in judged)
    assert {found for outcome in judged for found in accused(outcome)} == {bad}


@pytest.mark.parametrize(
    ("launch", "mark"),
    [
        ("hand_over<<<2, 1>>>(out, false);", "BAD"),
        ("hand_over<<<2, 1>>>(out, d == 0);", "BAD"),
        ("by_a_block<<<2, 40>>>(out);", "BY_A_BLOCK"),
        ("hand_over<<<2, 1>>>(out, true);", ""),
        (KNOWN + " hand_over<<<2, 1>>>(out, false);", ""),  # the older value is as good
    ],
)
def test_each_device_has_variables_of_its_own(tmp_path: Path, launch: str, mark: str) -> None:
    text = DEVICES.replace("LAUNCH", launch)
    path = tmp_path / "program.cu"
    path.write_text(text)
    report = check(path, ranks=2, effort=Effort.QUICK)
    found = [i.finding for i in report.findings if i.finding.severity is Severity.ERROR]
    expected = [("stale_read", line_of(text, mark))] if mark else []
    assert [(finding.kind, finding.line) for finding in found] == expected
