"""The cascade on real builds and runs: what passes, and every way to cheat that must not."""

import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from warploom.core.errors import BadInputError
from warploom.core.records import Timing
from warploom.evaluation.cascade import evaluate
from warploom.evaluation.records import Evaluation
from warploom.evaluation.runs.plan import ALL_TIMINGS, Progress
from warploom.source.regions import Program
from warploom.workload.workload import Workload

TEXT = """\
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int kCount = 96;

// EVOLVE-BLOCK-START kernels
__global__ void scale(const float* in, float* out, float factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = factor * in[i];
}
// EVOLVE-BLOCK-END

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  cudaSetDevice(rank);
  ncclUniqueId id;
  if (rank == 0) ncclGetUniqueId(&id);
  MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t comm;
  ncclCommInitRank(&comm, ranks, id, rank);
  const size_t bytes = kCount * sizeof(float);
  srand(atoi(argv[1]) * 1000 + rank);
  std::vector<float> input(kCount), output(kCount);
  for (float& v : input) v = rand() / float(RAND_MAX) - 0.5f;
  float *d_in, *d_mid, *d_out;
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaMalloc(&d_in, bytes);
  cudaMalloc(&d_mid, bytes);
  cudaMalloc(&d_out, bytes);
  cudaMemcpy(d_in, input.data(), bytes, cudaMemcpyHostToDevice);
  // EVOLVE-BLOCK-START pipeline
  scale<<<3, 32, 0, stream>>>(d_in, d_mid, rank + 1.0f, kCount);
  ncclAllReduce(d_mid, d_out, kCount, ncclFloat, ncclSum, comm, stream);
  cudaStreamSynchronize(stream);
  // EVOLVE-BLOCK-END
  cudaMemcpy(output.data(), d_out, bytes, cudaMemcpyDeviceToHost);
  printf("rank %d: PASS\\n", rank);
  cudaFree(d_in);
  cudaFree(d_mid);
  cudaFree(d_out);
  cudaStreamDestroy(stream);
  ncclCommDestroy(comm);
  MPI_Finalize();
  return 0;
}
"""
LAUNCH = "  scale<<<3, 32, 0, stream>>>(d_in, d_mid, rank + 1.0f, kCount);\n"
REDUCE = "  ncclAllReduce(d_mid, d_out, kCount, ncclFloat, ncclSum, comm, stream);\n"

Judge = Callable[..., Evaluation]


@pytest.fixture
def workload(tmp_path: Path) -> Workload:
    path = tmp_path / "trusted.cu"
    path.write_text(TEXT)
    return Workload.from_program(path, ranks=3, args=["{seed}"], seeds=2, nccl="2.30.7")


@pytest.fixture
def judge(workload: Workload) -> Judge:
    def judge(text: str, **options: object) -> Evaluation:
        settings = {"nvcc": False, **options}
        return evaluate(Program(text, Path("candidate.cu")), workload, **settings)

    return judge


def kinds(result: Evaluation) -> list[str]:
    return [item.finding.kind for item in result.findings if item.finding.severity == "error"]


def test_the_trusted_program_passes_against_itself(judge: Judge) -> None:
    result = judge(TEXT)
    assert result.verified
    assert (result.level_reached, result.frame, result.exit_code) == (2, "kept", 0)
    assert [(run.seed, run.timing) for run in result.runs] == [
        *((seed, timing) for seed in result.seeds for timing in ALL_TIMINGS),
        (result.seeds[0], Timing.MODELLED),
    ]
    assert len(set(result.seeds)) == 2
    (output,) = result.comparisons
    assert (output.buffer, output.dtype, output.weak) == ("d_out", "float32", "")
    assert (output.compared, output.elements, output.failed) == (21, 21 * 96, 0)
    assert result.printed_verdict == "PASS"
    assert result.to_json()["passed"] is True
    assert pickle.loads(pickle.dumps(result)) == result


def test_another_correct_program_passes(judge: Judge) -> None:
    text = TEXT.replace(
        REDUCE,
        "  ncclReduce(d_mid, d_out, kCount, ncclFloat, ncclSum, 0, comm, stream);\n"
        "  ncclBroadcast(d_out, d_out, kCount, ncclFloat, 0, comm, stream);\n",
    ).replace("scale<<<3, 32, 0, stream>>>", "scale<<<1, 96, 0, stream>>>")
    assert judge(text).verified


