"""Levels 3 and 4: modelled time and score of verified candidates, and what must not get one."""

import json
import pickle
from pathlib import Path

import pytest

from warploom.cli.run import run_cli
from warploom.core.errors import BadInputError
from warploom.emulator import Region, Timeline, find_topology
from warploom.evaluation.cascade import evaluate
from warploom.evaluation.modelled_time import is_possible
from warploom.evaluation.records import Evaluation
from warploom.source.regions import Program
from warploom.workload.workload import Workload

TEXT = """\
#include <cuda_runtime.h>
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int kCount = 4096;

// EVOLVE-BLOCK-START kernels
__global__ void add(float* x, float value, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += value;
}
// EVOLVE-BLOCK-END

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  cudaSetDevice(rank);
  srand(atoi(argv[1]) + rank);
  std::vector<float> values(kCount);
  for (float& v : values) v = rand() % 1000;
  float* x;
  cudaMalloc(&x, kCount * sizeof(float));
  cudaMemcpy(x, values.data(), kCount * sizeof(float), cudaMemcpyHostToDevice);
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  cudaEventRecord(begin);
  // EVOLVE-BLOCK-START pipeline
  for (int i = 0; i < 20; i++) add<<<16, 256>>>(x, 1.0f, kCount);
  // EVOLVE-BLOCK-END
  cudaEventRecord(end);
  cudaEventSynchronize(end);
  float ms = 0;
  cudaEventElapsedTime(&ms, begin, end);
  MPI_Barrier(MPI_COMM_WORLD);
  cudaMemcpy(values.data(), x, kCount * sizeof(float), cudaMemcpyDeviceToHost);
  cudaFree(x);
  MPI_Finalize();
  return 0;
}
"""
LOOP = "for (int i = 0; i < 20; i++) add<<<16, 256>>>(x, 1.0f, kCount);"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("timed")
    (place / "base.cu").write_text(TEXT)
    return place


@pytest.fixture(scope="module")
def workload(folder: Path) -> Workload:
    return Workload.from_program(folder / "base.cu", ranks=2, args=("{seed}",), seeds=2)


def judge(text: str, workload: Workload, level: int = 4, topology: str = "h200-8") -> Evaluation:
    program = Program(text, Path("candidate.cu"))
    return evaluate(program, workload, level=level, nvcc=False, topology=find_topology(topology))


@pytest.fixture(scope="module")
def base(workload: Workload) -> Evaluation:
    return judge(TEXT, workload)


def test_a_verified_candidate_gets_a_modelled_time_and_a_score(base: Evaluation):
    assert base.verified and base.level_reached == 4 and base.time_source == "modelled"
    metrics = base.metrics
    assert metrics["score"] == base.score == pytest.approx(10000 / (1 + metrics["time_ms"]))
    assert metrics["baseline_ms"] == metrics["time_ms"] and metrics["speedup"] == 1
    parts = [metrics[f"{part}_ms"] for part in ("compute", "exposed", "waiting", "host")]
    assert sum(parts) == pytest.approx(metrics["time_ms"], rel=1e-6)
    assert pickle.loads(pickle.dumps(base)) == base


def test_the_region_between_events_is_told_by_its_line(base: Evaluation):
    assert base.benchmark is not None
    (region,) = base.benchmark.timeline.regions
    assert region.line == TEXT.splitlines().index("  cudaEventElapsedTime(&ms, begin, end);") + 1
    # Twenty launches of 3.47 us each, and the last kernel.
    assert 0.065 < region.median_ms < 0.08
    assert region.median_ms < base.metrics["time_ms"]


def test_less_launches_score_higher(workload: Workload, base: Evaluation):
    fused = TEXT.replace(LOOP, "add<<<16, 256>>>(x, 20.0f, kCount);")
    better = judge(fused, workload)
    assert better.verified and better.score is not None and base.score is not None
    assert better.score > base.score
    assert better.metrics["speedup"] > 1.5
    assert better.metrics["baseline_ms"] == base.metrics["time_ms"]


def test_the_same_run_takes_the_same_time(workload: Workload, base: Evaluation):
    again = judge(TEXT, workload)
    assert again.benchmark == base.benchmark


def test_a_wrong_candidate_gets_no_time(workload: Workload):
    wrong = judge(TEXT.replace("i < 20", "i < 19"), workload)
    assert not wrong.passed and wrong.level_reached == 2
    assert wrong.benchmark is None and wrong.metrics == {} and wrong.time_source == "none"


