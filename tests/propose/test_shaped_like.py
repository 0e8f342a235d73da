"""Which launch shapes of a candidate its own check may have, and which are changes of it."""

from pathlib import Path

import pytest

from warploom.core.records import Api
from warploom.propose import Stage
from warploom.propose.mutate import Mutation, apply, shaped_like
from warploom.propose.rules import RewritePlan, rewrite
from warploom.source import CUDAAnalyzer

EXAMPLES = Path(__file__).parents[2] / "examples"


def program(name: str) -> str:
    return (EXAMPLES / name / f"{name}.cu").read_text()


def device_form(name: str, **values: str) -> str:
    path = EXAMPLES / name / f"{name}.cu"
    plan = RewritePlan(Api.LSA, Stage.DEVICE)
    text = rewrite(path.read_text(), CUDAAnalyzer(path).analyze(), plan).text
    for lever, value in values.items():
        text = apply(text, Mutation(lever.replace("__", ":"), value, ""))
    return text


def test_levers_of_launch_shapes_are_taken_over() -> None:
    original = program("gemm_allgather")
    candidate = device_form("gemm_allgather", size__TILE="16", threads__assemble="128")
    found = shaped_like(original, candidate)
    assert "#define TILE 16" in found and "assemble<<<ROWS, 128," in found
    changed = [pair for pair in zip(original.splitlines(), found.splitlines(), strict=True)
               if pair[0] != pair[1]]  # fmt: skip
    assert len(changed) == 2


def test_a_gate_keeps_the_launch_of_its_kernel() -> None:
    candidate = device_form("gemm_allgather", threads__assemble="32", read__d_gathered="guarded")
    assert "assemble<<<ROWS, 32," in shaped_like(program("gemm_allgather"), candidate)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("assemble<<<ROWS, 64,", "assemble<<<ROWS, 0,"),
        ("assemble<<<ROWS, 64,", "assemble<<<ROWS, 48,"),
        ("assemble<<<ROWS, 64,", "assemble<<<1, 64,"),
        ("#define TILE 8", "#define TILE 12"),
        ("#define COLUMNS", "#define  COLUMNS"),
    ],
)
def test_nothing_else_is(before: str, after: str) -> None:
    original = program("gemm_allgather")
    candidate = device_form("gemm_allgather")
    assert before in candidate
    assert shaped_like(original, candidate.replace(before, after)) == original


def test_a_kernel_that_counts_on_its_warps_keeps_its_threads() -> None:
    original = """__global__ void sum(int* p) {
  for (int i = threadIdx.x; i < 64; i += blockDim.x) p[i] += __shfl_sync(~0u, p[i], 0);
}
int main() { sum<<<1, 32>>>(nullptr); }
"""
    assert shaped_like(original, original.replace("1, 32", "1, 64")) == original


CHECKED = """#define COUNT 64
__global__ void fill(float* p) { p[blockIdx.x * COUNT + threadIdx.x] = 1; }
__global__ void wrong(const float* p, int* bad) { if (p[threadIdx.x] != 1) atomicAdd(bad, 1); }
int main() {
  float* p; int* bad;
  fill<<<4096 / COUNT, COUNT>>>(p);
  HERE
}
"""


@pytest.mark.parametrize(
    ("here", "taken"),
    [
        ("", True),
        ("const int blocks = 8192 / COUNT;\n  fill<<<blocks, COUNT>>>(p);", True),
        ("wrong<<<1, COUNT>>>(p, bad);", False),  # it would look at fewer
        ("for (int i = 0; i < COUNT; ++i) if (h[i] != 1) return 1;", False),
        ("const int looked_at = COUNT; compare(h, looked_at);", False),
        ("cudaMemcpy(h, p, COUNT * 4, cudaMemcpyDeviceToHost);", False),
        ("check(h, COUNT);", False),
        ("int n = COUNT; fill<<<n, COUNT>>>(p); check(h, n);", False),
    ],
)
def test_a_constant_by_which_the_program_checks_itself_stays(here: str, taken: bool) -> None:
    original = CHECKED.replace("HERE", here)
    candidate = original.replace("COUNT 64", "COUNT 128")
    assert (shaped_like(original, candidate) == candidate) is taken
