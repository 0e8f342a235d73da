"""What the runtime keeps in clever forms against models that keep it plainly.

Built with the runtime's own invariants checked, and with the sanitizers of addresses and of
undefined behavior.
"""

import subprocess
from pathlib import Path

import pytest

from warploom.emulator.building.runtime_build import RUNTIME_DIR
from warploom.emulator.rewriting.rewrite import SHIM_DIR
from warploom.toolchain.compilers import find_compiler

PROGRAMS = Path(__file__).parent / "programs"
CLOCKS = ("order/agent_time", "order/clock", "order/completions")
HISTORY = ("order/history", "order/history_pool", "order/history_short")
FLAGS = (
    "-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{SHIM_DIR}", f"-I{RUNTIME_DIR}",
    "-DWARPLOOM_RUNTIME_CHECKS", "-fsanitize=address,undefined", "-fno-sanitize-recover=all",
)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "parts", "arguments", "answers"),
    [
        ("clocks", CLOCKS, ("",), 1_000_000),
        ("lanes", ("network/lanes", *CLOCKS), ("",), 1_000_000),
        # All records whole, and all in the short form.
        ("history", HISTORY, (str(1 << 30), "0"), 1_000_000),
        ("arena", ("memory/memory_arena",), ("",), 50_000),
    ],
)
def test_it_answers_as_the_model_does(
    name: str, parts: tuple[str, ...], arguments: tuple[str, ...], answers: int, tmp_path: Path
) -> None:
    program = tmp_path / name
    sources = [PROGRAMS / f"{name}_and_model.cpp", *(RUNTIME_DIR / f"{part}.cpp" for part in parts)]
    subprocess.run([*find_compiler().command, *FLAGS, *sources, "-o", program], check=True)
    for argument in arguments:
        # What the pools hold at the end is no leak.
        done = subprocess.run(
            [program, argument], capture_output=True, text=True, check=False,
            env={"ASAN_OPTIONS": "detect_leaks=0"},
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        assert int(done.stdout) > answers  # that were compared


def test_a_broken_invariant_ends_the_run(tmp_path: Path) -> None:
    source, program = tmp_path / "broken.cpp", tmp_path / "broken"
    source.write_text(
        '#include "order/history.h"\n'
        "int main(int argc, char**) { return (int)(warploom::mask_bits(15u + argc) >> 63); }\n"
    )
    flags = [flag for flag in FLAGS if "sanitize" not in flag]
    subprocess.run([*find_compiler().command, *flags, source, "-o", program], check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "mask <= 0xF does not hold" in done.stderr
