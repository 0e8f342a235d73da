"""What orders threads, and what does not: scopes, time-outs, polls, locks and streams."""

import re
from pathlib import Path

import pytest

from warploom.core.records import BuildSpec, Limits, RunSpec, Timing, Verdict
from warploom.emulator import EmulatorBuild, EmulatorRun, RunOptions, build, run

PROGRAM = Path(__file__).parent / "programs" / "order.cu"
FORMS = re.findall(r'all\["(\w+)"\] =', PROGRAM.read_text())
GOOD = sorted({form for form in FORMS if form.startswith("good_")})
SCHEDULES = [RunSpec(0, Timing.EAGER), RunSpec(0, Timing.LAZY)] + [
    RunSpec(seed, Timing.RANDOM) for seed in range(1, 9)
]
DEFECTS = {
    "block_scope": "scope_too_narrow",
    "host_scope": "scope_too_narrow",
    "mixed_size": "data_race",
    "barrier_scope": "scope_too_narrow",
    "relaxed": "readback_before_sync",
    "timed_wait": "readback_before_sync",
    "future_wait": "readback_before_sync",
    "spurious": "readback_before_sync",
    "few_polls": "readback_before_sync",
    "many_polls": "readback_before_sync",
    "async_memory": "data_race",
    "graph_target": "readback_before_sync",
    "graph_source": "data_race",
}


@pytest.fixture(scope="module")
def program() -> EmulatorBuild:
    return build(BuildSpec(PROGRAM))


def outcomes(program: EmulatorBuild, form: str) -> list[EmulatorRun]:
    return [
        run(
            program,
            RunOptions(
                run=schedule,
                ranks=1,
                processes="single",
                limits=Limits(seconds=60),
                args=(form,),
            ),
        )
        for schedule in SCHEDULES
    ]


@pytest.mark.parametrize("form", GOOD)
def test_what_is_ordered_is_not_accused(program: EmulatorBuild, form: str) -> None:
    for outcome in outcomes(program, form):
        assert outcome.stdout == ""
        assert outcome.verdict is Verdict.OK, outcome.findings


@pytest.mark.parametrize("form", sorted(DEFECTS))
def test_what_is_not_ordered_is_found(program: EmulatorBuild, form: str) -> None:
    """In one of the schedules at least, and by its name in all."""
    kinds = {finding.kind for outcome in outcomes(program, form) for finding in outcome.findings}
    assert kinds == {DEFECTS[form]}


def test_each_form_is_of_one_of_the_two_sorts() -> None:
    assert set(FORMS) == {*GOOD, *DEFECTS}


@pytest.mark.parametrize(
    ("form", "kinds"),
    [
        ("good", set[str]()),
        ("other_context", {"context_index"}),
        ("early_reset", {"signal_reset_race"}),
    ],
)
def test_flush_requests_and_counters(form: str, kinds: set[str]) -> None:
    harness = Path(__file__).parents[1] / "corpus" / "programs"
    program = build(BuildSpec(PROGRAM.with_name("gin_requests.cu"), include_dirs=(harness,)))
    for schedule in SCHEDULES[:4]:
        limits = Limits(seconds=60)
        outcome = run(program, RunOptions(run=schedule, ranks=2, limits=limits, args=(form,)))
        assert {finding.kind for finding in outcome.findings} == kinds, outcome.findings
