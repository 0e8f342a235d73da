"""Control goes to functions alone, and no library is led to memory that is not the program's."""

import subprocess
from pathlib import Path

import pytest

from warploom.core.records import BuildSpec, Verdict
from warploom.emulator.building.build import build
from warploom.evaluation.check import check
from warploom.evaluation.runs.plan import Effort
from warploom.testing.attacks.variants.control import ESCAPES, program

HONEST = Path(__file__).with_name("programs") / "cpp_library.cu"
BEFORE_MAIN = "constant"  # it is refused when it is loaded, whatever it would do
TOGETHER = tuple(name for name in ESCAPES if name != BEFORE_MAIN)


@pytest.fixture(scope="module")
def escapes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("escapes") / "escapes.cu"
    path.write_text(program(TOGETHER))
    return path


@pytest.mark.parametrize("processes", [1, 2])
def test_honest_uses_of_the_library_are_let_through(processes: int) -> None:
    report = check(HONEST, ranks=2, processes=processes, effort=Effort.QUICK)
    assert report.verdict is Verdict.OK, [f.finding.message for f in report.findings]


def test_the_same_program_passes_without_an_escape(escapes: Path) -> None:
    report = check(escapes, ranks=1, effort=Effort.QUICK)
    assert report.verdict is Verdict.OK


@pytest.mark.parametrize("name", TOGETHER)
def test_an_escape_ends_the_run(escapes: Path, name: str) -> None:
    report = check(escapes, ranks=1, effort=Effort.QUICK, args=(name,))
    kinds = {f.finding.kind for f in report.findings}
    assert kinds & {"crash", "emulator_access"}, kinds
    messages = [f.finding.message for f in report.findings if f.finding.kind in ("crash",)]
    assert not any("segmentation" in message for message in messages), messages


def test_where_the_unwinder_looks_is_constant() -> None:
    """Tables of exceptions name types, and who reads them, by slots: nobody may write these."""
    library = build(BuildSpec(program=HONEST)).library
    command = ["objdump", "-t", str(library)]
    symbols = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    slots = [line for line in symbols.splitlines() if "DW.ref." in line]
    assert any("__gxx_personality_v0" in line for line in slots)
    assert [line for line in slots if " .data.rel.ro\t" not in line] == []


def test_a_constant_that_leads_into_a_function_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "constant.cu"
    path.write_text(program((BEFORE_MAIN,)))
    report = check(path, ranks=1, effort=Effort.QUICK)
    assert any("no function of the program begins" in f.finding.message for f in report.findings)
