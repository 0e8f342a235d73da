"""Names of NCCL's headers that are no part of the device API: nccl::utility and its macros."""

from pathlib import Path

import pytest

from warploom.core.records import BuildSpec, Limits, RunSpec, Timing, Verdict
from warploom.emulator import RunOptions, build, run

PROGRAMS = Path(__file__).with_name("programs")


@pytest.mark.parametrize("version", ["2.28.9", "2.32.3"])
def test_they_compute_what_their_names_say(version: str):
    built = build(BuildSpec(PROGRAMS / "nccl_utility.cu", nccl=version))
    outcome = run(built, RunOptions(run=RunSpec(0, Timing.LAZY), limits=Limits(seconds=30)))
    assert (outcome.stdout, outcome.verdict, outcome.findings) == ("", Verdict.OK, ())


def test_a_load_of_theirs_is_the_programs(tmp_path: Path):
    program = tmp_path / "past.cu"
    program.write_text("""#include <nccl_device.h>
__global__ void past(const int* in, int* out) {
  *out = nccl::utility::loadConst(in + 4);
}
int main() {
  int* at;
  cudaMalloc(&at, 16);
  cudaMemset(at, 0, 16);
  past<<<1, 1>>>(at, at);
  return cudaDeviceSynchronize();
}
""")
    outcome = run(build(BuildSpec(program)), RunOptions(limits=Limits(seconds=30)))
    assert {(f.kind, f.line) for f in outcome.findings} == {("out_of_bounds", 3)}