@pytest.mark.parametrize(
    "pipeline",
    [
        "  cudaMemsetAsync(d_out, 0, bytes, stream);\n",
        LAUNCH + "  cudaMemcpyAsync(d_out, d_mid, bytes, cudaMemcpyDeviceToDevice, stream);\n",
        LAUNCH.replace("rank + 1.0f", "1.0f") + REDUCE,
        LAUNCH + REDUCE.replace("kCount", "kCount - 1"),
        LAUNCH + REDUCE.replace("ncclSum", "ncclMax"),
    ],
    ids=["zeros", "own data only", "wrong factor", "one element short", "wrong operation"],
)
def test_a_wrong_result_fails_though_it_prints_pass(judge: Judge, pipeline: str) -> None:
    text = TEXT.replace(LAUNCH + REDUCE, pipeline)
    result = judge(text)
    assert not result.passed
    assert result.printed_verdict == "PASS"
    assert "wrong_result" in kinds(result)
    first = next(i.finding for i in result.findings if i.finding.kind == "wrong_result")
    line = text[: text.index("cudaMemcpy(output")].count("\n") + 1
    assert (first.file, first.line, first.timing) == ("candidate.cu", line, Timing.LAZY)
    assert result.comparisons[0].worst is not None
    assert len(result.runs) == 1  # the first failure ends it


def test_skipped_work_is_no_success(judge: Judge) -> None:
    result = judge(TEXT.replace(LAUNCH + REDUCE, "  return 0;\n"))
    assert not result.passed
    assert "missing_result" in kinds(result)


def test_readbacks_of_the_candidates_own_do_not_count(judge: Judge) -> None:
    extra = "  cudaMemcpy(output.data(), d_out, bytes, cudaMemcpyDeviceToHost);\n"
    result = judge(TEXT.replace(REDUCE, f"{REDUCE}  cudaStreamSynchronize(stream);\n{extra}"))
    assert not result.passed
    assert "extra_result" in kinds(result)


def test_edits_of_the_frame_have_no_effect(judge: Judge) -> None:
    text = TEXT.replace("- 0.5f", "* 0.0f").replace(LAUNCH + REDUCE, LAUNCH.replace("1.0f", "2.0f"))
    result = judge(text)
    assert not result.passed
    assert "frame_edit" in {item.finding.kind for item in result.findings}


def test_level_0_stops_what_it_refuses(judge: Judge) -> None:
    result = judge(TEXT.replace(LAUNCH, f'{LAUNCH}  system("true");\n'))
    assert (result.passed, result.level_reached, kinds(result)) == (False, 0, ["forbidden_call"])
    assert result.builds == ()
    assert result.runs == ()


def test_a_hidden_call_is_found_in_the_build(judge: Judge) -> None:
    text = TEXT.replace(LAUNCH, f"{LAUNCH}  int (*quiet)(const char*) = nullptr; (void)quiet;\n")
    assert judge(text, level=1).passed
    hidden = TEXT.replace("#include <cstdlib>", "#include <cstdlib>\n#define RUN(x) system(x)")
    workload_text = hidden
    trusted = Program(workload_text, Path("trusted.cu"))
    candidate = hidden.replace(LAUNCH, f'{LAUNCH}  RUN("true");\n')
    result = judge(candidate, frame=trusted, level=1)
    assert (result.passed, result.level_reached, kinds(result)) == (False, 1, ["forbidden_call"])


def test_code_that_does_not_compile_names_its_line(judge: Judge) -> None:
    text = TEXT.replace("factor * in[i]", "factor * inn[i]")
    result = judge(text)
    assert (result.passed, result.level_reached, kinds(result)) == (False, 1, ["build"])
    finding = result.findings[0].finding
    assert finding.line == text[: text.index("inn[i]")].count("\n") + 1
    assert finding.file == "candidate.cu"
    assert [(build.tool, build.ok) for build in result.builds] == [("emulator", False)]


def test_a_failing_exit_code_fails(judge: Judge) -> None:
    result = judge(TEXT.replace(REDUCE, f"{REDUCE}  if (rank == 1) return 5;\n"))
    assert not result.passed
    assert result.runs[0].exit_codes[1] == 5


def test_a_missing_synchronization_is_found_though_values_may_match(judge: Judge) -> None:
    text = TEXT.replace("  cudaStreamSynchronize(stream);\n", "").replace(
        "cudaStreamCreate(&stream)", "cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)"
    )
    trusted = Program(
        TEXT.replace(
            "cudaStreamCreate(&stream)", "cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)"
        ),
        Path("trusted.cu"),
    )
    assert judge(trusted.text, frame=trusted).verified
    assert not judge(text, frame=trusted).passed


