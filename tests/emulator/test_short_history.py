"""What the history keeps in a short form says the same as what it keeps in whole."""

from pathlib import Path

import pytest

from warploom.core.records import BuildSpec, Limits, RunSpec, Timing
from warploom.emulator import EmulatorRun, RunOptions, build, run

PROGRAM = Path(__file__).parent / "programs" / "scattered.cu"


def outcomes(macro: str, spec: RunSpec) -> list[EmulatorRun]:
    built = build(BuildSpec(PROGRAM, defines={macro: ""} if macro else {}))
    return [
        run(
            built,
            RunOptions(
                run=spec, ranks=1, processes="single", whole_history_mb=whole,
                limits=Limits(seconds=100),
            ),
        )
        for whole in (1024, 2, 0)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("macro", "spec", "kinds"),
    [
        ("", RunSpec(0, Timing.LAZY), set[str]()),
        ("ROWS", RunSpec(0, Timing.LAZY), set[str]()),
        ("IN_PLACE", RunSpec(0, Timing.LAZY), {"data_race"}),
        ("OTHER_STREAM", RunSpec(3, Timing.RANDOM), {"data_race"}),
    ],
)
def test_findings_are_the_same_in_less_memory(macro: str, spec: RunSpec, kinds: set[str]):
    whole, mixed, short = outcomes(macro, spec)
    assert {found.kind for found in whole.findings} - {"exit_code"} == kinds
    assert whole.findings == mixed.findings == short.findings
    assert whole.stdout == mixed.stdout == short.stdout
    assert [r.data for r in whole.readbacks] == [r.data for r in short.readbacks]
    steps = [{**o.stats, "seconds": 0} for o in (whole, mixed, short)]
    assert steps[0] == steps[1] == steps[2]
    if macro == "ROWS":
        assert short.memory_mb < whole.memory_mb * 3 // 4
