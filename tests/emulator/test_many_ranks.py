"""Many ranks and many rounds: rings and all-to-alls, with the happens-before check on."""

from pathlib import Path

import pytest

from warploom.core.records import BuildSpec, RunSpec, Timing, Verdict
from warploom.emulator import RunOptions, build, run
from warploom.evaluation.check import check
from warploom.evaluation.runs.plan import Effort

PROGRAMS = Path(__file__).parents[1] / "corpus" / "programs"
MANY_ROUNDS = Path(__file__).parent / "programs" / "many_rounds.cu"


@pytest.mark.parametrize("program", ["host_ring", "gin_ring", "gin_put_value"])
def test_256_ranks(program: str) -> None:
    report = check(PROGRAMS / f"{program}.cu", ranks=256, effort=Effort.QUICK)
    assert report.verdict is Verdict.OK, report.findings
    assert len(report.runs[0].exit_codes) == 256


def test_what_all_know_is_forgotten() -> None:
    """Who observed completions of puts is remembered, but not for the whole of a long run."""
    built = build(BuildSpec(MANY_ROUNDS, include_dirs=(PROGRAMS,)))
    remembered: list[float] = []
    for rounds in (5, 60):
        options = RunOptions(run=RunSpec(0, Timing.LAZY), ranks=2, args=(str(rounds),))
        outcome = run(built, options)
        assert outcome.verdict is Verdict.OK, outcome.findings
        remembered.append(outcome.stats["completions"])
    few, most = remembered
    # Nothing is forgotten below 4,096; from then on twice what is left, and one round more.
    assert 12 * few > 2 * 4096
    assert most < 4096 + few
