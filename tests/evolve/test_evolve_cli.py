"""The commands evolve, optimize and inspect, over a search that takes no compiler."""

import json
from functools import partial
from pathlib import Path

import pytest
from evolve_bench import EVALUATOR, SPACE, TWO, Bench

import warploom.cli.evolve_command as command
from warploom.cli.run import run_cli
from warploom.evolve.runner import EvolutionRunner
from warploom.testing.search import LevelEvaluator

BUDGET = ("evolution.num_generations=3", "evolution.workers=1")
FIELDS = {"best", "speedup", "time_source", "evaluations", "cost"}


@pytest.fixture
def levers(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """Commands search over levers, in a folder of their own."""
    monkeypatch.chdir(bench.folder)
    searching(monkeypatch, EVALUATOR)
    return bench


def searching(monkeypatch: pytest.MonkeyPatch, evaluator: LevelEvaluator) -> None:
    made = partial(EvolutionRunner, evaluator=evaluator, seeds=TWO, space=SPACE)
    monkeypatch.setattr(command, "EvolutionRunner", made)


def test_optimize_tells_what_it_found(levers: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["optimize", "levers.cu", "--seed", "3", "--out", "fast", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert set(told) >= FIELDS
    assert told["evaluations"] == 12
    assert told["time_source"] == "modelled"
    assert told["speedup"] == pytest.approx(12.0 / told["best"]["time_ms"])
    assert told["speedup"] > 1
    assert told == json.loads((levers.folder / "fast" / "report.json").read_text())
    assert Path(told["best"]["program"]).is_file()


def test_evolve_prints_one_screen(levers: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    code = run_cli(["evolve", "levers.cu", "evolution.num_generations=5", "--seed", "3"])
    said = capsys.readouterr()
    assert code == 0
    assert "times: milliseconds of the whole run, modelled on h200-8" in said.out
    assert "blocks: 1 -> 8" in said.out
    assert "ended: 20 evaluations were made, as many as allowed" in said.out
    assert "levers-evolved/best/levers.cu" in said.out
    assert "20 of 20 evaluations, best" in said.err
    assert run_cli(["inspect", "levers-evolved"]) == 0
    shown = capsys.readouterr().out
    assert "levers-evolved: 22 attempts" in shown
    assert "operators: " in shown
    assert run_cli(["inspect", "levers-evolved", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["attempts"] == 22
    assert told["best"][0]["time_ms"] <= told["best"][1]["time_ms"]
    assert told["champion"] == told["best"][0]["number"]


def test_nothing_faster_is_exit_code_1(
    levers: Bench, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    searching(monkeypatch, LevelEvaluator({}, base={"gin": 2.0, "lsa": 2.0}))
    assert run_cli(["optimize", "levers.cu", "evolution.max_evaluations=3"]) == 1
    assert "not faster than the host-driven program: 0.60 times as fast" in capsys.readouterr().out


def test_progress_for_agents(
    levers: Bench, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WARPLOOM_PROGRESS", "json")
    assert run_cli(["optimize", "levers.cu", "--json", "evolution.max_evaluations=2"]) == 0
    lines = [json.loads(line)["progress"] for line in capsys.readouterr().err.splitlines()]
    assert lines[-1] == {"stage": "evolve", "done": 2, "total": 2}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["evolution.num_generation=1"], "there is no key evolution.num_generation"),
        (["--resume"], "no such folder"),
        (["--out", "levers.cu"], "cannot be written: File exists"),
        (["--config", "none.yaml"], "No such file"),
        (["evaluation.topology=dgx"], "a topology must be a packaged profile"),
    ],
)
def test_bad_input_is_exit_code_2(
    levers: Bench, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    if "topology" in arguments[0]:
        made = partial(EvolutionRunner, seeds=TWO, space=SPACE)
        monkeypatch.setattr(command, "EvolutionRunner", made)
    assert run_cli(["evolve", "levers.cu", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not (levers.folder / "levers-evolved").exists()  # nothing to resume is left behind


def test_control_c_is_130_and_says_how_to_go_on(
    levers: Bench, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted(LevelEvaluator):
        def __call__(self, candidate: Path, question: object) -> object:
            if "blocks = 1;" not in candidate.read_text():
                raise KeyboardInterrupt
            return super().__call__(candidate, question)

    searching(monkeypatch, Interrupted(EVALUATOR.factors, EVALUATOR.breaks))
    arguments = ["evolve", "levers.cu", "--out", "run"]
    assert run_cli([*arguments, *BUDGET, "--seed", "1"]) == 130
    said = capsys.readouterr().err
    assert "go on with: warploom evolve levers.cu --out run --resume" in said
    assert run_cli([*arguments, "--seed", "1"]) == 2
    assert "holds a run already" in capsys.readouterr().err
    searching(monkeypatch, EVALUATOR)
    assert run_cli([*arguments, "--resume", "database.num_islands=3"]) == 2
    assert "a resumed run takes only keys of evolution" in capsys.readouterr().err
    assert run_cli([*arguments, "--resume", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["evaluations"] == 12


def test_inspect_of_something_else(levers: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["inspect", "."]) == 2
    assert "holds no run: it has no run.json" in capsys.readouterr().err
