"""Blocks and kernels that start late are tried in the first run, the only one of `quick`."""

import pytest

from warploom.evaluation.runs.plan import Effort
from warploom.testing.checkers import OwnChecker
from warploom.testing.corpus import PROGRAMS, run_entry
from warploom.testing.corpus_files import read_corpus

ENTRIES = {entry.name: entry for entry in read_corpus(PROGRAMS)}


@pytest.mark.parametrize(
    "name",
    [
        "gin_baseline:OWN_BASELINE@2",
        "gin_baseline:FIRST_WAITS@2",
        "gin_baseline:NO_BARRIER@2",
        "gin_multi_cta:FOREIGN_BASELINE@2",
    ],
)
def test_a_quick_check_finds_a_baseline_that_is_read_late(name: str):
    outcome = run_entry(ENTRIES[name], OwnChecker(None, Effort.QUICK))
    assert outcome.good, outcome.got
