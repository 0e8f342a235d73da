"""Workloads that bring a judge of their own: programs of any language, ranked by its score."""

import json
import math
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from level_model import prompt_of, task_of

from warploom.cli.run import run_cli
from warploom.core.errors import BadInputError
from warploom.evolve.compose import compose
from warploom.evolve.evaluator import Question
from warploom.evolve.judge import OwnJudge, without_runs
from warploom.evolve.runner import EvolutionRunner
from warploom.store.database import ProgramDatabase, sqlite_url
from warploom.store.records import Outcome
from warploom.testing.loopback import KEY, LoopbackServer
from warploom.testing.wire import Asked, Reply
from warploom.toolchain.sandbox import find_sandbox
from warploom.workload.workload import load_target

SPREAD = Path(__file__).with_name("spread")
USUAL = (
    "evolution.max_dollars=20", "evolution.workers=1", "evolution.generation_size=3",
    "evolution.plateau=0", "models.concurrency=1", "summary.interval=2", "summary.model=false",
)  # fmt: skip
BETTER = (
    "[(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (0.5, 0.4)]",
    "[(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (0.5, 0.5)]",
)


@pytest.fixture
def spread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return Path(shutil.copytree(SPREAD, tmp_path / "spread"))


def answer(asked: Asked) -> Reply:
    """Edit the region, the frame, break it, or write it anew, in turn."""
    prompt, turn = prompt_of(asked), asked.number % 5
    assert "secret_bound" not in prompt  # private metrics are
    body = BETTER[asked.number % 2]
    shown = prompt.rpartition("<<<<BEGIN PROGRAM")[2].split("\n", 1)[1]
    own = shown.partition("<<<<END PROGRAM")[0]
    line = next(one for one in own.splitlines() if one.startswith("    return"))
    if turn == 1:
        edit = "def main() -> list[tuple[float, float]]:\n=======\ndef main():"
        return Reply(f"<<<<<<< SEARCH\n{edit}\n>>>>>>> REPLACE\n")
    if turn == 2:
        return Reply(
            f"<<<<<<< SEARCH\n{line}\n=======\n    return [(2.0, 0.0)] * 5\n>>>>>>> REPLACE"
        )
    text = own.replace(line, f"    return {body}  # {asked.number}")
    if turn == 3:
        return Reply(f"```python\n{text.replace('def main', 'def other')}```\n")
    return Reply(f"<<<<<<< SEARCH\n{line}\n=======\n    return {body}\n>>>>>>> REPLACE\n")


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer(answer) as running:
        yield running


def model(server: LoopbackServer) -> str:
    return f"models.names=[{server.model('openai-chat')}]"


def test_a_search_by_the_workloads_own_judge(
    spread: Path, server: LoopbackServer, tmp_path: Path
) -> None:
    config = compose([*USUAL, model(server), "evolution.num_generations=6"])
    result = EvolutionRunner(config).run(spread, tmp_path / "run", seed=2)
    assert result.time_source == "judge"
    assert result.best.outcome.score == pytest.approx(math.sqrt(0.5))
    assert result.improved and result.speedup is None
    assert result.seed_scores == {"initial": pytest.approx(0.1 * math.sqrt(2))}
    text = result.best.program.read_text()
    frame = (spread / "initial.py").read_text()
    assert text.partition("def points")[0] == frame.partition("def points")[0]
    assert "def main() -> list" in text  # the frame is the initial program's
    run = json.loads((tmp_path / "run" / "run.json").read_text())["id"]
    url = sqlite_url(tmp_path / "run" / "programs.db")
    with ProgramDatabase(url=url, run=run, read_only=True) as store:
        programs = list(store.programs())
    assert {one.language for one in programs} == {"python"}
    assert any(one.outcome.failure == "incorrect" for one in programs)
    assert all(one.outcome.time_ms is None for one in programs)
    asked = [prompt_of(one) for one in server.asked]
    assert any("outside of the markers" in one for one in asked)
    assert all("Five points in the unit square" in one for one in asked)
    assert any("are the closest" in one and "mean_distance" in one for one in asked)
    assert any(task_of(one) == "fix" for one in server.asked)
    told = (tmp_path / "run" / "README.md").read_text()
    assert "| `initial` | 0.141421 |" in told and "evaluate.py --program_path" in told