def test_reference_outputs_are_made_anew(workload: Workload) -> None:
    """What was computed for another evaluation may have been seen, or put there."""

    def stages() -> set[str]:
        seen: list[Progress] = []
        judged = {"nvcc": False, "inputs": [7], "timings": [Timing.EAGER]}
        result = evaluate(workload.program, workload, on_progress=seen.append, **judged)
        assert result.passed
        return {step.stage for step in seen}

    assert "reference" in stages()
    assert "reference" in stages()


def test_code_before_main_is_found_in_the_build(judge: Judge) -> None:
    """The frame's macro hides it from the rules on text."""
    define = '#define EARLY(x) __attribute__((constructor)) static void x() { printf("%d", 7); }'
    trusted = TEXT.replace("#include <cstdlib>", f"#include <cstdlib>\n{define}")
    candidate = trusted.replace("__global__ void scale", "EARLY(soon)\n__global__ void scale")
    frame = Program(trusted, Path("trusted.cu"))
    assert judge(trusted, frame=frame, level=1).passed
    result = judge(candidate, frame=frame, level=1)
    assert not result.passed
    assert kinds(result) == ["static_constructor"]


def test_a_program_that_ignores_its_seed_is_told(tmp_path: Path) -> None:
    path = tmp_path / "fixed.cu"
    path.write_text(TEXT.replace("atoi(argv[1]) * 1000 + rank", "7 + rank"))
    task = Workload.from_program(path, ranks=2, seeds=2, nccl="2.30.7")
    result = evaluate(path, task, nvcc=False)
    assert result.passed
    assert "seed_ignored" in {item.finding.kind for item in result.findings}


def test_constant_and_empty_evidence(tmp_path: Path) -> None:
    path = tmp_path / "weak.cu"
    path.write_text(TEXT.replace("rand() / float(RAND_MAX) - 0.5f", "1.0f"))
    task = Workload.from_program(path, ranks=2, args=["{seed}"], seeds=1, nccl="2.30.7")
    result = evaluate(path, task, nvcc=False)
    assert result.passed
    assert result.comparisons[0].weak == "constant"
    path.write_text(TEXT.replace("rand() / float(RAND_MAX) - 0.5f", "0.0f"))
    result = evaluate(path, task, nvcc=False)
    assert not result.passed
    assert "no_evidence" in kinds(result)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("return 0;", "return rank;"), "the trusted program must succeed"),
        (
            ("  cudaMemcpy(output.data(), d_out, bytes, cudaMemcpyDeviceToHost);\n", ""),
            "must copy its results from device to host",
        ),
    ],
)
def test_a_reference_that_fails_is_the_workloads_fault(
    tmp_path: Path, change: tuple[str, str], words: str
) -> None:
    path = tmp_path / "broken.cu"
    path.write_text(TEXT.replace(*change))
    task = Workload.from_program(path, ranks=2, args=["{seed}"], seeds=1, nccl="2.30.7")
    with pytest.raises(BadInputError, match=words):
        evaluate(path, task, nvcc=False)


def test_an_unsteady_reference_is_told(tmp_path: Path) -> None:
    path = tmp_path / "unsteady.cu"
    racy = TEXT.replace("  cudaStreamSynchronize(stream);\n", "", 1).replace(
        "cudaStreamCreate(&stream)", "cudaStreamCreateWithFlags(&stream, 1)"
    )
    path.write_text(racy)
    task = Workload.from_program(path, ranks=2, args=["{seed}"], seeds=1, nccl="2.30.7")
    result = evaluate(path, task, nvcc=False)
    assert not result.passed


def test_a_free_frame_is_told(tmp_path: Path) -> None:
    plain = "\n".join(line for line in TEXT.split("\n") if "EVOLVE-BLOCK" not in line)
    path = tmp_path / "plain.cu"
    path.write_text(plain)
    task = Workload.from_program(path, ranks=2, args=["{seed}"], seeds=1, nccl="2.30.7")
    other = tmp_path / "candidate.cu"
    other.write_text(plain.replace("scale<<<3, 32", "scale<<<6, 16"))
    result = evaluate(other, task, nvcc=False)
    assert result.verified
    assert result.frame == "free"
    assert "no_frame" in {item.finding.kind for item in result.findings}
    other.write_text(plain.replace("ncclSum", "ncclMax"))
    result = evaluate(other, task, nvcc=False)
    assert (result.passed, result.printed_verdict) == (False, "PASS")
