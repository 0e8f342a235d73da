"""What each repetition computes is there when it ends, and before the program takes the time."""

from pathlib import Path

import pytest
from spoiled_program import KERNEL, TEXT

from warploom.core.records import BuildSpec
from warploom.emulator import EmulatorRun, RunOptions, Spoil, build, find_topology, run
from warploom.evaluation.cascade import evaluate
from warploom.evaluation.depends.iterations import not_looked_at
from warploom.evaluation.records import Evaluation
from warploom.source.regions import Program
from warploom.workload.workload import Workload

LAST = 4
BEGIN, END = "// EVOLVE-BLOCK-START\n", "// EVOLVE-BLOCK-END\n"
FRAMED = (
    TEXT.replace("iteration < 3", f"iteration <= {LAST}")
    .replace("__global__ void twice", f"{BEGIN}__global__ void twice")
    .replace("int main(", f"{END}\nint main(")
    .replace(KERNEL, f"{BEGIN}{KERNEL}    {END}")
)
FREE = FRAMED.replace(BEGIN, "").replace(END, "")
STORE = "if (i < n) out[i] = 2.0f * in[i];"


def when(condition: str, text: str) -> str:
    """Let the kernel know the iteration and the rank, and store on one condition."""
    return (
        text.replace("out, int n) {", "out, int n, int iteration, int rank) {")
        .replace("gathered, out, all);", "gathered, out, all, iteration, rank);")
        .replace("if (i < n) ", f"if (i < n && ({condition})) ")
    )


def of_ints(text: str) -> str:
    """Give the program an output of integers, which no run alters."""
    return (
        text.replace("float* out", "int* out")
        .replace("= 2.0f * in[i]", "= int(1e6f * in[i])")
        .replace("input(kCount), output(all)", "input(kCount)")
        .replace("  float *mine, *gathered, *out;", "  float *mine, *gathered;\n  int* out;\n"
                 "  std::vector<int> output(all);")
    )  # fmt: skip


def managed(text: str) -> str:
    """Let the host take the output from memory that both sides see."""
    return text.replace("cudaMalloc(&out,", "cudaMallocManaged(&out,").replace(
        "  cudaMemcpy(output.data(), out, all * sizeof(float), cudaMemcpyDeviceToHost);\n",
        "  for (int i = 0; i < all; i++) output[i] = out[i];\n",
    )


def judge(tmp_path: Path, base: str, text: str) -> Evaluation:
    path = tmp_path / "base.cu"
    path.write_text(base)
    workload = Workload.from_program(path, ranks=2, args=("{seed}",), seeds=1)
    program = Program(text, Path("candidate.cu"))
    return evaluate(program, workload, level=2, nvcc=False, topology=find_topology("h200-8"))


def messages(result: Evaluation) -> list[str]:
    return [f"{one.finding.kind}: {one.finding.message}" for one in result.findings]


def refused(result: Evaluation) -> str:
    """Return why a candidate was refused, which must be that its results come late."""
    assert not result.passed
    [found] = [text for text in messages(result) if text.startswith("work_differs")]
    assert "there yet" in found, found
    return found


SKIPS = {
    "all": f"iteration == {LAST}",
    "but_the_warm_up": f"iteration == 0 || iteration == {LAST}",
    "every_second": "iteration % 2 == 0",
    "one_of_four": "iteration != 2",
    "half_of_the_elements": f"i % 2 == 0 || iteration == {LAST}",
    "another_rank": f"rank == 0 || iteration == {LAST}",
}


@pytest.mark.parametrize("how", SKIPS)
def test_work_of_the_last_iteration_alone_is_found(tmp_path: Path, how: str) -> None:
    refused(judge(tmp_path, FRAMED, when(SKIPS[how], FRAMED)))


@pytest.mark.parametrize("how", ["all", "but_the_warm_up", "another_rank"])
def test_results_that_no_run_alters_must_be_stored_anew(tmp_path: Path, how: str) -> None:
    base = of_ints(FREE)
    refused(judge(tmp_path, base, when(SKIPS[how], base)))


def test_results_that_the_host_takes_in_place_are_looked_at_too(tmp_path: Path) -> None:
    base = managed(FREE)
    assert "out" in refused(judge(tmp_path, base, when(SKIPS["every_second"], base)))


