"""`check` without the emulator: which runs are made, and how their outcomes become a report."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from warploom.core.errors import BadInputError, UnsupportedError
from warploom.core.records import BuildSpec, Finding, RunSpec, Severity, Timing, Verdict
from warploom.emulator import EmulatorBuild, EmulatorRun, RunOptions, UnsupportedUse
from warploom.evaluation import check as check_module
from warploom.evaluation.check import CheckReport, check
from warploom.evaluation.runs import emulated as runs_module
from warploom.evaluation.runs.plan import Effort
from warploom.toolchain.sandbox import SandboxKind

PROGRAM = """\
#include <cuda_runtime.h>
#include <mpi.h>
int main() {
  MPI_Init(nullptr, nullptr);
  int* d;
  cudaMalloc(&d, 4);
  return 0;
}
"""

Outcome = Callable[[RunOptions], EmulatorRun]


def outcome(options: RunOptions, **changes: object) -> EmulatorRun:
    values: dict[str, object] = {
        "state": "finished",
        "options": options,
        "findings": (),
        "exit_codes": dict.fromkeys(range(options.ranks), 0),
        "stdout": "PASS\n",
        "stderr": "",
        "readbacks": (),
        "unsupported": (),
        "stats": {},
        "seconds": 0.1,
        "memory_mb": 10,
        "sandbox": SandboxKind.BUBBLEWRAP,
    }
    return EmulatorRun(**{**values, **changes})


@pytest.fixture
def checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., CheckReport]:
    path = tmp_path / "a.cu"
    path.write_text(PROGRAM)

    def checked(act: Outcome, **options: object) -> CheckReport:
        def build(spec: BuildSpec) -> EmulatorBuild:
            called = ("MPI_Init", "cudaMalloc")
            imports = frozenset(name for name in called if f"{name}(" in path.read_text())
            return EmulatorBuild(path, path, spec, "key", (), imports, True, 0.0)

        def run_many(
            build: EmulatorBuild, options: Sequence[RunOptions], **_: object
        ) -> tuple[EmulatorRun, ...]:
            return tuple(map(act, options))

        monkeypatch.setattr(check_module, "build", build)
        monkeypatch.setattr(runs_module, "run", lambda _, options: act(options))
        monkeypatch.setattr(runs_module, "run_many", run_many)
        return check(path, nccl="2.30.7", **options)

    return checked


def race(options: RunOptions) -> EmulatorRun:
    spec = options.run
    found = Finding(
        "race", Severity.ERROR, "m", file="a.cu", line=3, seed=spec.seed, timing=spec.timing
    )
    return outcome(options, findings=() if spec.timing is Timing.EAGER else (found,))


def test_every_run_is_made_and_a_defect_is_told_once(checked: Callable[..., CheckReport]) -> None:
    report = checked(race, seeds=2, ranks=2)
    assert (report.verdict, report.exit_code) == (Verdict.DEFECT, 1)
    assert [str(run.verdict) for run in report.runs] == ["defect", "ok", "defect", "defect"]
    (found,) = [item for item in report.findings if item.finding.kind == "race"]
    assert (found.runs, found.finding.timing, found.finding.seed) == (3, Timing.LAZY, 0)
    data = report.to_json()
    assert data["verdict"] == "defect"
    assert data["findings"][0]["timing"] == "lazy"
    assert data["findings"][0]["runs"] == 3
    assert data["processes"] == "per_rank"
    assert (report.planned, report.printed_verdict) == (4, "PASS")


def test_arguments_carry_the_seed(checked: Callable[..., CheckReport]) -> None:
    seen: list[tuple[str, ...]] = []

    def act(options: RunOptions) -> EmulatorRun:
        seen.append(options.args)
        return outcome(options)

    report = checked(act, seeds=3, args=["--seed={seed}"])
    assert seen == [("--seed=0",)] * 3 + [("--seed=1",), ("--seed=2",)]
    assert (report.verdict, report.exit_code) == (Verdict.OK, 0)


@pytest.mark.parametrize("state", ["timeout", "crashed", "memory_limit", "output_limit"])
def test_a_run_that_cannot_end_is_the_only_one(
    state: str, checked: Callable[..., CheckReport]
) -> None:
    report = checked(lambda options: outcome(options, state=state, exit_codes={}))
    assert (report.verdict, report.exit_code) == (Verdict.FAILED, 1)
    assert (len(report.runs), report.planned) == (1, 5)
    assert report.runs[0].exit_codes == (None,) * 4


def test_what_a_run_meets_that_is_not_emulated(checked: Callable[..., CheckReport]) -> None:
    use = UnsupportedUse("cudaGraphLaunch", "graphs", "a.cu", 7)
    report = checked(lambda options: outcome(options, unsupported=(use,)))
    assert (report.verdict, report.exit_code, len(report.runs)) == (Verdict.UNSUPPORTED, 3, 1)
    finding = report.findings[0].finding
    assert (finding.kind, finding.line) == ("unsupported", 7)
    assert "cudaGraphLaunch" in finding.message


def test_what_the_build_meets_that_is_not_emulated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.cu"
    path.write_text(PROGRAM)

    def build(_: BuildSpec) -> EmulatorBuild:
        raise UnsupportedError("cudaFoo is not emulated", file=str(path), line=3)

    monkeypatch.setattr(check_module, "build", build)
    report = check(path, nccl="2.30.7")
    assert (report.verdict, report.exit_code, report.runs) == (Verdict.UNSUPPORTED, 3, ())
    assert report.findings[0].finding.line == 3


def test_single_process_programs_are_run_as_one(
    tmp_path: Path, checked: Callable[..., CheckReport]
) -> None:
    (tmp_path / "a.cu").write_text(PROGRAM.replace("  MPI_Init(nullptr, nullptr);\n", ""))
    report = checked(outcome)
    assert report.processes == "single"
    assert report.runs[0].exit_codes == (0,)


def test_a_quick_check_makes_the_lazy_run_only(checked: Callable[..., CheckReport]) -> None:
    report = checked(race, effort=Effort.QUICK)
    assert [(run.seed, run.timing) for run in report.runs] == [(0, Timing.LAZY)]
    assert (report.planned, report.verdict) == (1, Verdict.DEFECT)
    assert report.to_json()["effort"] == "quick"


def test_a_thorough_check_stops_after_two_batches_without_news(
    checked: Callable[..., CheckReport],
) -> None:
    report = checked(race, effort=Effort.THOROUGH)
    # lazy; eager and three seeds; two batches of lazy, eager and five seeds
    assert (len(report.runs), report.planned) == (1 + 4 + 7 + 7, 30)


def test_a_new_finding_keeps_a_thorough_check_going(checked: Callable[..., CheckReport]) -> None:
    def act(options: RunOptions) -> EmulatorRun:
        late = options.run == RunSpec(8, Timing.RANDOM)  # first of the second further batch
        found = Finding("race", Severity.ERROR, "m", file="a.cu", line=9)
        return outcome(options, findings=(found,) if late else ())

    report = checked(act, effort=Effort.THOROUGH)
    assert len(report.runs) == report.planned == 30
    assert report.verdict is Verdict.DEFECT


def test_a_replay_is_one_run_with_a_trace(checked: Callable[..., CheckReport]) -> None:
    seen: list[RunOptions] = []

    def act(options: RunOptions) -> EmulatorRun:
        seen.append(options)
        return race(options)

    spec = RunSpec(7, Timing.RANDOM)
    report = checked(act, replay=spec, args=["{seed}"])
    assert [(options.run, options.args, options.trace) for options in seen] == [
        (spec, ("7",), 4096)
    ]
    assert report.effort is None
    seen.clear()
    checked(act)
    assert {options.trace for options in seen} == {0}
    with pytest.raises(BadInputError, match="a replay makes one run"):
        checked(act, replay=spec, seeds=2)


def test_machines_are_in_the_report(checked: Callable[..., CheckReport]) -> None:
    report = checked(outcome, ranks=8, node_size=4, effort=Effort.QUICK)
    assert (report.node_size, report.lsa_size) == (4, 4)
    assert report.to_json()["node_size"] == 4
    assert checked(outcome, effort=Effort.QUICK).to_json()["node_size"] is None
