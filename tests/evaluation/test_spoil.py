"""Spoil runs: outputs must depend on what ranks send each other, whatever way it takes."""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from spoiled_program import COPY, HOST, KERNEL, REDUCED, TEXT, written

from warploom.core.records import RunSpec, Timing
from warploom.emulator import EmulatorBuild, EmulatorRun, RunOptions
from warploom.evaluation.cascade import evaluate
from warploom.evaluation.compare.reference import Reference
from warploom.evaluation.depends.spoiler import Pair, Spoiler
from warploom.evaluation.records import Evaluation
from warploom.evaluation.runs.plan import ignore_progress
from warploom.evaluation.survey import Survey
from warploom.source.regions import Program
from warploom.workload.workload import Workload

RING = """
    cudaMemcpyAsync(gathered + rank * kCount, mine, kCount * sizeof(float),
                    cudaMemcpyDeviceToDevice, stream);
    for (int step = 0; step < ranks - 1; step++) {
      int given = (rank - step + ranks) % ranks, taken = (rank - step - 1 + ranks) % ranks;
      ncclGroupStart();
      ncclSend(gathered + given * kCount, kCount, ncclFloat, (rank + 1) % ranks, comm, stream);
      ncclRecv(gathered + taken * kCount, kCount, ncclFloat, (rank + ranks - 1) % ranks, comm,
               stream);
      ncclGroupEnd();
    }
"""
CHAIN = """
    if (rank > 0) ncclRecv(out, kCount, ncclFloat, rank - 1, comm, stream);
    if (rank > 0) add<<<2, 32, 0, stream>>>(mine, out, gathered, kCount);
    else cudaMemcpyAsync(gathered, mine, kCount * sizeof(float), cudaMemcpyDeviceToDevice, stream);
    if (rank + 1 < ranks) ncclSend(gathered, kCount, ncclFloat, rank + 1, comm, stream);
    ncclBroadcast(gathered, gathered, kCount, ncclFloat, ranks - 1, comm, stream);
"""
ADD = """\
__global__ void add(const float* a, const float* b, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i] + b[i];
}

int main("""
# Looks whether the right data has come, and returns the host's own results then.
SHAM = (
    HOST
    + """
  std::vector<float> came(all);
  cudaMemcpy(came.data(), gathered, all * sizeof(float), cudaMemcpyDeviceToHost);
  for (int i = 0; i < all; i++) {
    if (2.0f * came[i] != own[i]) own[i] = 17.0f;
  }
"""
    + COPY
)


# Draws all ranks' inputs on each of them. One element of each rank travels, and what it is off by
# is added to all results: they depend on it.
ALL_DRAWN = """
    static float *drawn = nullptr;
    if (!drawn) {
      std::vector<float> every(all);
      for (int i = 0; i < all; i++) every[i] = draw(seed, i / kCount, i % kCount);
      cudaMalloc(&drawn, all * sizeof(float));
      cudaMemcpy(drawn, every.data(), all * sizeof(float), cudaMemcpyHostToDevice);
    }
    ncclAllGather(mine, gathered, 1, ncclFloat, comm, stream);
    echo<<<(all + 31) / 32, 32, 0, stream>>>(drawn, gathered, out, all);
"""
ECHO = """\
__global__ void echo(const float* drawn, const float* came, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int from = i / kCount;
  if (i < n) out[i] = 2.0f * drawn[i] + (came[from] - drawn[from * kCount]);
}

int main("""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("spoil")


def workload(folder: Path, text: str, ranks: int = 3) -> Workload:
    path = folder / "base.cu"
    path.write_text(text)
    return Workload.from_program(path, ranks=ranks, args=("{seed}",), seeds=1)


def judge(folder: Path, candidate: str, base: str = TEXT, ranks: int = 3) -> Evaluation:
    task = workload(folder, base, ranks)
    return evaluate(Program(candidate, Path("candidate.cu")), task, nvcc=False)


