"""A tape answers with what it was told, and says so where it was told nothing."""

from pathlib import Path

import pytest

from warploom.backends import CUDA, LaunchForm, Order, cuda, find_backend
from warploom.core.errors import BadInputError, MissingToolError, SourceError
from warploom.core.records import BuildSpec, Finding, Interval, Severity
from warploom.hardware import HardwareBuild, HardwareOptions, HardwareRun, Readback, Setup
from warploom.testing.gpu_tape import Tape, record, replay
from warploom.toolchain.gpu import Gpu
from warploom.toolchain.nccl import NcclHeaders
from warploom.workload.workload import Workload

FORM = LaunchForm("single", uses_mpi=False, nccl="2.32.3")
SETUP = Setup(
    (Gpu(0, "a GPU", "sm_90", 81559, "580"),), NcclHeaders("2.32.3", Path("/opt/nccl"), "a test"),
    None, ranks=1, shared=False,
)  # fmt: skip


def machines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand for GPUs: each run reads back its number, and finds something in the program."""
    made: list[int] = []

    def build(spec: BuildSpec, *_: object) -> HardwareBuild:
        if "broken" in spec.program.read_text():
            raise SourceError("it does not compile", file=str(spec.program))
        return HardwareBuild(Path("/tmp/made"), spec, "sm_90", 1.5, cached=False)

    def run(built: HardwareBuild, setup: Setup, options: HardwareOptions) -> HardwareRun:
        assert setup == SETUP
        made.append(len(made))
        file = str(built.spec.program)
        return HardwareRun(
            "finished", 0, (Finding("leak", Severity.WARNING, f"in {file}", file=file, line=3),),
            (Readback(0, 0, bytes((0, 255, made[-1])), file, 7),), (Interval(0, 0, 0.25, file, 5),),
            None, f"said by {file} for {options.args}\n", 0.1, "none",
        )  # fmt: skip

    monkeypatch.setattr(cuda, "find_setup", lambda *_, **__: SETUP)
    monkeypatch.setattr(cuda, "build_executable", build)
    monkeypatch.setattr(cuda, "run_hardware", run)


def task(folder: Path, text: str = "int main() {}\n") -> Workload:
    folder.mkdir()
    program = folder / "program.cu"
    program.write_text(text)
    return Workload.from_program(program, ranks=1, args=("{seed}",))


def test_a_tape_answers_as_the_machine_did(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tape, order = Tape(), Order(4, "eager")
    first, broken = task(tmp_path / "a"), task(tmp_path / "broken", "int main() { broken }\n")
    with monkeypatch.context() as patch:
        machines(patch)
        record(tape, patch.setattr)
        machine = find_backend(CUDA).machine(first, FORM)
        built = machine.build()
        told = [machine.run(built, order) for _ in range(2)]
        with pytest.raises(SourceError):
            find_backend(CUDA).machine(broken, FORM).build()
    tape.save(tmp_path / "tape.json")
    second = task(tmp_path / "b")  # the same program, elsewhere
    replay(Tape.load(tmp_path / "tape.json"), monkeypatch.setattr)
    machine = find_backend(CUDA).machine(second, FORM)
    assert machine.devices == ("a GPU, sm_90, 81559 MiB, driver 580",)
    built = machine.build()
    for was in told:
        run, file = machine.run(built, order), str(second.program)
        assert [bytes(one.data) for one in run.readbacks] == [was.readbacks[0].data]
        assert run.readbacks[0].file == run.findings[0].file == run.intervals[0].file == file
        assert (
            run.output == f"said by {file} for ('4',)\n" and run.intervals[0].milliseconds == 0.25
        )
    with pytest.raises(MissingToolError, match="the tape has 2 runs"):
        machine.run(built, order)
    with pytest.raises(SourceError, match="it does not compile"):
        find_backend(CUDA).machine(broken, FORM).build()
    other = task(tmp_path / "other", "int main() { return 1; }\n")
    with pytest.raises(BadInputError, match="the tape has no build of program"):
        find_backend(CUDA).machine(other, FORM).build()
