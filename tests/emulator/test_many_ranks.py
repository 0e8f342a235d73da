"""256 ranks in one process: rings and an all-to-all, with the happens-before check on."""

from pathlib import Path

import pytest

from warploom.core.records import Verdict
from warploom.evaluate.check import check
from warploom.evaluate.plan import Effort

PROGRAMS = Path(__file__).parents[1] / "corpus" / "programs"


@pytest.mark.parametrize("program", ["host_ring", "gin_ring", "gin_put_value"])
def test_256_ranks(program: str) -> None:
    report = check(PROGRAMS / f"{program}.cu", ranks=256, effort=Effort.QUICK)
    assert report.verdict is Verdict.OK, report.findings
    assert len(report.runs[0].exit_codes) == 256