AFTER = FREE.replace(KERNEL, "").replace(
    "  cudaEventElapsedTime(",
    f"{KERNEL}  cudaStreamSynchronize(stream);\n  cudaEventElapsedTime(",
)
BEHIND = {
    "in_place": AFTER,
    "elsewhere": FREE.replace("gathered, out, all);", "gathered, other, all);")
    .replace("  cudaEvent_t start, stop;", "  float* other;\n"
             "  cudaMalloc(&other, all * sizeof(float));\n  cudaEvent_t start, stop;")
    .replace("  cudaEventElapsedTime(", "  cudaMemcpy(out, other, all * sizeof(float), "
             "cudaMemcpyDeviceToDevice);\n  cudaEventElapsedTime("),
    "in_new_memory": AFTER.replace("  cudaMalloc(&out, all * sizeof(float));\n", "").replace(
        KERNEL, f"  cudaMalloc(&out, all * sizeof(float));\n{KERNEL}"
    ),
}  # fmt: skip


@pytest.mark.parametrize("how", BEHIND)
def test_work_behind_the_last_time_is_found(tmp_path: Path, how: str) -> None:
    assert "at point 2" in refused(judge(tmp_path, FREE, BEHIND[how]))


def test_work_behind_the_last_time_is_found_without_a_warm_up(tmp_path: Path) -> None:
    def cold(text: str) -> str:
        return text.replace("if (iteration == 1) {", "if (iteration == 0) {")

    assert "at point 2" in refused(judge(tmp_path, cold(FREE), cold(AFTER)))


SLICES = (
    FREE.replace("cudaMalloc(&out, all", f"cudaMalloc(&out, {LAST + 1} * all")
    .replace("output(all)", f"output({LAST + 1} * all)")
    .replace("output.data(), out, all", f"output.data(), out, {LAST + 1} * all")
    .replace("gathered, out, all);", "gathered, out + iteration * all, all);")
)


def test_what_one_repetition_leaves_for_good_is_there_when_it_ends(tmp_path: Path) -> None:
    late = SLICES.replace(KERNEL.replace("out,", "out + iteration * all,"), "").replace(
        "  cudaEventRecord(stop, stream);",
        f"  for (int k = 0; k <= {LAST}; k++)\n"
        "    twice<<<(all + 31) / 32, 32, 0, stream>>>(gathered, out + k * all, all);\n"
        "  cudaEventRecord(stop, stream);",
    )
    assert "do not recur" in str(messages(judge(tmp_path, SLICES, late)))
    inside = SLICES.replace("if (i < n)", "if (i < n && iteration == 4)")
    inside = inside.replace("float* out, int n) {", "float* out, int n, int iteration) {")
    inside = inside.replace(
        "out + iteration * all, all);",
        "out, all, iteration);",
    ).replace(
        "out[i] = 2.0f * in[i];",
        f"for (int k = 0; k <= {LAST}; k++) out[k * n + i] = 2.0f * in[i];",
    )
    refused(judge(tmp_path, SLICES, inside))


HONEST = {
    "itself": FREE,
    "another_kernel": FREE.replace("(all + 31) / 32, 32, 0", "1, 64, 0")
    .replace(STORE, "for (; i < n; i += 64) out[i] = in[i] + in[i];"),
    "another_stream": FREE.replace(
        KERNEL, "    cudaEventRecord(moved, stream);\n    cudaStreamWaitEvent(side, moved, 0);\n"
        + KERNEL.replace("stream>>>", "side>>>")
        + "    cudaEventRecord(done, side);\n    cudaStreamWaitEvent(stream, done, 0);\n"
    ).replace("  cudaEvent_t start, stop;", "  cudaStream_t side;\n  cudaStreamCreate(&side);\n"
              "  cudaEvent_t moved, done;\n  cudaEventCreate(&moved);\n  cudaEventCreate(&done);\n"
              "  cudaEvent_t start, stop;"),
    "in_two_kernels": FREE.replace(
        KERNEL, "    twice<<<2, 32, 0, stream>>>(gathered, out, all / 2);\n"
        "    twice<<<2, 32, 0, stream>>>(gathered + all / 2, out + all / 2, all - all / 2);\n"
    ),
    "prologue_and_epilogue": FREE.replace(
        "  cudaEvent_t start, stop;", "  cudaMemset(out, 0, all * sizeof(float));\n"
        "  twice<<<2, 32, 0, stream>>>(mine, gathered, kCount);\n  cudaEvent_t start, stop;"
    ).replace("  cudaEventElapsedTime(", "  cudaMemsetAsync(gathered, 0, 64, stream);\n"
              "  cudaStreamSynchronize(stream);\n  cudaEventElapsedTime("),
    "counts": FREE.replace(KERNEL, KERNEL + "    count<<<1, 1, 0, stream>>>();\n").replace(
        "int main(", "__device__ int rounds;\n__global__ void count() { rounds = rounds + 1; }\n"
        "int main("),
    "managed": managed(FREE),
}  # fmt: skip


