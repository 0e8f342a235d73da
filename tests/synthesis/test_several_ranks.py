"""Kernels of several ranks: right ones pass, wrong ones are found, the rest is refused."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from warploom.cli import main
from warploom.core.errors import WarploomError
from warploom.synthesis import SynthesisConfig, Trial, accept, prepare_trial, synthesize
from warploom.synthesis.correctness.legality import candidate_findings
from warploom.synthesis.interview import interview
from warploom.synthesis.reference.client import ReferenceProcess
from warploom.testing.kernel_tasks import PreparedTask, prepare_task
from warploom.testing.rank_mutants import PUSHED, RANK_MUTANTS, RankMutant

pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'warploom[torch]'")

_FOLDER = Path(__file__).parent / "references"
_EXAMPLE = Path(__file__).parents[2] / "examples" / "synthesize" / "all_reduce.py"
_SAMPLE = frozenset({"all_reduce-no-wait-for-the-others", "all_reduce-no-barrier-at-the-end",
                     "all_to_all-part-of-another-rank"})  # fmt: skip
_RIGHT = ("all_reduce", "all_reduce_max", "all_gather", "all_gather_list", "reduce_scatter",
          "all_to_all", "broadcast", "averaged", "half_sum")  # fmt: skip
_long = pytest.mark.long
_Tasks = Callable[[str, int], PreparedTask]
_Trials = Callable[[str, int], Trial]


@pytest.fixture(scope="module")
def task_of(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[_Tasks]:
    """Return what prepares the task of a collective for so many ranks, once."""
    made: list[PreparedTask] = []

    @cache
    def prepared(name: str, ranks: int) -> PreparedTask:
        secret = tmp_path_factory.mktemp("secret")
        task = prepare_task(_FOLDER / "collectives.py", 20261128, secret, ranks, name)
        made.append(task)
        return task

    yield prepared
    for task in made:
        task.close()


@pytest.fixture(scope="module")
def trial_of(task_of: _Tasks) -> _Trials:
    """Return what prepares the cases that all mutants of a task are judged by, once."""

    @cache
    def prepared(name: str, ranks: int) -> Trial:
        task = task_of(name, ranks)
        return prepare_trial(task.spec, task.reference, task.seed, task.secret, task.text)

    return prepared


@pytest.mark.parametrize(
    ("name", "ranks"),
    [
        pytest.param(name, ranks, marks=() if (name, ranks) == ("averaged", 2) else _long)
        for name in _RIGHT
        for ranks in (2, 4)
    ],
)
def test_the_right_kernel_passes(name: str, ranks: int, task_of: _Tasks) -> None:
    task = task_of(name, ranks)
    assert (task.spec.ranks, task.spec.window != "0") == (ranks, True)
    report = task.judge(task.text)
    assert report.passed, report.findings


def test_there_are_enough_mutants_and_each_once() -> None:
    names = {mutant.name for mutant in RANK_MUTANTS}
    assert len(names) == len(RANK_MUTANTS) >= 8
    assert names >= _SAMPLE


@pytest.mark.parametrize(
    "mutant",
    [pytest.param(m, id=m.name, marks=() if m.name in _SAMPLE else _long) for m in RANK_MUTANTS],
)
def test_a_mutant_is_found(mutant: RankMutant, task_of: _Tasks, trial_of: _Trials) -> None:
    task = task_of(mutant.task, mutant.ranks)
    report = accept(mutant.apply(task.text), task.spec, trial_of(mutant.task, mutant.ranks), jobs=2)
    assert report.builds[0].ok, report.findings
    assert not report.passed


@pytest.mark.parametrize(
    ("entered", "passes"),
    [pytest.param(True, True, marks=_long), pytest.param(False, False, marks=_long)],
)
def test_who_writes_to_others_waits_until_they_call(
    entered: bool, passes: bool, task_of: _Tasks
) -> None:
    task = task_of("all_reduce", 2)
    text = PUSHED if entered else PUSHED.replace("  meet(comm);  // all have called\n", "")
    assert (text == PUSHED) == entered
    report = task.judge(text)
    assert report.builds[0].ok, report.findings
    assert report.passed == passes, report.findings


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("  if (count", "  ncclGroupStart();\n  if (count", "forbidden_call"),
        ("  if (count", "  MPI_Barrier(0);\n  if (count", "forbidden_call"),
        ("  meet(comm);\n", "  int ncclLsaBarrierSession = 3;\n  meet(comm);\n", "redefinition"),
        ("static __device__ void", "static int kept;\nstatic __device__ void", "kept_state"),
    ],
)
def test_what_no_kernel_of_several_ranks_needs_is_refused(old: str, new: str, kind: str) -> None:
    assert not candidate_findings(PUSHED, "k.cu", 2)
    found = candidate_findings(PUSHED.replace(old, new, 1), "k.cu", 2)
    assert kind in {finding.kind for finding in found}
    assert "forbidden_call" in {finding.kind for finding in candidate_findings(PUSHED, "k.cu")}


@pytest.fixture(scope="module")
def beyond() -> Iterator[ReferenceProcess]:
    """Return processes that load what is refused."""
    with ReferenceProcess(_FOLDER / "beyond_ranks.py", "two", 2) as reference:
        yield reference


@pytest.mark.parametrize(
    ("name", "code", "line", "words"),
    [
        ("two", 3, 10, "2 collectives in one reference"),
        ("grouped", 3, 16, "all_reduce in a process group"),
        ("in_the_background", 3, 22, "all_reduce with async_op"),
        ("to_one", 3, 27, "torch.distributed.send"),
        ("multiplied", 3, 33, "all_reduce with"),
        ("alone", 2, None, "but calls none"),
        ("of_its_rank", 2, None, "all ranks must do the same, but rank 1 does not"),
        ("in_place", 2, None, "must not change its inputs"),
    ],
)
def test_what_is_beyond_is_refused_with_its_line(
    name: str, code: int, line: int | None, words: str, beyond: ReferenceProcess
) -> None:
    beyond.name = name
    with pytest.raises(WarploomError) as caught:
        interview(beyond, "a kernel", "sm_90", [1, 2])
    assert words in caught.value.message
    assert (caught.value.exit_code, caught.value.line) == (code, line)


@pytest.mark.parametrize(
    ("more", "code"),
    [(["--target", "sm_120"], 3), (["--backend", "cuda"], 3), (["--ranks", "9"], 2),
     (["--proposer", "llm", "--model", "test:x"], 3)],
)  # fmt: skip
def test_what_several_ranks_have_not_is_refused_at_once(
    more: list[str], code: int, tmp_path: Path
) -> None:
    given = ["synthesize", "--prompt", "p", "--reference", str(_EXAMPLE), "--out", str(tmp_path)]
    assert main([*given, "--ranks", "2", *more]) == code


def test_one_rank_is_told_to_ask_for_several(tmp_path: Path) -> None:
    with pytest.raises(WarploomError, match="process group") as caught:
        synthesize("p", _EXAMPLE, out=tmp_path, config=SynthesisConfig(nvcc=False))
    assert "--ranks 2" in caught.value.hint


def test_a_run_is_verified_and_not_exported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "out"
    config = SynthesisConfig(nvcc=False, ranks=2)
    result = synthesize("all-reduce", _EXAMPLE, out=run, config=config)
    assert result.verified
    assert result.performance is None
    assert "KernelRanks" in (run / "kernel.cu").read_text()
    assert "2 ranks" in (run / "report.md").read_text()
    assert main(["export", str(run), "--out", str(tmp_path / "package")]) == 3
    assert "2 ranks is not exported" in capsys.readouterr().err
