"""cuRAND's host generators: XORWOW in the documented order; the others in distribution."""

from functools import cache
from pathlib import Path

import pytest

from warploom.core.records import BuildSpec, Limits, Verdict
from warploom.emulator import EmulatorBuild, RunOptions, build, run

PROGRAM = Path(__file__).with_name("programs") / "curand_host.cu"


@cache
def built() -> EmulatorBuild:
    return build(BuildSpec(PROGRAM))


def emulate(*args: str):
    return run(built(), RunOptions(ranks=1, args=args, limits=Limits(seconds=60)))


@cache
def lines() -> list[list[str]]:
    outcome = emulate()
    assert outcome.verdict is Verdict.OK, (outcome.findings, outcome.unsupported)
    return [line.split() for line in outcome.stdout.splitlines()]


def test_xorwow_fills_memory_from_4096_subsequences_in_turn(tmp_path: Path):
    program = tmp_path / "device.cu"
    program.write_text("""#include <curand_kernel.h>
#include <cstdio>
__global__ void draw(unsigned long long subsequence, int skipped) {
  curandState state;
  curand_init(1234, subsequence, skipped, &state);
  printf("%u ", curand(&state));
}
int main() {
  draw<<<1, 1>>>(0, 0);
  draw<<<1, 1>>>(1, 0);
  draw<<<1, 1>>>(0, 1);
  draw<<<1, 1>>>(4095, 1);
  return cudaDeviceSynchronize();
}
""")
    outcome = run(build(BuildSpec(program)), RunOptions(ranks=1, limits=Limits(seconds=60)))
    assert lines()[0] == ["numbers", *outcome.stdout.split()]


def test_a_host_generator_and_an_offset_give_the_same_sequence():
    assert [line for line in lines() if line[0] in ("same", "offset")] == [
        ["same", "1"],
        ["offset", "1"],
    ] * 2
    sequences = [tuple(line[1:]) for line in lines() if line[0] == "numbers"]
    assert len(set(sequences)) == 3


@pytest.mark.parametrize(
    ("name", "mean", "variance"),
    [("uniform", 0.5, 1 / 12), ("normal", 3, 4), ("log_normal", 1.1331, 0.3647)],
)
def test_the_distributions_have_their_mean_and_variance(name: str, mean: float, variance: float):
    found = [line for line in lines() if line[0] == name]
    assert len(found) == 2
    for line in found:
        assert float(line[1]) == pytest.approx(mean, rel=0.02)
        assert float(line[2]) == pytest.approx(variance, rel=0.06)


def test_poisson_has_its_mean_as_its_variance():
    for line, mean in zip([x for x in lines() if x[0] == "poisson"], (4, 2000), strict=True):
        assert float(line[1]) == pytest.approx(mean, rel=0.02)
        assert float(line[2]) == pytest.approx(mean, rel=0.06)


def test_normal_numbers_come_in_pairs():
    assert [line[1] for line in lines() if line[0] == "odd"] == ["105", "105"]


def test_a_generators_stream_orders_its_writes():
    assert "data_race" in {finding.kind for finding in emulate("race").findings}


def test_quasirandom_generators_are_refused_at_the_call():
    outcome = emulate("quasi")
    assert outcome.verdict is Verdict.UNSUPPORTED
    assert [(use.name, use.line) for use in outcome.unsupported] == [("curandCreateGenerator", 67)]