def test_work_that_is_left_out_on_the_machine_that_is_timed_fails(workload: Workload):
    """A program can tell machines apart: it is verified on the one that is timed."""
    cheat = TEXT.replace(
        LOOP,
        "int sms = 0; cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, rank); "
        f"if (sms == 132) {LOOP}",
    )
    result = judge(cheat, workload, topology="a100-8")
    assert not result.passed and result.level_reached == 2 and result.benchmark is None
    assert {found.finding.kind for found in result.findings} >= {"wrong_result"}


def test_a_time_that_nothing_can_run_for_is_refused(folder: Path):
    sleeper = TEXT.replace("  cudaEventRecord(end);", "  sleep(7200);\n  cudaEventRecord(end);")
    sleeper = sleeper.replace("#include <mpi.h>", "#include <mpi.h>\n#include <unistd.h>")
    (folder / "sleeper.cu").write_text(sleeper)
    workload = Workload.from_program(folder / "sleeper.cu", ranks=2, args=("{seed}",), seeds=1)
    result = judge(sleeper, workload)
    assert not result.passed and result.level_reached == 3 and result.benchmark is None
    (message,) = (
        found.finding.message
        for found in result.findings
        if found.finding.kind == "impossible_time"
    )
    assert "7.2e+06 ms" in message


@pytest.mark.parametrize("total", [float("inf"), float("nan"), 1e300, -1.0])
def test_only_times_that_are_possible_count(total: float):
    assert is_possible(Timeline((), (), {0: 0.5}))
    assert not is_possible(Timeline((), (), {0: total}))
    assert not is_possible(Timeline((), (Region(None, None, (total,)),), {0: 0.5}))


def test_level_three_has_a_time_and_no_score(workload: Workload):
    result = judge(TEXT, workload, level=3)
    assert result.passed and result.level_reached == 3
    assert result.metrics["time_ms"] > 0 and result.score is None


def test_level_two_measures_nothing(workload: Workload):
    result = judge(TEXT, workload, level=2)
    assert result.verified and result.benchmark is None and result.time_source == "none"


def test_ranks_that_do_not_fit_the_machine_are_refused(folder: Path):
    many = Workload.from_program(folder / "base.cu", ranks=16, args=("{seed}",))
    with pytest.raises(BadInputError, match="LSA team of 16"):
        judge(TEXT, many)


def test_the_command_prints_time_and_writes_the_timeline(
    folder: Path, capsys: pytest.CaptureFixture[str]
):
    (folder / "workload.toml").write_text(
        'program = "base.cu"\nranks = 2\nargs = ["{seed}"]\nseeds = 1\n'
    )
    trace = folder / "trace.json"
    base = str(folder / "base.cu")
    code = run_cli(["eval", base, str(folder), "--topology", "h100-8", "--timeline", str(trace)])
    printed = capsys.readouterr().out
    assert code == 0
    assert "ms modelled on h100-8" in printed and "score: " in printed
    assert "exposed communication" in printed and "timed region base.cu:" in printed
    events = json.loads(trace.read_text())["traceEvents"]
    kernels = [e for e in events if e.get("cat") == "kernel"]
    assert len(kernels) == 40 and {e["pid"] for e in kernels} == {0, 1}
    assert all(e["dur"] > 0 for e in kernels)


def test_the_command_prints_json(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert run_cli(["eval", str(folder / "base.cu"), str(folder), "--level", "4", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["time_source"] == "modelled" and data["benchmark"]["topology"] == "h200-8"
    assert data["metrics"]["score"] > 0 and len(data["benchmark"]["ranks"]) == 2


def test_wrong_topologies_are_bad_input(folder: Path, capsys: pytest.CaptureFixture[str]):
    base = str(folder / "base.cu")
    assert run_cli(["eval", base, str(folder), "--topology", "h900"]) == 2
    assert run_cli(["eval", base, str(folder), "--topology", "h100-8", "--level", "1"]) == 2
    assert "h900" in capsys.readouterr().err


def test_doctor_shows_a_profile(capsys: pytest.CaptureFixture[str]):
    assert run_cli(["doctor", "--topology", "gb200-nvl72"]) == 0
    printed = capsys.readouterr().out
    assert "NVL72" in printed and "dram_gbs" in printed and "datasheet" in printed