def test_the_commands(
    spread: Path, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(spread.parent)
    few = [*USUAL, model(server), "evolution.num_generations=2", "--seed", "2", "--out", "run"]
    assert run_cli(["evolve", "spread", *few]) == 0
    said = capsys.readouterr()
    assert "best score" in said.err and "$20 at most" in said.err
    assert "better than the program that it began with" in said.out
    assert run_cli(["inspect", "run"]) == 0
    assert "score 0.7" in capsys.readouterr().out
    assert run_cli(["evolve", "spread"]) == 2
    assert "no rule changes the programs" in capsys.readouterr().err
    assert run_cli(["check", "spread"]) == 2
    assert "with a judge of its own is for evolve" in capsys.readouterr().err


def judged(spread: Path, evaluate: str) -> Outcome:
    (spread / "evaluate.py").write_text(evaluate)
    task = load_target(spread, own_judge=True)
    task = replace(task, limits=replace(task.limits, seconds=3))
    return OwnJudge(task)(spread / "initial.py", Question("", (1,)))


HEAD = "import sys, json, os\nfrom pathlib import Path\nplace = Path(sys.argv[-1])\n"
ONE = '(place / "metrics.json").write_text(json.dumps({"combined_score": 1}))\n'
GOOD = '(place / "correct.json").write_text(json.dumps({"correct": True}))\n'


@pytest.mark.parametrize(
    ("evaluate", "failure", "words"),
    [
        ("print('hello')", "no_verdict", "correct.json cannot be read"),
        (HEAD + GOOD, "no_verdict", "metrics.json cannot be read"),
        (HEAD + GOOD + '(place / "metrics.json").write_text("{")', "no_verdict", "no whole JSON"),
        (HEAD + GOOD + '(place / "metrics.json").write_text("[]")', "no_verdict", "an object"),
        (HEAD + GOOD + '(place / "metrics.json").write_text(\'{"combined_score": NaN}\')',
         "no_verdict", "must be a number, got nan"),
        (HEAD + GOOD + ONE + "sys.exit(3)",
         "no_verdict", "exit code 3"),
        (HEAD + GOOD + 'os.symlink("/etc/passwd", place / "metrics.json")',
         "no_verdict", "metrics.json cannot be read"),
        (HEAD + '(place / "correct.json").write_text(\'{"correct": false, "error": "too few"}\')',
         "incorrect", "too few"),
        (HEAD + '(place / "correct.json").write_text(\'{"correct": 1}\')', "no_verdict", "true or"),
        ("while True: pass", "time", "the judge was ended"),
        ("open('evaluate.py', 'w')", "no_verdict", "Error"),
    ],
)  # fmt: skip
def test_verdicts_count_only_when_they_are_whole(
    spread: Path, evaluate: str, failure: str, words: str
) -> None:
    found = judged(spread, evaluate)
    assert not found.correct and found.score is None
    assert failure in found.failure
    assert words in found.feedback


def test_a_verdict(spread: Path) -> None:
    task = load_target(spread, own_judge=True)
    found = OwnJudge(task)(spread / "initial.py", Question("", (1,)))
    assert found.correct, found.feedback
    assert found.score == pytest.approx(0.1 * math.sqrt(2))
    assert set(found.public) == {"mean_distance"}
    assert set(found.private) == {"secret_bound"}
    assert "are the closest" in found.feedback and "closest: (3, 4)" in found.feedback


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('["python3", "evaluate.py"]', "[]", "judge.command must name a program"),
        ('["python3", "evaluate.py"]', "5", "judge.command"),
        ("task =", "tasks =", "judge.tasks: unknown key"),
        ('["python3"', '["no-such-program"', "'no-such-program' is not found"),
    ],
)
def test_wrong_workloads(
    spread: Path, server: LoopbackServer, before: str, after: str, message: str
) -> None:
    file = spread / "workload.toml"
    file.write_text(file.read_text().replace(before, after))
    with pytest.raises(BadInputError, match=message):
        EvolutionRunner(compose([*USUAL, model(server)])).run(spread, spread.parent / "run")
    assert not (spread.parent / "run" / "run.json").exists()


