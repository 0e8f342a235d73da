"""Outputs that vary by nature are left out by name, and nobody forgets to say so."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from warploom.cli.eval_command import print_evaluation
from warploom.core.errors import BadInputError, WorkloadError
from warploom.core.records import Severity, Timing
from warploom.evaluation.cascade import evaluate
from warploom.evaluation.records import Evaluation
from warploom.workload.outputs import Output
from warploom.workload.workload import Workload

PROGRAM = """\
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
__managed__ long long ticks;
__global__ void work(float* out, long long* d_clock, int seed) {
  out[threadIdx.x] = seed % 100 + 3.0f * threadIdx.x;
  if (threadIdx.x == 0) *d_clock = 5, ticks = 7;
}
int main(int argc, char** argv) {
  float *out, got[32];
  long long *d_clock, when;
  cudaMalloc(&out, sizeof got);
  cudaMalloc(&d_clock, sizeof when);
  work<<<1, 32>>>(out, d_clock, argc > 1 ? atoi(argv[1]) : 1);
  cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost);
  cudaMemcpy(&when, d_clock, sizeof when, cudaMemcpyDeviceToHost);
  printf("%f %lld %lld\\n", got[3], when, ticks);
}
"""
OTHER = PROGRAM.replace("*d_clock = 5, ticks = 7", "*d_clock = 6, ticks = 8")
Judge = Callable[..., Evaluation]


@pytest.fixture
def judge(tmp_path: Path) -> Judge:
    """Judge a candidate by the program, with something left out."""

    def judge(candidate: str, left_out: tuple[str, ...] = (), **more: object) -> Evaluation:
        path, other = tmp_path / "trusted.cu", tmp_path / "candidate.cu"
        path.write_text(PROGRAM)
        other.write_text(candidate)
        task = Workload.from_program(path, ranks=1, args=("{seed}",), seeds=2)
        task = replace(task, **more).with_overrides(leave_out=left_out)
        return evaluate(other, task, nvcc=False, timings=[Timing.EAGER])

    return judge


def errors(result: Evaluation) -> list[str]:
    return [str(i.finding) for i in result.findings if i.finding.severity is Severity.ERROR]


def test_what_is_left_out_is_not_compared_and_told(
    judge: Judge, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not judge(OTHER).passed
    result = judge(OTHER, ("d_clock", " ticks "))
    assert result.passed, errors(result)
    assert [item.buffer for item in result.comparisons] == ["out"]
    assert result.to_json()["left_out"] == ["d_clock", "ticks"]
    print_evaluation(result)
    assert "left out: d_clock, ticks, not compared" in capsys.readouterr().out


@pytest.mark.parametrize("left", ["d_clock", "ticks"])
def test_the_rest_is_still_compared(judge: Judge, left: str) -> None:
    assert len(errors(judge(OTHER, (left,)))) == 1


def test_other_results_stay_outputs(judge: Judge) -> None:
    wrong = OTHER.replace("3.0f *", "2.0f *")
    found = errors(judge(wrong, ("d_clock", "ticks")))
    assert found and all("of out differs" in text for text in found), found


@pytest.mark.parametrize(("name", "near"), [("d_clok", "d_clock"), ("tick", "ticks")])
def test_unknown_names_are_refused_with_the_nearest(judge: Judge, name: str, near: str) -> None:
    with pytest.raises(BadInputError, match=name) as caught:
        judge(OTHER, (name,))
    assert f"did you mean {near!r}" in caught.value.hint


def test_something_must_be_left(judge: Judge) -> None:
    with pytest.raises(BadInputError, match="but of what is left out"):
        judge(OTHER, ("d_clock", "ticks", "out"))


def test_a_workload_names_them(tmp_path: Path) -> None:
    (tmp_path / "program.cu").write_text(PROGRAM)
    file = tmp_path / "workload.toml"
    file.write_text('program = "program.cu"\nleave_out = ["d_clock", "ctx [0]"]\n')
    workload = Workload.from_file(file)
    assert workload.leave_out == ("d_clock", "ctx[0]")
    assert workload.with_overrides(leave_out=["a", "d_clock"]).leave_out == (
        "d_clock", "ctx[0]", "a",
    )  # fmt: skip
    file.write_text(file.read_text() + '[[outputs]]\nbuffer = "d_clock"\ndtype = "float32"\n')
    with pytest.raises(WorkloadError, match="both name 'd_clock'") as caught:
        Workload.from_file(file)
    assert caught.value.line == 2
    with pytest.raises(BadInputError, match="both name"):
        replace(workload, outputs=(Output.with_defaults("d_clock", "float32"),))
