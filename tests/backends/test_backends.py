"""The emulator and this machine's GPUs as backends, and one of a test's own."""

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from warploom.backends import (
    CUDA,
    EMULATOR,
    Backend,
    Interval,
    LaunchForm,
    Order,
    Run,
    find_backend,
)
from warploom.core.errors import BadInputError, SourceError
from warploom.core.records import Verdict
from warploom.evaluation import evaluate
from warploom.evaluation.check import check
from warploom.hardware import Readback
from warploom.testing.backends import PROGRAM, BackendTests, results_of
from warploom.testing.gpu_tape import Tape, record, replay
from warploom.toolchain.gpu import find_gpus
from warploom.workload.workload import Workload

TAPE = Path(__file__).parent / "recorded" / "one_gpu.json"


class TestEmulator(BackendTests):
    """The emulator through the protocol, and through `check` and `eval` as they use it."""

    @pytest.fixture
    def backend(self) -> Backend:
        return find_backend(EMULATOR)


@pytest.mark.gpu
@pytest.mark.skipif(
    not find_gpus() or not shutil.which("nvcc") or not os.environ.get("WARPLOOM_NCCL_HOME"),
    reason="needs a GPU, nvcc and NCCL's library, with WARPLOOM_NCCL_HOME set",
)
class TestCuda(BackendTests):
    """This machine's GPUs. `WARPLOOM_RECORD=FILE pytest -n 0 ...` adds what they say to a tape."""

    @pytest.fixture
    def backend(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[Backend]:
        file = Path(os.environ.get("WARPLOOM_RECORD", os.devnull))
        tape = Tape.load(file) if file.is_file() else Tape()
        record(tape, monkeypatch.setattr)
        yield find_backend(CUDA)
        tape.save(file)


class TestRecordedCuda(BackendTests):
    """The same backend, with what one GPU answered."""

    @pytest.fixture
    def backend(self, monkeypatch: pytest.MonkeyPatch) -> Backend:
        replay(Tape.load(TAPE), monkeypatch.setattr)
        return find_backend(CUDA)


@dataclass
class InMemory:
    """A backend that computes what the program would: its factor times the seed's values."""

    name: str = "memory"
    where: str = "in memory"
    steers: bool = False
    devices: tuple[str, ...] = ("a dictionary",)
    shared: bool = False
    own_network: bool = False
    nccl: str = "2.32.3"
    time_source: str = "measured"
    steady: str = "as it is"
    tools: tuple[str, ...] = ("glance",)
    seconds: float = 0.0
    source: Path = Path()
    workload: Workload | None = None
    asked: list[Order] = field(default_factory=list[Order])

    def machine(self, workload: Workload, form: LaunchForm) -> "InMemory":
        assert form.processes == "single"
        self.workload = workload
        return self

    def require_tools(self) -> None:
        """It has all."""

    def timings(self, count: int) -> tuple[str, ...]:
        return (self.steady,) * count

    def serving(self, program: Path) -> "InMemory":
        assert program.is_file()
        return self

    def build(self, program: Path | None = None) -> "InMemory":
        assert self.workload is not None
        source = program or self.workload.program
        if "in[i]" not in source.read_text():
            raise SourceError("no scale", file=str(source))
        return InMemory(source=source, asked=self.asked)

    def run(self, program: object, order: Order) -> Run:
        assert isinstance(program, InMemory)
        self.asked.append(order)
        text, name = program.source.read_text(), str(program.source)
        doubled = re.search(r"in\[i\] (\* 2\.0f|\+ in\[i\])", text) is not None
        data = results_of(order.seed if doubled else order.seed + 1)
        line = next(at for at, words in enumerate(text.splitlines(), 1) if "DeviceToHost" in words)
        back = Readback(0, 0, data, name, line)
        times = (Interval(0, 0, 0.5 if "+ in[i]" in text else 1.0, name, line),)
        return Run(order, Verdict.OK, "finished", (0,), (), (back,), times, "", 0.1, "none")


@pytest.fixture
def task(tmp_path: Path) -> Workload:
    program = tmp_path / "scale.cu"
    program.write_text(PROGRAM)
    return Workload.from_program(program, ranks=1, args=("{seed}",), seeds=2)


def test_check_holds_a_third_backend_against_the_emulator(task: Workload) -> None:
    mine = InMemory()
    report = check(task, backend=mine)
    assert report.verdict is Verdict.OK and report.expected == "emulator", report.findings
    assert (report.backend, report.devices) == ("memory", ("a dictionary",))
    assert [order.tool for order in mine.asked] == ["", "", "", "glance"]
    (output,) = report.comparisons
    assert output.compared == 3 and output.passed
    assert report.time_source == "measured" and report.times[0].median == 1.0


def test_eval_measures_a_candidate_on_a_third_backend(task: Workload) -> None:
    candidate = task.program.with_name("faster.cu")
    candidate.write_text(PROGRAM.replace("in[i] * 2.0f", "in[i] + in[i]"))
    result = evaluate(candidate, task, backend=InMemory())
    assert result.passed and result.level_reached == 2, result.findings
    assert (result.time_source, result.metrics["speedup"]) == ("measured", 2.0)
    candidate.write_text(PROGRAM.replace("in[i] * 2.0f", "in[i] * 3.0f"))
    wrong = evaluate(candidate, task, backend=InMemory())
    assert not wrong.passed
    assert "in memory, against the trusted program's" in wrong.findings[0].finding.message


def test_what_only_the_emulator_can_is_refused_elsewhere(task: Workload) -> None:
    with pytest.raises(BadInputError, match="--lsa-size is for the emulator: in memory"):
        check(task, backend=InMemory(), lsa_size=1)
    with pytest.raises(BadInputError, match="levels 3 and 4 model time"):
        evaluate(task.program, task, level=4, backend=InMemory())


def test_a_backend_that_there_is_not() -> None:
    with pytest.raises(BadInputError, match="the backend must be emulator or cuda, got 'tpu'"):
        find_backend("tpu")
