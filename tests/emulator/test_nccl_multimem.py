"""Multimem: what it computes, what it races with, and what it may not touch."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from warploom.core.records import BuildSpec, Limits, RunSpec, Severity, Timing, Verdict
from warploom.emulator import EmulatorBuild, RunOptions, build, run
from warploom.emulator.ptx.instructions import statement
from warploom.emulator.ptx.operands import Instruction

RealHeaders = Callable[..., None]
PROGRAM = Path(__file__).with_name("programs") / "nccl_multimem.cu"
KINDS = {"no_entry": "data_race", "plain": "multimem_address", "not_asked": "multimem_not_enabled"}


@cache
def built(version: str = "2.32.3") -> EmulatorBuild:
    return build(BuildSpec(PROGRAM, nccl=version))


def emulate(*args: str, lsa_size: int | None = None, version: str = "2.32.3"):
    options = RunOptions(
        run=RunSpec(0, Timing.LAZY), args=args, lsa_size=lsa_size, limits=Limits(seconds=30)
    )
    return run(built(version), options)


@pytest.mark.parametrize("lsa_size", [4, 2, 1])
def test_the_team_is_summed_stored_to_and_reduced(lsa_size: int):
    outcome = emulate(lsa_size=lsa_size)
    assert outcome.stdout == ""
    if lsa_size > 1:
        assert (outcome.verdict, outcome.findings) == (Verdict.OK, ())
    else:  # asked for where no two devices share memory
        assert {f.kind for f in outcome.findings} == {"multimem_not_enabled"}


@pytest.mark.parametrize("defect", sorted(KINDS))
def test_a_defect_is_named(defect: str):
    errors = [f for f in emulate(defect).findings if f.severity is Severity.ERROR]
    assert {f.kind for f in errors} - {"exit_code"} == {KINDS[defect]}
    if defect == "plain":
        text = PROGRAM.read_text().splitlines()
        assert "// EXPECT plain" in text[errors[0].line - 1]


@pytest.mark.nvcc
@pytest.mark.parametrize("version", ["2.29.7", "2.32.3"])
def test_the_program_is_one_for_the_real_headers(real_headers: RealHeaders, version: str):
    real_headers(PROGRAM, version)


def test_an_older_version_does_the_same():
    assert emulate(version="2.29.7").verdict is Verdict.OK


@pytest.mark.parametrize(
    ("instruction", "fits"),
    [
        ("multimem.ld_reduce.global.add.f32 %0, [%1];", True),
        ("multimem.ld_reduce.relaxed.sys.global.max.u32 %0, [%1];", True),
        ("multimem.ld_reduce.global.add.v2.f32 %0, [%1];", False),
        ("multimem.ld_reduce.global.max.f32 %0, [%1];", False),
        ("multimem.ld_reduce.global.and.u32 %0, [%1];", False),
        ("multimem.ld_reduce.global.add.acc::f32.f32 %0, [%1];", False),
        ("multimem.cp.reduce.async.bulk.global.add.u32 %0, [%1];", False),
    ],
)
def test_only_what_the_instruction_set_has_is_taken(instruction: str, fits: bool):
    head, _, rest = instruction.rstrip(";").partition(" ")
    name, *suffixes = head.replace("::", "__").split(".")
    made = statement(
        Instruction(name, tuple(suffixes), tuple(rest.split(", ")), lambda text: text.strip("%"))
    )
    assert (made is not None) is fits
