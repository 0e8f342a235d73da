"""A workload names one of the program's own timed regions: its time is scored."""

from pathlib import Path

import pytest
from test_time_levels import LOOP, TEXT

from warploom.core.errors import WorkloadError
from warploom.emulator import Region, Timeline, find_topology
from warploom.emulator.running.report import RawSpan
from warploom.evaluation.cascade import evaluate
from warploom.evaluation.records import Evaluation
from warploom.evaluation.times.scored_region import KIND, region_findings, scored_times
from warploom.source.regions import Program
from warploom.workload.workload import Workload

AFTER = "  cudaEventSynchronize(end);\n"
WHOLE = "\n".join(line for line in TEXT.splitlines() if "EVOLVE-BLOCK" not in line)
"""Without a frame: a candidate may change all of it."""


@pytest.fixture(scope="module")
def workload(tmp_path_factory: pytest.TempPathFactory) -> Workload:
    folder = tmp_path_factory.mktemp("region")
    (folder / "base.cu").write_text(WHOLE)
    (folder / "workload.toml").write_text(
        'program = "base.cu"\nranks = 2\nargs = ["{seed}"]\nseeds = 2\nscored_region = 1\n'
    )
    return Workload.from_file(folder)


def judge(text: str, workload: Workload) -> Evaluation:
    program = Program(text, Path("candidate.cu"))
    return evaluate(program, workload, level=4, nvcc=False, topology=find_topology("h200-8"))


def test_the_region_is_scored_and_the_whole_run_told(workload: Workload) -> None:
    base = judge(WHOLE, workload)
    assert base.benchmark is not None
    (region,) = base.benchmark.timeline.regions
    assert base.metrics["time_ms"] == base.metrics["baseline_ms"] == region.sum_ms
    assert base.metrics["whole_ms"] == base.benchmark.timeline.total_ms > region.start > 0
    fused = judge(WHOLE.replace(LOOP, "add<<<16, 256>>>(x, 20.0f, kCount);"), workload)
    assert fused.verified
    # Of the whole run it would be less: set-up is the same.
    whole = fused.metrics["baseline_whole_ms"] / fused.metrics["whole_ms"]
    assert fused.metrics["speedup"] > 1.5 * whole > 1.5


def test_work_behind_the_stop_event_counts(workload: Workload) -> None:
    late = LOOP.replace("1.0f", "0.0f")
    moved = judge(WHOLE.replace(AFTER, f"  {late}\n{AFTER}  cudaDeviceSynchronize();\n"), workload)
    assert moved.benchmark is not None, moved.findings
    (region,) = moved.benchmark.timeline.regions
    assert moved.metrics["baseline_ms"] == pytest.approx(region.sum_ms)
    # Twenty launches of 3.47 us each.
    assert 0.06 < moved.metrics["time_ms"] - region.sum_ms < 0.09
    assert moved.metrics["speedup"] < 0.6


def test_a_region_that_is_not_there_is_refused(workload: Workload) -> None:
    result = judge(WHOLE, workload.with_overrides(scored_region=2))
    assert not result.passed and result.benchmark is None
    (finding,) = [m.finding for m in result.findings if m.finding.kind == KIND]
    assert "scores region 2, but the trusted program times 1" in finding.message


def test_a_number_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "base.cu").write_text(WHOLE)
    (tmp_path / "workload.toml").write_text('program = "base.cu"\nscored_region = -1\n')
    with pytest.raises(WorkloadError, match="scored_region"):
        Workload.from_file(tmp_path)


def timeline(start: float, times: tuple[float, ...], last: float, dropped: int = 0) -> Timeline:
    """Make a timed run of 10 ms whose last kernel ends at `last` (milliseconds)."""
    span = RawSpan("kernel", 0, 1, "k", 0.0, last * 1e6, 0.0, 0.0)
    return Timeline((span,), (Region("a.cu", 1, times, start),), {0: 10.0}, dropped)


@pytest.mark.parametrize(
    ("candidate", "expected"),
    [
        (timeline(1.0, (2.0,), 4.0), 2.0),  # as the trusted program
        (timeline(3.0, (2.0,), 6.0), 2.0),  # more set-up
        (timeline(1.0, (0.5,), 2.5), 0.5),
        (timeline(1.0, (0.5,), 4.0), 2.0),  # the rest behind the stop event
        (timeline(1.0, (0.5,), 9.0), 7.0),
        (timeline(1.0, (0.5,), 1.5), 0.5),  # less beside the region: no gain
        (timeline(1.0, (1.0, 0.5), 3.5), 1.5),
        (timeline(1.0, (0.5,), 2.5, dropped=1), 8.0),  # what came last is not known
    ],
)
def test_what_counts(candidate: Timeline, expected: float) -> None:
    times, before = scored_times(1, [candidate], [timeline(1.0, (2.0,), 4.0)])
    assert times == pytest.approx((expected,)) and before == (2.0,)


def test_regions_must_be_timed_equally_often() -> None:
    once, twice = timeline(1.0, (2.0,), 4.0), timeline(1.0, (1.0, 1.0), 4.0)
    assert region_findings(1, [once], [once]) == ()
    (finding,) = region_findings(1, [once], [twice])
    assert "1 times, the trusted program 2 times" in finding.message
    assert region_findings(1, [Timeline((), (), {0: 1.0})], [once])
    (finding,) = region_findings(1, [once], [])
    assert "does not run to its end" in finding.message
