"""A seed that an engine loses."""

from dataclasses import replace

import pytest
from evolve_bench import EVALUATOR, Bench

from warploom.core.errors import ToolFailedError


def test_a_seed_that_an_engine_loses_is_judged_when_the_run_goes_on(bench: Bench) -> None:
    broken = replace(bench, evaluator=replace(EVALUATOR, dies=frozenset({"unroll=1"})))
    with pytest.raises(ToolFailedError, match=r"a program to start from was not judged: .*died"):
        broken.run("run", "evolution.workers=2")
    result = bench.run("run", "evolution.max_evaluations=2", resume=True)
    assert result.evaluations == 2
    assert "worker_died" not in result.failures
