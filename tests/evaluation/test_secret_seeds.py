"""Seeds that nobody can foresee, and evaluations that are repeated with them."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warploom.core.errors import BadInputError
from warploom.evaluation.cascade import evaluate
from warploom.evaluation.runs.secret_seeds import MOST, draw_seeds, seeds_from
from warploom.source.regions import Program
from warploom.workload.workload import Workload

TEXT = """\
#include <cuda_runtime.h>
#include <cstdlib>
#include <vector>
__global__ void twice(float* x, int n) {
  int i = threadIdx.x;
  if (i < n) x[i] = 2 * x[i];
}
int main(int argc, char** argv) {
  unsigned state = atoi(argv[1]);
  std::vector<float> values(64);
  for (float& v : values) v = (state = state * 1664525u + 1013904223u) / 65536 / 65536.0f;
  float* x;
  cudaMalloc(&x, 256);
  cudaMemcpy(x, values.data(), 256, cudaMemcpyHostToDevice);
  twice<<<1, 64>>>(x, 64);
  cudaMemcpy(values.data(), x, 256, cudaMemcpyDeviceToHost);
  cudaFree(x);
  return 0;
}
"""
TABLE = TEXT.replace("twice<<<", "if (state > 3) twice<<<").replace(
    "unsigned state = atoi(argv[1]);",
    "const int seed = atoi(argv[1]); unsigned state = seed;",
).replace("if (state > 3)", "if (seed < 3)")  # fmt: skip


@given(st.integers(1, 20))
def test_seeds_differ_and_fit_into_an_int(count: int) -> None:
    seeds = draw_seeds(count)
    assert len(set(seeds)) == count
    assert all(1 <= seed <= MOST for seed in seeds)


def test_no_two_evaluations_draw_the_same() -> None:
    assert len({draw_seeds(2) for _ in range(20)}) == 20


def test_seeds_come_from_a_list_or_an_earlier_report(tmp_path: Path) -> None:
    assert seeds_from("3, 17,99") == (3, 17, 99)
    report = tmp_path / "report.json"
    report.write_text(json.dumps({"seeds": [5, 6]}))
    assert seeds_from(str(report)) == (5, 6)
    report.write_text(json.dumps({"evaluation": {"seeds": [7]}}))
    assert seeds_from(str(report)) == (7,)


@pytest.mark.parametrize(
    "text", ["", "1,1", "-1", "1,,2", "x", str(MOST + 1), "no-such-report.json"]
)
def test_what_names_no_seeds_is_refused(text: str) -> None:
    with pytest.raises(BadInputError):
        seeds_from(text)


def test_a_report_without_seeds_is_refused(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    for content in ("{}", "[]", "{", '{"seeds": []}', '{"seeds": ["1"]}'):
        report.write_text(content)
        with pytest.raises(BadInputError):
            seeds_from(str(report))


@pytest.fixture(scope="module")
def workload(tmp_path_factory: pytest.TempPathFactory) -> Workload:
    path = tmp_path_factory.mktemp("seeds") / "base.cu"
    path.write_text(TEXT)
    return Workload.from_program(path, ranks=1, args=("{seed}",), seeds=2)


def test_an_evaluation_names_its_seeds_and_can_be_repeated(workload: Workload) -> None:
    first = evaluate(workload.program, workload, nvcc=False)
    assert first.passed, first.findings
    assert len(first.seeds) == 2
    assert {run.seed for run in first.runs} == set(first.seeds)
    again = evaluate(workload.program, workload, nvcc=False, inputs=first.seeds)
    assert again.seeds == first.seeds
    assert first.to_json()["seeds"] == list(first.seeds)


def test_answers_for_the_first_seeds_are_worth_nothing(workload: Workload) -> None:
    result = evaluate(Program(TABLE, Path("table.cu")), workload, nvcc=False)
    assert not result.passed
    assert result.findings[0].finding.kind == "wrong_result"
    known = evaluate(Program(TABLE, Path("table.cu")), workload, nvcc=False, inputs=(0, 1, 2))
    assert known.passed  # so it is the secrecy that tells
