"""Each NCCL version has its own names and rules: both hold in the emulator."""

from functools import cache
from pathlib import Path

import pytest

from warploom.core.errors import WarploomError
from warploom.core.records import BuildSpec, Limits, RunSpec, Timing, Verdict
from warploom.emulator import EmulatorBuild, RunOptions, build, run

PROGRAM = Path(__file__).with_name("programs") / "nccl_versions.cu"
VERSIONS = ["2.28.9", "2.29.7", "2.30.7", "2.32.3"]
LINE = next(n for n, text in enumerate(PROGRAM.read_text().splitlines(), 1) if "// EXPECT" in text)


@cache
def built(version: str) -> EmulatorBuild:
    return build(BuildSpec(PROGRAM, nccl=version))


def emulate(version: str, *args: str, timing: Timing = Timing.LAZY, lsa_size: int | None = None):
    options = RunOptions(
        run=RunSpec(1, timing), args=args, lsa_size=lsa_size, limits=Limits(seconds=30)
    )
    return run(built(version), options)


@pytest.mark.parametrize("lsa_size", [1, 2, 4])
@pytest.mark.parametrize("version", VERSIONS)
def test_every_spelling_works(version: str, lsa_size: int):
    for timing in Timing:
        outcome = emulate(version, timing=timing, lsa_size=lsa_size)
        assert outcome.stdout == ""
        assert (outcome.verdict, outcome.findings) == (Verdict.OK, ())


@pytest.mark.parametrize("version", VERSIONS[1:])
@pytest.mark.parametrize(
    ("defect", "kind"), [("memset", "requirements_initializer"), ("none", "gin_not_enabled")]
)
def test_requirements_follow_the_rules_of_the_version(version: str, defect: str, kind: str):
    outcome = emulate(version, defect)
    assert outcome.verdict is Verdict.DEFECT
    assert {(f.kind, f.line) for f in outcome.findings if f.kind != "exit_code"} == {(kind, LINE)}


@pytest.mark.parametrize(
    ("version", "code", "name"),
    [
        ("2.28.9", "ncclDevCommRequirements r = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;", ""),
        ("2.28.9", "void* p; ncclWinGetUserPtr(nullptr, nullptr, &p);", "ncclWinGetUserPtr"),
        ("2.29.7", "ncclGin_WeakSignalInc s{0};", "ncclGin_WeakSignalInc"),
        (
            "2.29.7",
            "ncclDevCommRequirements r; r.worldGinBarrierCount = 1;",
            "worldGinBarrierCount",
        ),
        ("2.30.7", "ncclSetEncryption(nullptr);", "ncclSetEncryption"),
        ("2.32.3", "ncclGin_SignalSet s{0, 1};", "ncclGin_SignalSet"),
    ],
)
def test_a_name_that_the_version_lacks_does_not_build(
    tmp_path: Path, version: str, code: str, name: str
):
    program = tmp_path / "names.cu"
    program.write_text(f"#include <nccl.h>\n#include <nccl_device.h>\nint main() {{\n{code}\n}}\n")
    with pytest.raises(WarploomError) as caught:
        build(BuildSpec(program, nccl=version))
    assert caught.value.line == 4
    assert name in str(caught.value)
