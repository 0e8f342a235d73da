"""nvcc rounds a kernel's products and sums each, as the emulator does, wherever it compiles one."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from warploom.core.errors import MissingToolError
from warploom.hardware import Setup
from warploom.synthesis.correctness import building
from warploom.synthesis.export.package import binding_text
from warploom.synthesis.nvcc_flags import NVCC_FLAGS
from warploom.synthesis.performance import measured
from warploom.testing.kernel_attacks import HONEST, REFERENCE
from warploom.testing.kernel_tasks import PreparedTask
from warploom.toolchain.nvcc import find_nvcc

_DIFFERENCE = """
extern "C" __global__ void f(float* x, double* y) {
  x[0] = x[1] * x[1] - x[2] * x[2];
  y[0] = y[1] * y[2] + y[3];
}
"""


@pytest.mark.parametrize(("flags", "kept"), [(NVCC_FLAGS, 3), (("-std=c++17",), 0)])
def test_each_product_is_rounded(tmp_path: Path, flags: tuple[str, ...], kept: int) -> None:
    try:
        nvcc = str(find_nvcc().path)
    except MissingToolError as error:
        pytest.skip(error.message)
    source = tmp_path / "f.cu"
    source.write_text(_DIFFERENCE)
    command = [nvcc, *flags, "-arch=sm_90", "-ptx", str(source), "-o", str(tmp_path / "f.ptx")]
    subprocess.run(command, check=True)
    assert (tmp_path / "f.ptx").read_text().count("mul.rn.f") == kept, "no .rn: it may be fused"


def test_what_is_verified_is_compiled_with_these_flags(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []

    def spy(command: list[str], *_: object) -> SimpleNamespace:
        seen.append(command)
        return SimpleNamespace(stopped=False, signal=None, log="", ok=True, seconds=0.0)

    monkeypatch.setattr(building, "run_nvcc", spy)
    outcomes, _ = building.nvcc_outcomes(HONEST, ["sm_80", "sm_90"], tmp_path)
    if outcomes[0].ok is None:
        pytest.skip(outcomes[0].note)
    assert [set(NVCC_FLAGS) <= set(command) for command in seen] == [True, True]


def test_what_is_measured_is_compiled_with_these_flags(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[Any, ...]] = []
    monkeypatch.setattr(measured, "build_executable", lambda *asked: seen.append(asked))
    setup = cast("Setup", SimpleNamespace(arch="sm_90", nccl=None))
    measured.launcher(HONEST, setup, tmp_path, 1.0)
    assert seen[0][-1] == NVCC_FLAGS


def test_what_is_exported_is_compiled_with_these_flags(
    tmp_path: Path, prepared: Callable[[Path], PreparedTask]
) -> None:
    path = tmp_path / "twice.py"
    path.write_text(REFERENCE)
    assert f"_NVCC_FLAGS = {NVCC_FLAGS!r}" in binding_text(prepared(path).spec, "kernel_twice")