def test_markers_must_pair_up(spread: Path, server: LoopbackServer) -> None:
    program = spread / "initial.py"
    program.write_text(program.read_text().replace("# EVOLVE-BLOCK-END\n", ""))
    with pytest.raises(BadInputError, match="must be closed by EVOLVE-BLOCK-END"):
        EvolutionRunner(compose([*USUAL, model(server)])).run(spread, spread.parent / "run")


FORGER = """import glob, os
def forge():
    places = glob.glob("/tmp/**/results", recursive=True)
    for of in ("self", str(os.getppid())):
        try:
            with open(f"/proc/{of}/cmdline") as words:
                places += [word for word in words.read().split("\\0") if word.endswith("results")]
        except OSError:
            pass
    for place in places:
        for name, text in (("metrics", '{"combined_score": 99}'), ("correct", '{"correct": true}')):
            try:
                with open(f"{place}/{name}.json", "w") as file:
                    file.write(text)
            except OSError:
                pass
    return len(places)
def main():
    DO
    return [(0.1 * at, 0.1 * at) for at in range(5)]
"""
EARLY = "forge()\n    os._exit(0)"
LATE = """if os.fork() == 0:
        import time
        for _ in range(40):
            forge()
            time.sleep(0.05)
        os._exit(0)"""
SLOW = "\nimport time; time.sleep(1)\n"  # what comes late has its time


@pytest.mark.parametrize("kind", ["bubblewrap", "landlock"])
@pytest.mark.parametrize("how", [EARLY, LATE])
def test_a_program_writes_no_verdict(
    spread: Path, monkeypatch: pytest.MonkeyPatch, kind: str, how: str
) -> None:
    monkeypatch.setenv("WARPLOOM_SANDBOX", kind)
    find_sandbox.cache_clear()
    if find_sandbox().kind != kind:
        pytest.skip(f"no {kind} here: {find_sandbox().reason}")
    (spread / "initial.py").write_text(FORGER.replace("DO", how))
    judge = spread / "evaluate.py"
    judge.write_text(judge.read_text() + SLOW)
    task = load_target(spread, own_judge=True)
    found = OwnJudge(task)(spread / "initial.py", Question("", (1,)))
    find_sandbox.cache_clear()
    assert found.score != 99, found
    assert found.correct is (how is LATE), found.feedback  # who ends early has no points


def test_within_the_judges_process_it_would(spread: Path) -> None:
    """What the words of $WARPLOOM_APART are for: this judge does not use them."""
    (spread / "initial.py").write_text(FORGER.replace("DO", EARLY))
    task = load_target(spread, own_judge=True)
    (spread / "evaluate.py").write_text(
        "import runpy, sys\nrunpy.run_path(sys.argv[2])['main']()\n"
    )
    assert OwnJudge(task)(spread / "initial.py", Question("", (1,))).score == 99


def test_a_judge_sees_no_runs(spread: Path) -> None:
    """A run in the workload's folder holds other candidates, and metrics that are private."""
    run = spread / "runs" / "one"
    (run / "attempts" / "attempt-001").mkdir(parents=True)
    for name in ("run.json", "config.yaml", "programs.db"):
        (run / name).write_text("a secret")
    (spread / "runs" / "data.txt").write_text("known to all")
    candidate = run / "attempts" / "attempt-001" / "initial.py"
    shutil.copy(spread / "initial.py", candidate)
    (spread / "evaluate.py").write_text(
        "from pathlib import Path\nfor path in Path.cwd().rglob('*'):\n"
        "    try: print(path.name, path.read_text())\n    except OSError: pass\n"
        "print(open('runs/data.txt').read())\n"
        "print(open('runs/one/attempts/attempt-001/initial.py').read())"
    )
    found = OwnJudge(load_target(spread, own_judge=True))(candidate, Question("", (1,)))
    assert "a secret" not in found.feedback
    assert "known to all" in found.feedback and "def points" in found.feedback
    assert without_runs(spread.parent / "none") == [spread.parent / "none"]
