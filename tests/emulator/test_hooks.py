"""The short ways of access hooks and built-in variables: as right as the long ones."""

from pathlib import Path

import pytest

from warploom.core.records import BuildSpec, Finding, Limits, RunSpec, Timing, Verdict
from warploom.emulator import EmulatorRun, RunOptions, build, run

PROGRAM = Path(__file__).parent / "programs" / "hooks.cu"
SCHEDULES = [RunSpec(0, Timing.LAZY), RunSpec(3, Timing.RANDOM)]


def outcome_of(what: str, schedule: RunSpec = SCHEDULES[0], *, race: bool = True) -> EmulatorRun:
    limits = Limits(seconds=60)
    options = RunOptions(run=schedule, ranks=1, limits=limits, race=race, args=(what,))
    return run(build(BuildSpec(PROGRAM)), options)


def only_finding(outcome: EmulatorRun) -> Finding:
    (finding,) = outcome.findings
    return finding


def text_at(finding: Finding) -> str:
    assert finding.line is not None
    return PROGRAM.read_text().splitlines()[finding.line - 1]


@pytest.mark.parametrize("race", [True, False], ids=["checked", "unchecked"])
@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda s: s.timing)
def test_built_in_variables_name_the_thread_before_and_after_it_waits(
    schedule: RunSpec, race: bool
) -> None:
    outcome = outcome_of("places", schedule, race=race)
    assert outcome.verdict is Verdict.OK, outcome.findings


@pytest.mark.parametrize("race", [True, False], ids=["checked", "unchecked"])
@pytest.mark.parametrize("what", ["rows", "early-returns", "0", "3", "59", "chunk"])
def test_a_correct_program_has_no_finding(what: str, race: bool) -> None:
    outcome = outcome_of(what, race=race)
    assert outcome.verdict is Verdict.OK, outcome.findings


def test_accesses_are_counted_alike_with_and_without_the_check() -> None:
    counts = {outcome_of("3", race=race).stats["accesses"] for race in (True, False)}
    assert len(counts) == 1
    assert counts.pop() >= 200_000


def test_a_race_of_whole_structures_is_found_where_they_are_copied() -> None:
    finding = only_finding(outcome_of("rows-race"))
    assert finding.kind == "data_race"
    assert "out[same ? 0 : i] = in[i]" in text_at(finding)


def test_a_race_in_a_helper_is_found_at_its_line() -> None:
    findings = outcome_of("add").findings
    assert {finding.kind for finding in findings} == {"data_race"}
    assert {finding.kernel for finding in findings} == {"add_all"}
    assert all("*sum += value" in text_at(finding) for finding in findings)


@pytest.mark.parametrize("race", [True, False], ids=["checked", "unchecked"])
def test_the_end_of_a_whole_chunk_of_memory_and_of_its_life_are_seen(race: bool) -> None:
    assert outcome_of("chunk-passed", race=race).findings[0].kind == "out_of_bounds"
    assert outcome_of("chunk-freed", race=race).findings[0].kind == "use_after_free"


def test_a_read_whose_value_only_one_thread_uses_is_seen_of_all() -> None:
    finding = only_finding(outcome_of("ask-early"))
    assert finding.kind == "shared_memory_race"
    assert "if (last == 0 && threadIdx.x == 0)" in text_at(finding)


@pytest.mark.parametrize("race", [True, False], ids=["checked", "unchecked"])
def test_a_thread_that_reads_memory_and_skips_a_barrier_is_found(race: bool) -> None:
    finding = only_finding(outcome_of("early-reads", race=race))
    assert finding.kind == "divergent_barrier"


@pytest.mark.parametrize("race", [True, False], ids=["checked", "unchecked"])
@pytest.mark.parametrize("offset", ["-3", "60"])
def test_an_unaligned_read_that_passes_an_end_is_out_of_bounds(offset: str, race: bool) -> None:
    kinds = {finding.kind for finding in outcome_of(offset, race=race).findings}
    assert "out_of_bounds" in kinds
