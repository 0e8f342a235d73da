"""A short search over a real program, judged by the emulator; slow."""

import json
from pathlib import Path

from warploom.cli.run import run_cli
from warploom.evolve.compose import compose
from warploom.evolve.runner import EvolutionRunner
from warploom.evolve.seeds import kept_seeds
from warploom.store.database import ProgramDatabase, sqlite_url
from warploom.workload.workload import load_target

MOE = Path(__file__).parents[2] / "examples" / "moe"
SHORT = (
    "apis=[gin]", "evolution.max_evaluations=2", "evaluation.topology=h200-2x8",
    "evaluation.confirm_seeds=1", "evaluation.nvcc=false", "evolution.workers=2",
)  # fmt: skip


def test_a_real_program_is_transformed_searched_and_resumed(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    result = EvolutionRunner(compose(SHORT)).run(MOE, folder, seed=1)
    assert result.evaluations == 2
    assert result.time_source == "modelled"
    assert result.baseline_ms is not None
    assert result.best.outcome.public["baseline_ms"] == result.baseline_ms
    assert set(result.seed_ms) == {"gin"}
    text = result.best.program.read_text()
    assert "ncclGin" in text
    assert "ncclAlltoAll(" not in text
    run = json.loads((folder / "run.json").read_text())
    url = sqlite_url(folder / "programs.db")
    with ProgramDatabase(url=url, run=run["id"], read_only=True) as store:
        programs = list(store.programs())
        assert [one.number for one in programs] == [1, 2, 3]
        assert all(one.outcome.level == 4 for one in programs if one.outcome.correct)
        assert all(one.lineage.directives for one in programs)
        assert any(one.outcome.correct for one in programs[1:])
        assert "+" in programs[1].diff
    larger = compose([*SHORT, "evolution.max_evaluations=3"])
    again = EvolutionRunner(larger).run(MOE, folder, resume=True)
    assert again.evaluations == 3
    code = run_cli(["inspect", str(folder), "--json"])
    assert code == 0


def test_a_broken_candidate_fails_as_what_it_is(tmp_path: Path) -> None:
    """The evaluator of the search says of a program without its waits what check says."""
    from warploom.emulator import find_topology
    from warploom.evolve.evaluator import Question, WorkloadEvaluator
    from warploom.evolve.seeds import TransformedSeeds

    workload = load_target(MOE)
    (seed,) = TransformedSeeds(nvcc=False)(workload, ("gin",), lambda _: None).programs
    lines = seed.text.splitlines(keepends=True)
    broken = [x for x in lines if not ("waitSignal" in x and "dataSignal(" in x)]
    assert len(broken) < len(lines)
    path = tmp_path / "moe.cu"
    path.write_text("".join(broken))
    judge = WorkloadEvaluator(workload, find_topology("h200-2x8"), nvcc=False)
    outcome = judge(path, Question("gin", (11,)))
    assert not outcome.correct
    assert outcome.score is None
    assert outcome.failure
    assert outcome.findings
    assert kept_seeds(tmp_path) is None
