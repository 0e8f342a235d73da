"""MPI's C++ bindings: they are the C calls, and what they lack is refused by name."""

from pathlib import Path

import pytest

from warploom.core.errors import UnsupportedError
from warploom.core.records import BuildSpec, RunSpec, Timing
from warploom.emulator import RunOptions, build, run
from warploom.source import CUDAAnalyzer

PROGRAM = Path(__file__).with_name("programs") / "mpi_cxx.cu"
_MAIN = "#include <mpi.h>\nint main(int argc, char** argv) {\n  MPI::Init(argc, argv);\n  %s\n}\n"


@pytest.mark.parametrize("timing", list(Timing))
@pytest.mark.parametrize("ranks", [2, 3])
def test_each_call_does_what_the_c_call_does(timing: Timing, ranks: int) -> None:
    outcome = run(build(BuildSpec(PROGRAM)), RunOptions(ranks=ranks, run=RunSpec(0, timing)))
    assert outcome.findings == (), outcome.stdout
    assert outcome.exit_codes == dict.fromkeys(range(ranks), 0), outcome.stdout


def test_findings_have_the_line_of_the_program() -> None:
    outcome = run(build(BuildSpec(PROGRAM, defines={"EARLY": "1"})), RunOptions(ranks=1))
    (found,) = [one for one in outcome.findings if one.kind == "mpi_buffer_in_use"]
    line = 1 + PROGRAM.read_text().splitlines().index("  early = 4;")
    assert found.line == line and found.other is not None and found.other.line == line - 1


@pytest.mark.parametrize(
    ("use", "name"),
    [
        ("MPI::Op op; op.Init(nullptr, true);", "MPI::Op::Init"),
        ('MPI::COMM_WORLD.Spawn("x", nullptr, 1, 0, 0);', "MPI::Intracomm::Spawn"),
        ("MPI::Add_error_class();", "MPI::Add_error_class"),
        ("MPI::Graphcomm graph;", "MPI::Graphcomm"),
    ],
)
def test_what_is_missing_is_refused_by_name(tmp_path: Path, use: str, name: str) -> None:
    program = tmp_path / "lacking.cu"
    program.write_text(_MAIN % use)
    with pytest.raises(UnsupportedError, match=f"{name} is not emulated") as caught:
        build(BuildSpec(program))
    assert caught.value.line == 4


@pytest.mark.parametrize("macro", ["OMPI_SKIP_MPICXX", "MPICH_SKIP_MPICXX"])
def test_programs_may_leave_them_out(tmp_path: Path, macro: str) -> None:
    program = tmp_path / "own.cu"
    program.write_text(
        f"#define {macro} 1\n#include <mpi.h>\nnamespace MPI {{ struct Comm {{ int x; }}; }}\n"
        "int main() { MPI::Comm mine{7}; return mine.x; }\n"
    )
    assert run(build(BuildSpec(program)), RunOptions(ranks=1)).exit_codes == {0: 7}


def test_the_analyzer_knows_who_starts_mpi(tmp_path: Path) -> None:
    program = tmp_path / "starts.cu"
    program.write_text(_MAIN % "cudaSetDevice(0);")
    assert CUDAAnalyzer(program).analyze().setup.uses_mpi
