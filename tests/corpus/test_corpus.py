"""Every planted defect is found with its kind and line; no correct program is accused."""

from collections.abc import Callable
from typing import Any

import pytest

from warploom.testing.corpus import PROGRAMS, Outcome, run_decisive
from warploom.testing.corpus_files import Entry, read_corpus

ENTRIES = read_corpus(PROGRAMS)
DEFECTS = [entry for entry in ENTRIES if entry.defect]
CORRECT = [entry for entry in ENTRIES if not entry.defect]
FIRST = {entry.program: entry for entry in reversed(DEFECTS)}
"""One defect of each program: CI finds these, a night's run all of them."""
ONCE = {entry.program: entry for entry in reversed(CORRECT)}
"""One setting of each correct program: as many ranks and the version that it names first."""
Ahead = Callable[[str, Callable[[Any], Any]], Callable[[Any], Any]]


@pytest.fixture(scope="module")
def judge(ahead: Ahead) -> Callable[[Entry], Outcome]:
    return ahead("entry", run_decisive)


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(entry, marks=() if FIRST[entry.program] is entry else pytest.mark.long)
        for entry in DEFECTS
    ],
    ids=[entry.name for entry in DEFECTS],
)
def test_defect_is_found(entry: Entry, judge: Callable[[Entry], Outcome]) -> None:
    outcome = judge(entry)
    assert outcome.good, (
        f"{entry.why}: expected {'|'.join(entry.kinds)} at {entry.program.name}:{entry.lines}, "
        f"got {outcome.verdict} {outcome.got}"
    )


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(entry, marks=() if ONCE[entry.program] is entry else pytest.mark.long)
        for entry in CORRECT
    ],
    ids=[entry.name for entry in CORRECT],
)
def test_correct_program_is_not_accused(entry: Entry, judge: Callable[[Entry], Outcome]) -> None:
    outcome = judge(entry)
    assert outcome.good, f"false alarm: {outcome.verdict} {outcome.got}"


def test_corpus_covers_what_a_checker_must_find() -> None:
    kinds = {kind for entry in DEFECTS for kind in entry.kinds}
    assert len(DEFECTS) >= 250
    assert len({entry.program for entry in CORRECT}) >= 60
    assert len({entry.name for entry in ENTRIES}) == len(ENTRIES)
    assert kinds >= {
        *("missing_wait", "deadlock", "signal_reset_race", "signal_mixed_ops", "signal_index"),
        *("source_reuse", "overlapping_puts", "destination_overwrite"),
        *("window_null", "window_range", "window_memory", "window_alignment"),
        *("window_order_mismatch", "window_deregistered", "window_use_after_free"),
        *("peer_not_in_lsa_team", "barrier_team", "peer_off_rail", "peer_out_of_range"),
        *("divergent_barrier", "partial_coop", "coop_cta_2d", "barrier_shared"),
        *("barrier_index", "counter_index", "context_index", "gin_not_enabled", "not_resident"),
        *("data_race", "scope_too_narrow", "shared_memory_race"),
        *("collective_mismatch", "group_unclosed", "use_after_destroy", "launch_error"),
        *("call_in_host_function",),
        *("readback_before_sync", "host_dereference", "device_dereference_host", "out_of_bounds"),
        *("use_after_free", "double_free", "crash", "mpi_mismatch"),
        *("foreign_memory", "emulator_access"),
    }
