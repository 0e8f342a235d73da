"""Results are read by the frame: no region reads them in its place and leaves it something else."""

from pathlib import Path

import pytest
from reduced_program import INCLUDES, KERNEL, MAIN

from warploom.core.records import Severity, Timing
from warploom.evaluation.cascade import evaluate
from warploom.evaluation.records import Evaluation
from warploom.workload.workload import Workload

SUM_OF = """\
static float sum_of(const float* from) {
  float total = 0;
  for (int i = 0; i < kCount; i++) total += from[i];
  return total;
}
"""
ALLOCATION = "ALLOCATE(&out[d], kCount * sizeof(float));"
TRUSTED = INCLUDES + SUM_OF + KERNEL + MAIN.replace("ALLOCATE", ALLOCATION)
LAUNCH = "    finish<<<1, kCount, 0, streams[d]>>>(sum[d], out[d]);\n"
WAIT = "    cudaStreamSynchronize(streams[d]);\n"
FORMS = {
    "in place": ("cudaMallocManaged", "for (int i = 0; i < kCount; i++) total += out[d][i];"),
    "function": ("cudaMallocManaged", "total += sum_of(out[d]);"),
    "library": (
        "cudaMallocManaged",
        "float got[kCount]; std::memcpy(got, out[d], sizeof got); total += got[5];",
    ),
    "copy": (
        "cudaMalloc",
        "float got[kCount]; cudaMemcpy(got, out[d], sizeof got, cudaMemcpyDefault);"
        " total += got[5];",
    ),
}
REGION_READS = "    for (int i = 0; i < kCount; i++) total += 0 * out[d][i];\n"
REGION_COPIES = (
    "    float mine[kCount];\n    cudaMemcpy(mine, out[d], sizeof mine, cudaMemcpyDeviceToHost);\n"
)
FROM_HOST = "    out[d] = (float*)std::calloc(kCount, sizeof(float));\n"
CHEATS = {
    "the host stores after it": ("in place", REGION_READS + "    out[d][3] = -1;\n"),
    "another place": ("in place", REGION_READS + FROM_HOST),
    "a function of the frame": (
        "function", "    total += 0 * sum_of(out[d]);\n" + FROM_HOST
    ),
    "the library": (
        "library",
        "    float mine[kCount];\n    std::memcpy(mine, out[d], sizeof mine);\n"
        "    total += 0 * mine[5];\n"
        + FROM_HOST
    ),
    "a copy": ("copy", REGION_COPIES + FROM_HOST),
}  # fmt: skip


def program(form: str) -> str:
    allocate, read = FORMS[form]
    return TRUSTED.replace("ALLOCATE", allocate).replace("READ", read)


def judged(folder: Path, trusted: str, candidate: str) -> Evaluation:
    path, other = folder / "trusted.cu", folder / "candidate.cu"
    path.write_text(trusted)
    other.write_text(candidate)
    task = Workload.from_program(path, ranks=2, args=("{seed}",), seeds=1)
    return evaluate(other, task, nvcc=False, timings=[Timing.EAGER])


def kinds(result: Evaluation) -> set[str]:
    return {i.finding.kind for i in result.findings if i.finding.severity is Severity.ERROR}


@pytest.mark.parametrize("form", FORMS)
def test_a_region_may_do_its_work_otherwise(tmp_path: Path, form: str) -> None:
    text = program(form)
    longer = text.replace(
        LAUNCH, "    const float* from = sum[d];\n" + LAUNCH.replace("sum[d]", "from")
    )
    result = judged(tmp_path, text, longer)
    assert result.passed, result.findings


@pytest.mark.parametrize("cheat", CHEATS)
def test_a_region_does_not_read_in_the_frames_place(tmp_path: Path, cheat: str) -> None:
    form, added = CHEATS[cheat]
    text = program(form)
    result = judged(tmp_path, text, text.replace(LAUNCH, LAUNCH + WAIT + added))
    assert not result.passed
    assert "elsewhere_result" in kinds(result), result.findings


def test_a_region_that_reads_in_the_trusted_program_may(tmp_path: Path) -> None:
    read = FORMS["in place"][1]
    text = program("in place").replace(WAIT + f"    {read}\n", "")
    text = text.replace(LAUNCH, LAUNCH + WAIT + f"    {read}\n")
    assert "total" in text
    other = text.replace(read, "for (int i = kCount; i--;) {\n      total += out[d][i];\n    }")
    result = judged(tmp_path, text, other)
    assert result.passed, result.findings


FRESH = {
    "variable": (
        "__device__ int table[64];\n",
        "    int* raw;\n    cudaMalloc(&raw, 256);\n"
        "    cudaMemcpyToSymbolAsync(table, raw, 256, 0, cudaMemcpyDeviceToDevice, streams[d]);\n",
        "table[threadIdx.x] == 0",
    ),
    "second word": (
        "__device__ long long* fresh;\n",
        "    int *words, one = 1;\n    cudaMalloc(&words, 512);\n"
        "    for (int i = 0; i < 128; i += 2)\n"
        "      cudaMemcpyAsync(words + i, &one, 4, cudaMemcpyHostToDevice, streams[d]);\n"
        "    cudaMemcpyToSymbolAsync(fresh, &words, 8, 0, cudaMemcpyHostToDevice, streams[d]);\n"
        "    cudaStreamSynchronize(streams[d]);\n",
        "fresh[threadIdx.x] == 1",
    ),
    "part of a word": (
        "__device__ char* bytes;\n",
        "    char* words;\n    cudaMalloc(&words, 256);\n"
        "    for (int i = 0; i < 256; i += 4) cudaMemsetAsync(words + i, 7, 1, streams[d]);\n"
        "    cudaMemcpyToSymbolAsync(bytes, &words, 8, 0, cudaMemcpyHostToDevice, streams[d]);\n"
        "    cudaStreamSynchronize(streams[d]);\n",
        "bytes[4 * threadIdx.x + 1] == 0",
    ),
}


@pytest.mark.parametrize("how", FRESH)
def test_no_result_goes_by_what_nobody_has_written(tmp_path: Path, how: str) -> None:
    declared, made, condition = FRESH[how]
    text = program("copy")
    bad = text.replace("__global__", declared + "__global__").replace(
        "+ threadIdx.x;", f"+ threadIdx.x + ({condition} ? 100 : 0);"
    )
    result = judged(tmp_path, text, bad.replace(LAUNCH, made + LAUNCH))
    assert "wrong_result" in kinds(result), result.findings