@pytest.mark.parametrize("how", HONEST)
def test_who_works_in_each_iteration_passes(tmp_path: Path, how: str) -> None:
    result = judge(tmp_path, managed(FREE) if how == "managed" else FREE, HONEST[how])
    assert result.passed, messages(result)


def padded(text: str) -> str:
    """Let the first half of the output be the same number throughout."""
    return of_ints(text).replace("= int(1e6f * in[i])", "= i < n / 2 ? -1 : int(1e6f * in[i])")


def test_padding_may_be_written_once(tmp_path: Path) -> None:
    once = padded(FREE).replace("if (i < n)", "if (i >= n / 2 && i < n)").replace(
        "  cudaEvent_t start, stop;",
        "  cudaMemset(out, 0xff, all * sizeof(int));\n  cudaEvent_t start, stop;",
    )  # fmt: skip
    result = judge(tmp_path, padded(FREE), once)
    assert result.passed, messages(result)


SUM = (
    FREE.replace("out[i] = 2.0f * in[i]", "out[i] += in[i]")
    .replace("  cudaEvent_t start, stop;", "  cudaMemset(out, 0, all * sizeof(float));\n"
             "  cudaEvent_t start, stop;")
)  # fmt: skip


def test_nothing_is_asked_of_what_the_reference_computes_later(tmp_path: Path) -> None:
    result = judge(tmp_path, SUM, SUM.replace("(all + 31) / 32, 32, 0", "4, 64, 0"))
    assert result.passed, messages(result)


def _with_versions(path: Path, versions: int = 0) -> EmulatorRun:
    plain = run(build(BuildSpec(path)), RunOptions(ranks=2, args=("1",)))
    points = {r: tuple(int(plain.stats[f"point_{n}_of_{r}"]) for n in (1, 2)) for r in (0, 1)}
    spoil = Spoil("7:f4:none", points=points, meet=True, poison=1, versions=versions)
    return run(build(BuildSpec(path)), RunOptions(ranks=2, args=("1",), spoil=spoil, race=False))


def test_what_was_there_before_is_told_before_it_is_altered(tmp_path: Path) -> None:
    path = tmp_path / "base.cu"
    path.write_text(FREE)
    told = _with_versions(path, versions=64)
    assert told.state == "finished"
    assert told.stats["version_2"] == told.stats["version_4"] == 1
    for readback in told.readbacks:
        assert [version.moments for version in readback.versions] == [(2, 4)]
        assert readback.versions[0].data is None
    assert not any(one.versions for one in _with_versions(path).readbacks)


def test_what_differs_is_told_with_what_was_stored(tmp_path: Path) -> None:
    path = tmp_path / "late.cu"
    path.write_text(AFTER)
    for readback in _with_versions(path, versions=64).readbacks:
        [then] = readback.versions
        assert then.moments == (2, 4)
        assert then.data is not None
        assert then.data != readback.data
        assert then.stored is not None
        assert not any(bytes(then.stored))


def test_who_writes_more_than_can_be_kept_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "large.cu"
    path.write_text(
        FREE.replace("  cudaEvent_t start, stop;", "  float* room;\n  cudaMalloc(&room, 4 << 20);\n"
                     "  draw_all<<<64, 64>>>(room, 1 << 20);\n  cudaEvent_t start, stop;")
        .replace("int main(", "__global__ void draw_all(float* room, int n) {\n  int i = blockIdx.x"
                 " * blockDim.x + threadIdx.x;\n  for (; i < n; i += 4096) room[i] = i;\n}\n"
                 "int main(")
    )  # fmt: skip
    kept = _with_versions(path, versions=64)
    assert all(one.versions for one in kept.readbacks)
    full = _with_versions(path, versions=1)
    assert full.stats["unkept"] == 1
    assert not any(one.versions for one in full.readbacks)
    assert "more device memory" in not_looked_at(kept.stats, full)
    assert not not_looked_at(full.stats, full)
