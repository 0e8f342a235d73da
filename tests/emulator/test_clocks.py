"""Clocks, which share their parts, against a model that is joined entry by entry."""

import subprocess
from pathlib import Path

from warploom.emulator.rewrite import SHIM_DIR
from warploom.emulator.runtime_build import RUNTIME_DIR
from warploom.toolchain.compilers import find_compiler

PROGRAM = Path(__file__).parent / "programs" / "clocks_and_model.cpp"

RUNTIME_PARTS = ("agent_time", "clock", "completions")


def test_clocks_answer_as_the_model_does(tmp_path: Path) -> None:
    program = tmp_path / "clocks"
    flags = [
        "-std=c++20",
        "-O1",
        "-Wall",
        "-Wextra",
        "-Werror",
        f"-I{SHIM_DIR}",
        f"-I{RUNTIME_DIR}",
    ]
    sources = [PROGRAM, *(RUNTIME_DIR / f"order/{name}.cpp" for name in RUNTIME_PARTS)]
    subprocess.run([*find_compiler().command, *flags, *sources, "-o", program], check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert int(done.stdout) > 1_000_000  # answers that were compared
