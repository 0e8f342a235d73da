"""Plans, merged findings, overall verdicts, printed verdicts."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warploom.core.errors import BadInputError
from warploom.core.records import (
    Finding,
    RunSpec,
    Severity,
    SourceLocation,
    Timing,
    TraceEvent,
    Verdict,
)
from warploom.evaluation.merged_findings import merge, renamed
from warploom.evaluation.runs.plan import (
    Effort,
    Progress,
    check_plan,
    counter,
    parse_effort,
    parse_replay,
    verify_plan,
    worker_count,
)
from warploom.evaluation.runs.printed import printed_verdict


def finding(kind: str = "race", line: int | None = 3, **fields: object) -> Finding:
    values: dict[str, object] = {"severity": Severity.ERROR, "message": "m", "file": "a.cu"}
    return Finding(**{"kind": kind, "line": line, **values, **fields})


def test_check_runs_every_timing_even_at_one_seed() -> None:
    assert check_plan(Effort.NORMAL, 1) == (
        (RunSpec(0, Timing.LAZY),),
        (RunSpec(0, Timing.EAGER), RunSpec(0, Timing.RANDOM)),
    )
    assert len(check_plan(Effort.NORMAL, 5)[1]) == 6


def test_a_quick_check_is_one_lazy_run_unless_seeds_are_asked_for() -> None:
    lazy = (RunSpec(0, Timing.LAZY),)
    assert check_plan(Effort.QUICK, 3) == (lazy,)
    random = (RunSpec(0, Timing.RANDOM), RunSpec(1, Timing.RANDOM))
    assert check_plan(Effort.QUICK, 3, asked=2) == (lazy, random)


@given(st.integers(1, 60), st.none() | st.integers(1, 60))
def test_a_thorough_check_goes_on_where_a_normal_one_ends(seeds: int, asked: int | None) -> None:
    normal = check_plan(Effort.NORMAL, seeds, asked)
    thorough = check_plan(Effort.THOROUGH, seeds, asked)
    assert thorough[0] == normal[0]
    assert set(thorough[1]) <= set(normal[1])
    runs = [run for batch in thorough for run in batch]
    assert len(set(runs)) == len(runs)
    randoms = {run.seed for run in runs if run.timing is Timing.RANDOM}
    assert randoms == set(range(max(seeds, 20) if asked is None else asked))
    for number, batch in enumerate(thorough[2:], 1):
        assert batch[:2] == (RunSpec(number, Timing.LAZY), RunSpec(number, Timing.EAGER))
        assert 1 <= len(batch[2:]) <= 5


@given(st.integers(0, 2**63 - 1), st.sampled_from(Timing))
def test_a_run_is_named_by_seed_and_timing(seed: int, timing: Timing) -> None:
    assert parse_replay(f"{seed}:{timing}") == RunSpec(seed, timing)


@pytest.mark.parametrize(
    "text", ["", "3", "3:", ":lazy", "-1:lazy", "3:late", "3:lazy:1", "\u0663:lazy", "9" * 5000]
)
def test_other_names_of_runs_are_refused(text: str) -> None:
    with pytest.raises(BadInputError, match="must be SEED:TIMING"):
        parse_replay(text)
    with pytest.raises(BadInputError, match="must be quick, normal or thorough"):
        parse_effort(text)


@given(st.integers(1, 20))
def test_verify_runs_every_seed_with_every_timing(seeds: int) -> None:
    plan = verify_plan(range(seeds))
    assert len(set(plan)) == len(plan) == 3 * seeds
    assert plan[0] == RunSpec(0, Timing.LAZY)
    assert {run.seed for run in plan} == set(range(seeds))


def test_one_defect_is_told_once_with_its_first_run() -> None:
    first = finding(seed=0, timing=Timing.LAZY, rank=1)
    again = finding(seed=2, timing=Timing.RANDOM, rank=0, message="other words")
    merged = merge([[first, again], [again], [], [finding(line=4)]])
    assert [(item.finding, item.runs) for item in merged] == [(first, 2), (finding(line=4), 1)]


def test_errors_come_first_and_other_places_stay_apart() -> None:
    warning = finding(severity=Severity.WARNING)
    items = [warning, finding(kernel="k"), finding(kind="deadlock"), finding(file="b.cu")]
    merged = [item.finding for item in merge([items])]
    assert merged == [*items[1:], warning]


def test_findings_without_a_line_are_told_apart_by_their_message() -> None:
    one, two = finding(line=None), finding(line=None, message="n")
    assert len(merge([[one, two, one]])) == 2
    assert merge([[one]])[0].to_json()["runs"] == 1


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("Verification: PASS\n", "PASS"),
        ("Verification: FAIL\nrank 1: PASS", "FAIL"),
        ("all tests passed, 0 failures", "PASS"),
        ("no mismatches", ""),
        ("3 mismatches", "FAIL"),
        ("bypassed", ""),
        ("", ""),
    ],
)
def test_printed_verdicts(text: str, verdict: str) -> None:
    assert printed_verdict(text) == verdict


def test_worker_count_is_within_the_work() -> None:
    assert worker_count(8, 3) == 3
    assert worker_count(2, 3) == 2
    assert worker_count(None, 1) == 1
    assert worker_count(4, 0) == 1


def test_the_counter_counts() -> None:
    seen: list[Progress] = []
    step = counter("run", 2, seen.append)
    step(None)
    step(None)
    assert [item.done for item in seen] == [0, 1, 2]


def test_the_worst_verdict_wins() -> None:
    from warploom.evaluation.runs.emulated import overall

    assert overall([]) == Verdict.OK
    assert overall([Verdict.OK, Verdict.FAILED, Verdict.DEFECT]) == Verdict.DEFECT
    assert overall([Verdict.DEADLOCK, Verdict.UNSUPPORTED]) == Verdict.UNSUPPORTED


def test_a_cause_comes_first_and_what_comes_of_it_is_one_entry() -> None:
    wait = SourceLocation("a.cu", 5)
    reads = [finding("missing_wait", line, cause=wait) for line in (7, 8)]
    late = finding("destination_overwrite", 9, cause=wait)
    other = finding("missing_wait", 7, cause=SourceLocation("a.cu", 20))
    merged = merge([[*reads, late], [finding("early_wait", 5), late, other]])
    assert [(m.finding.kind, m.finding.line, m.runs) for m in merged] == [
        ("early_wait", 5, 1),
        ("missing_wait", 7, 2),
        ("missing_wait", 7, 1),
    ]


def test_paths_of_ours_are_in_no_part_of_a_finding() -> None:
    folder = Path("/tmp/warploom-x1")
    path = f"{folder}/moe.cu"
    item = finding(
        file=path,
        message=f"{path}:3: 'x' was not declared\nIn file included from {folder}/other.h:1",
        hint=f"look at {path} or {tempfile.gettempdir()}/warploom-stage-a_1/device/moe.cu",
        other=SourceLocation(path, 9),
        cause=SourceLocation(path, 4),
        trace=(TraceEvent(1, 0, "waits", file=path, line=9),),
    )
    clean = renamed(item, {path: "mine/moe.cu"}, folder)
    assert str(folder) not in repr(clean)
    assert clean.file == "mine/moe.cu"
    assert clean.hint == "look at mine/moe.cu or device/moe.cu"
    assert clean.message.startswith("mine/moe.cu:3: ")
    assert clean.other == SourceLocation("mine/moe.cu", 9)
    assert clean.trace[0].file == "mine/moe.cu"
