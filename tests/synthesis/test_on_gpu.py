"""`synthesize --backend cuda`, as far as it goes without a GPU: builds, turns, refusals."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from warploom.cli import main
from warploom.core.records import BuildSpec, Finding, Timing
from warploom.emulator import run
from warploom.hardware import HardwareRun, Interval, Readback, build_executable
from warploom.synthesis.correctness import prepare_trial
from warploom.synthesis.correctness.building import build_candidate
from warploom.synthesis.correctness.frame import program_text
from warploom.synthesis.correctness.running import options_for
from warploom.synthesis.performance import measured
from warploom.synthesis.records import PerformanceReport
from warploom.synthesis.reference.client import Baseline
from warploom.testing.kernel_attacks import HONEST, REFERENCE
from warploom.testing.kernel_tasks import PreparedTask
from warploom.toolchain.gpu import find_gpus
from warploom.toolchain.nccl import get_nccl

Change = Callable[[list[float]], list[float]]


def _in_the_emulator(text: str, folder: Path, change: Change) -> measured.Launch:
    """Return what runs a candidate in the emulator and passes for a GPU."""
    folder.mkdir()
    program = build_candidate(text, folder, 1).program
    assert program is not None

    def launch(cases: Path, tool: str) -> HardwareRun:
        assert tool == ""
        one = run(program, options_for(cases, 3, Timing.EAGER, 60.0))
        back = tuple(
            Readback(0, at, bytes(item.data), None, None) for at, item in enumerate(one.readbacks)
        )
        count = int.from_bytes((cases / "cases.bin").read_bytes()[:8], "little")
        times = change([0.02, 0.03] * count)
        intervals = tuple(Interval(0, at, t, None, None) for at, t in enumerate(times))
        code = one.exit_codes.get(0)
        return HardwareRun(one.state, code, (), back, intervals, None, "", 60.0, "none")

    return launch


def _turn(_: int) -> Sequence[Baseline]:
    return (
        Baseline("eager", (0.05, 0.06, 0.05)), Baseline("default", (0.04, 0.05, 0.04)),
        Baseline("copy", (0.01, 0.01, 0.01)),
    )  # fmt: skip


@pytest.fixture(scope="session")
def task(
    tmp_path_factory: pytest.TempPathFactory, prepared: Callable[[Path], PreparedTask]
) -> PreparedTask:
    path = tmp_path_factory.mktemp("measured") / "twice.py"
    path.write_text(REFERENCE)
    return prepared(path)


def _measured(
    task: PreparedTask, text: str, folder: Path, change: Change = list
) -> PerformanceReport | Finding:
    trial = prepare_trial(task.spec, task.reference, 11, task.secret)
    launch = _in_the_emulator(text, folder / "built", change)
    (folder / "cases").mkdir()
    return measured.measure(launch, _turn, task.spec, trial.cases[:2], folder / "cases", "a GPU")


def test_a_right_kernel_has_a_time_beside_the_best_mode(
    task: PreparedTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measured, "FLUSH_BYTES", 1 << 12)
    made = _measured(task, HONEST, tmp_path)
    assert isinstance(made, PerformanceReport)
    assert (made.time_source, made.time_ms, made.baseline_ms) == ("measured", 0.02, 0.04)
    assert "eager 50.00 us" in made.note


def test_the_first_call_of_a_process_does_not_count(
    task: PreparedTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measured, "FLUSH_BYTES", 1 << 12)
    made = _measured(task, HONEST, tmp_path, lambda times: [0.09, 0.09, *times[2:]])
    assert isinstance(made, PerformanceReport)
    assert made.time_ms == 0.02


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda times: [0.02, 3.0] * (len(times) // 2), "the device after 3"),
        (lambda times: times[:-1], "times came back"),
        (lambda times: [9e4] * len(times), "the wall clock"),
        (lambda times: [1e-7, 1e-7] * (len(times) // 2), "less than copying"),
    ],
)
def test_times_that_cannot_be_are_refused(
    change: Change, words: str, task: PreparedTask, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(measured, "FLUSH_BYTES", 1 << 12)
    made = _measured(task, HONEST, tmp_path, change)
    assert isinstance(made, Finding)
    assert words in made.message


def test_a_wrong_timed_call_has_no_time(
    task: PreparedTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measured, "FLUSH_BYTES", 1 << 12)
    made = _measured(task, HONEST.replace("* 2.0f", "* 2.001f"), tmp_path)
    assert isinstance(made, Finding)
    assert "elements are wrong" in made.message


def test_what_is_wrong_on_the_gpu_alone_is_found(task: PreparedTask, tmp_path: Path) -> None:
    trial = prepare_trial(task.spec, task.reference, 11, task.secret)
    (tmp_path / "cases").mkdir()
    right = _in_the_emulator(HONEST, tmp_path / "right", list)
    wrong = _in_the_emulator(HONEST.replace("+ 1.0f", "+ 1.5f"), tmp_path / "wrong", list)
    cases = trial.cases[:3]
    assert not measured.judge_on_gpu(right, task.spec, cases, tmp_path / "cases", tools=())
    found = measured.judge_on_gpu(wrong, task.spec, cases, tmp_path / "cases", tools=())
    assert "on the GPU" in found[0].message


def test_the_median_lies_in_its_interval() -> None:
    found = measured.times_of([float(n) for n in range(40)])
    assert (found.low, found.median, found.high, found.count) == (13.0, 19.5, 26.0, 40)


def test_the_program_links_for_a_gpu(tmp_path: Path) -> None:
    source = tmp_path / "kernel.cu"
    source.write_text(program_text(HONEST))
    built = build_executable(BuildSpec(source), "sm_90", get_nccl(None), None)
    assert built.program.is_file()


@pytest.mark.skipif(bool(find_gpus()), reason="a GPU is here")
def test_without_a_gpu_it_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "twice.py"
    file.write_text(REFERENCE)
    code = main(["synthesize", "--prompt", "x", "--reference", str(file), "--backend", "cuda",
                 "--out", str(tmp_path / "out")])  # fmt: skip
    assert code == 3
    assert "needs a GPU" in capsys.readouterr().err
