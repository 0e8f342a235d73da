"""cuBLAS: kernels on the handle's stream, which are checked as a program's own are."""

from functools import cache
from pathlib import Path

import pytest

from warploom.core.records import BuildSpec, Limits, RunSpec, Severity, Timing, Verdict
from warploom.emulator import EmulatorBuild, RunOptions, build, run
from warploom.emulator.running.topology import find_topology

PROGRAMS = Path(__file__).with_name("programs")


@cache
def built(name: str, *, timed: bool = False) -> EmulatorBuild:
    return build(BuildSpec(PROGRAMS / name, timed=timed))


def emulate(name: str, *args: str, timing: Timing = Timing.LAZY):
    limits = Limits(seconds=60)
    return run(built(name), RunOptions(ranks=1, run=RunSpec(1, timing), args=args, limits=limits))


def test_what_it_computes():
    outcome = emulate("blas_values.cu")
    assert (outcome.stdout, outcome.verdict, outcome.findings) == ("", Verdict.OK, ())


def test_complex_numbers():
    outcome = emulate("blas_complex.cu")
    assert (outcome.stdout, outcome.verdict, outcome.findings) == ("", Verdict.OK, ())


def test_a_correct_use_is_not_accused():
    outcome = emulate("blas_defects.cu", timing=Timing.EAGER)
    assert (outcome.verdict, outcome.findings) == (Verdict.OK, ())


@pytest.mark.parametrize(
    ("defect", "kind", "lines", "text"),
    [
        ("streams", "data_race", {27, 31}, "cublasSgemm"),
        ("bounds", "out_of_bounds", {27}, "cublasSgemm"),
        ("readback", "readback_before_sync", {36}, "cublasSasum"),
    ],
)
def test_a_defect_is_named_at_the_call(defect: str, kind: str, lines: set[int], text: str):
    found = emulate("blas_defects.cu", defect).findings
    # Where the second kernel comes first, the program fails its own check besides.
    errors = [f for f in found if f.severity is Severity.ERROR and f.kind != "exit_code"]
    assert {f.kind for f in errors} == {kind}
    assert any(f.line in lines and text in f"{f.message} {f.kernel}" for f in errors), errors
    assert all(f.file and f.file.endswith("blas_defects.cu") for f in errors)


def test_what_is_not_written_is_not_multiplied():
    outcome = emulate("blas_defects.cu", "fresh")
    assert {read.finding.line for read in outcome.fresh_reads} == {27}


def test_what_it_solves():
    outcome = emulate("blas_solvers.cu")
    assert (outcome.stdout, outcome.verdict, outcome.findings) == ("", Verdict.OK, ())


def test_the_first_interface_computes_and_is_checked():
    outcome = emulate("blas_legacy.cu")
    assert (outcome.stdout, outcome.verdict, outcome.findings) == ("", Verdict.OK, ())
    found = [f for f in emulate("blas_legacy.cu", "x").findings if f.severity is Severity.ERROR]
    assert {(f.kind, f.line, f.kernel) for f in found} == {("out_of_bounds", 56, "cublasSscal")}


def test_it_has_a_price():
    machine = find_topology("h200-8")
    options = RunOptions(ranks=1, machine=machine, limits=Limits(seconds=60))
    outcome = run(built("blas_price.cu", timed=True), options)
    assert outcome.verdict is Verdict.OK
    took = {name: float(us) for name, us in map(str.split, outcome.stdout.splitlines())}
    # Below the rate of the whole device, above that of a single multiprocessor.
    assert 256**3 / 33.5e6 < took["large"] < 256**3 / 33.5e6 * 132
    assert took["scal"] < took["small"] < took["large"]
    assert took["half"] < took["large"]


def test_products_with_matrices_of_which_a_part_is_kept():
    outcome = emulate("blas_bands.cu")
    assert (outcome.stdout, outcome.verdict, outcome.findings) == ("", Verdict.OK, ())


@pytest.mark.parametrize(
    ("which", "name", "line"),
    [
        (1, "cufftPlan1d", 15),
        (2, "cusparseCreate", 25),
        (3, "cusolverDnCreate", 26),
        (4, "cublasLtMatmul", 27),
        (5, "cublasSsymm", 28),
    ],
)
def test_a_call_that_is_not_played_is_refused_by_line(which: int, name: str, line: int):
    outcome = emulate("refused_libraries.cu", str(which))
    assert outcome.verdict is Verdict.UNSUPPORTED
    assert [(use.name, use.line) for use in outcome.unsupported] == [(name, line)]


def test_a_library_may_be_included_and_named():
    outcome = emulate("refused_libraries.cu")
    assert (outcome.verdict, outcome.findings) == (Verdict.OK, ())


def test_a_unit_that_is_named_cpp_may_call_it(tmp_path: Path):
    (tmp_path / "use.h").write_text("#pragma once\n#include <cublas_v2.h>\nint scale(float*);\n")
    (tmp_path / "use.cpp").write_text("""#include "use.h"
int scale(float* x) {
  cublasHandle_t handle;
  const float two = 2;
  cublasCreate(&handle);
  return cublasSscal(handle, 4, &two, x, 1);
}
""")
    (tmp_path / "main.cu").write_text("""#include "use.h"
int main() {
  float host[4] = {1, 2, 3, 4}, *x;
  cudaMalloc(&x, sizeof host);
  cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice);
  if (scale(x)) return 1;
  cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost);
  return host[3] != 8;
}
""")
    built = build(BuildSpec(tmp_path / "main.cu", sources=(tmp_path / "use.cpp",)))
    outcome = run(built, RunOptions(ranks=1, limits=Limits(seconds=30)))
    assert (outcome.verdict, outcome.findings) == (Verdict.OK, ())
