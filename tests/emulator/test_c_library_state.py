"""What the C and C++ libraries remember, each emulated process has for itself."""

import re
import subprocess
from pathlib import Path

import pytest

from warploom.core.records import BuildSpec, RunSpec, Timing
from warploom.emulator import RunOptions, build, run
from warploom.toolchain.compilers import find_compiler

PROGRAMS = Path(__file__).with_name("programs")
RANKS = 2


@pytest.fixture(
    scope="module", params=["c_library_state.cpp", "c_library_more.cpp", "thread_state.cpp"]
)
def source(request: pytest.FixtureRequest) -> Path:
    return PROGRAMS / str(request.param)


@pytest.fixture(scope="module")
def alone(source: Path, tmp_path_factory: pytest.TempPathFactory) -> list[list[str]]:
    """What each of the processes logs where it has a C library of its own: this machine's."""
    program = tmp_path_factory.mktemp("alone") / "program"
    flags = ["-std=c++20", "-O1", "-w", "-pthread"]
    subprocess.run([*find_compiler().command, *flags, source, "-o", program], check=True)
    return [logged(said(program, rank), rank) for rank in range(RANKS)]


def said(program: Path, rank: int) -> str:
    # A run of the emulator has few variables in its environment: see the sandbox.
    done = subprocess.run(
        [program, str(rank)], capture_output=True, text=True, check=True, env={"PATH": "/bin"}
    )
    return done.stdout


def logged(text: str, rank: int) -> list[str]:
    """The lines of one process, which begin with its rank."""
    return re.findall(rf"^@{rank} (.*)$", text, re.MULTILINE)


@pytest.mark.parametrize("timing", list(Timing))
def test_each_process_sees_its_own(source: Path, alone: list[list[str]], timing: Timing) -> None:
    options = RunOptions(ranks=RANKS, run=RunSpec(1, timing))
    result = run(build(BuildSpec(source)), options)
    assert result.state == "finished", (result.findings, result.stderr)
    for rank, expected in enumerate(alone):
        seen = logged(result.stdout, rank)
        assert [line for line in zip(seen, expected, strict=False) if line[0] != line[1]] == []
        assert len(seen) == len(expected)
    assert result.findings == ()


def test_every_item_says_something(source: Path, alone: list[list[str]]) -> None:
    items = re.findall(r"^ITEM\((\w+)\)", source.read_text(), re.MULTILINE)
    assert len(items) >= 14
    for lines in alone:
        assert {line.split(":")[0] for line in lines} >= set(items)