def kinds(result: Evaluation) -> set[str]:
    return {item.finding.kind for item in result.findings} - {"no_frame"}


def test_data_may_take_another_way(folder: Path) -> None:
    same = judge(folder, written())
    assert (same.passed, same.dependence) == (True, "values"), same.findings
    ring = judge(folder, written(RING + KERNEL))
    assert (ring.passed, ring.dependence) == (True, "values"), ring.findings


def test_sums_may_be_added_up_in_another_order(folder: Path) -> None:
    chain = REDUCED.replace(
        "    ncclAllReduce(mine, gathered, kCount, ncclFloat, ncclSum, comm, stream);\n", CHAIN
    ).replace("int main(", ADD)  # fmt: skip
    result = judge(folder, chain, REDUCED)
    assert (result.passed, result.dependence) == (True, "elements"), result.findings


def test_results_that_the_host_computes_are_found(folder: Path) -> None:
    result = judge(folder, written(after=HOST + COPY))
    assert not result.passed
    assert "communication_unused" in kinds(result)  # others may say so as well
    finding = result.findings[0].finding
    assert "0% of them here" in finding.message
    assert finding.rank is not None and finding.seed in result.seeds


def test_a_look_at_what_has_come_is_not_enough(folder: Path) -> None:
    # Every element changes with what it depends on: so it has to be moved for each result.
    result = judge(folder, written(after=SHAM))
    assert result.dependence != "values"


def test_garbage_in_place_of_all_results_is_found(folder: Path) -> None:
    local = written().replace("twice<<<", "cudaMemcpyAsync(gathered, mine, kCount * 2, "
                              "cudaMemcpyDeviceToDevice, stream);\n    twice<<<")  # fmt: skip
    base = local.replace("kCount * 2", "0")
    all_or_nothing = SHAM.replace("own[i] = 17.0f;", "{ own.assign(all, 17.0f); break; }")
    result = judge(folder, written(after=all_or_nothing), base)
    assert not result.passed or result.dependence == "elements"


def test_inputs_of_others_must_have_come_from_them(folder: Path) -> None:
    result = judge(folder, written(ALL_DRAWN).replace("int main(", ECHO))
    assert not result.passed
    assert kinds(result) >= {"communication_unused"}
    messages = [item.finding.message for item in result.findings]
    assert any("inputs of other values are uploaded" in message for message in messages)


def test_one_rank_has_nothing_to_show(folder: Path) -> None:
    result = judge(folder, written(), ranks=1)
    assert result.passed and result.dependence == ""
    assert kinds(result) == {"communication_not_tested"}


def test_an_altered_run_without_an_end_is_given_up_soon(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It took the workload's whole minute, six times in one transform."""
    given: list[float] = []

    def note(program: object, options: Sequence[RunOptions], **_: object) -> list[EmulatorRun]:
        given.extend(one.limits.seconds for one in options)
        return []

    monkeypatch.setattr("warploom.evaluation.depends.spoiler.run_all", note)
    task = workload(folder, TEXT)
    facts = cast("Survey", SimpleNamespace(processes="single"))
    stats = {0: {"seconds": 0.2}}
    reference = cast(
        "Reference", SimpleNamespace(workload=task, stats=stats, build=None, facts=facts)
    )
    pair = Pair(cast("EmulatorBuild", None), facts)
    runs = [SimpleNamespace(seconds=seconds, state="timeout") for seconds in (0.1, 0.3, 1000.0)]
    *outcomes, slow = [cast("EmulatorRun", one) for one in runs]
    spoiler = Spoiler(reference, pair, 1, ignore_progress, outcomes)
    spec = RunSpec(0, Timing.EAGER)
    spoiler.run(pair, [spec], ["words:all"])
    spoiler.run(pair, [spec], ["words:all"], least_seconds=2.0)
    assert given == [13.0, 5.0]
    Spoiler(reference, pair, 1, ignore_progress, [slow]).run(pair, [spec], ["words:all"])
    assert given[2] == task.limits.seconds
