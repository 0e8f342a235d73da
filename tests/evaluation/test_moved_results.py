"""Results that are moved before they are read back are there when repetitions end, too."""

import re
from pathlib import Path

import pytest
from spoiled_program import KERNEL
from test_results_in_time import (
    BEGIN,
    END,
    FRAMED,
    LAST,
    SUM,
    judge,
    messages,
    of_ints,
    refused,
    when,
)

READ = "  cudaMemcpy(output.data(), out, all * sizeof(float), cudaMemcpyDeviceToHost);\n"
HALVE = (
    "__global__ void halve(const float* in, float* out, int count) {\n"
    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < count) out[i] = 0.5f * in[count - 1 - i];\n"
    "}\nint main("
)
ALLOCATE = "  cudaMalloc(&out, all * sizeof(float));\n"


def read_by(*lines: str) -> str:
    """Let the frame read its results in another way."""
    assert READ in FRAMED
    return FRAMED.replace(READ, "".join(f"  {line}\n" for line in lines))


def copied(by: str) -> str:
    return read_by(
        "float* other;",
        "cudaMalloc(&other, all * sizeof(float));",
        "cudaMemset(other, 0, all * sizeof(float));",
        by,
        READ.strip().replace("out,", "other,"),
        "cudaFree(other);",
    )


def anew(text: str) -> str:
    """Allocate the output in each iteration."""
    return text.replace(ALLOCATE, "").replace(
        "    ncclAllGather(",
        f"    if (iteration > 0) cudaFree(out);\n  {ALLOCATE}    ncclAllGather(",
    )


WAYS = {
    "allreduce": read_by(
        "MPI_Allreduce(out, output.data(), all, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);"
    ),
    "message": read_by(
        "MPI_Request sent;",
        "MPI_Isend(out, all, MPI_FLOAT, 1 - rank, 3, MPI_COMM_WORLD, &sent);",
        "MPI_Recv(output.data(), all, MPI_FLOAT, 1 - rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);",
        "MPI_Wait(&sent, MPI_STATUS_IGNORE);",
    ),
    "window": read_by(
        "MPI_Win win;",
        "MPI_Win_create(out, all * 4, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);",
        "MPI_Win_lock(MPI_LOCK_SHARED, 1 - rank, 0, win);",
        "MPI_Get(output.data(), all, MPI_FLOAT, 1 - rank, 0, all, MPI_FLOAT, win);",
        "MPI_Win_unlock(1 - rank, win);",
        "MPI_Win_free(&win);",
    ),
    "copy": copied("cudaMemcpy(other, out, all * sizeof(float), cudaMemcpyDeviceToDevice);"),
    "kernel": copied("halve<<<4, 32>>>(out, other, all);").replace("int main(", HALVE),
    "collective": copied(
        "ncclAllReduce(out, other, all, ncclFloat, ncclSum, comm, stream);"
        " cudaStreamSynchronize(stream);"
    ),
    "allocated_anew": anew(FRAMED),
}
LAST_ALONE = f"iteration == {LAST}"


@pytest.mark.parametrize("way", WAYS)
def test_work_of_the_last_iteration_alone_is_found(tmp_path: Path, way: str) -> None:
    base = WAYS[way]
    found = refused(judge(tmp_path, base, when(LAST_ALONE, base)))
    assert ("moved" in found) == (way != "allocated_anew")


@pytest.mark.parametrize("way", WAYS)
def test_who_works_in_each_iteration_passes(tmp_path: Path, way: str) -> None:
    base = WAYS[way]
    other = base.replace("(all + 31) / 32, 32, 0", "1, 64, 0").replace(
        "if (i < n) out[i] = 2.0f * in[i];", "for (; i < n; i += 64) out[i] = in[i] + in[i];"
    )
    assert other != base
    result = judge(tmp_path, base, other)
    assert result.passed, messages(result)


SKIPS = {
    "but_the_warm_up": f"iteration == 0 || {LAST_ALONE}",
    "one_of_four": "iteration != 2",
    "half_of_the_elements": f"i % 2 == 0 || {LAST_ALONE}",
    "another_rank": f"rank == 0 || {LAST_ALONE}",
}


@pytest.mark.parametrize("how", SKIPS)
def test_each_repetition_is_asked_for(tmp_path: Path, how: str) -> None:
    base = WAYS["message"]
    refused(judge(tmp_path, base, when(SKIPS[how], base)))


def free(text: str) -> str:
    return text.replace(BEGIN, "").replace(END, "")


@pytest.mark.parametrize("how", ["all", "but_the_warm_up"])
def test_results_that_no_run_alters_must_be_stored_anew(tmp_path: Path, how: str) -> None:
    base = of_ints(free(WAYS["allreduce"])).replace("all, MPI_FLOAT", "all, MPI_INT")
    condition = {"all": LAST_ALONE, **SKIPS}[how]
    refused(judge(tmp_path, base, when(condition, base)))
    result = judge(tmp_path, base, base.replace("(all + 31) / 32, 32, 0", "4, 64, 0"))
    assert result.passed, messages(result)


@pytest.mark.parametrize("way", ["message", "kernel"])
def test_work_behind_the_last_time_is_found(tmp_path: Path, way: str) -> None:
    base = free(WAYS[way])
    late = base.replace(KERNEL, "").replace(
        "  cudaEventElapsedTime(",
        f"{KERNEL}  cudaStreamSynchronize(stream);\n  cudaEventElapsedTime(",
    )
    result = judge(tmp_path, base, late)
    assert not result.passed
    assert "come behind point 2" in str(messages(result))


def test_counters_that_are_looked_at_behind_what_is_timed_may_go_on(tmp_path: Path) -> None:
    base = free(WAYS["kernel"])
    counting = (
        base.replace("__global__ void twice", "__device__ unsigned done;\n__global__ void twice")
        .replace("  if (i < n) out", "  if (threadIdx.x == 0) atomicAdd(&done, 1u);\n"
                 "  if (i < n) out")
        .replace("  if (i < count)", f"  if (atomicAdd(&done, 0u) != {LAST + 1} * 4) __trap();\n"
                 "  if (i < count)")
    )  # fmt: skip
    assert counting.count("done") == 3
    result = judge(tmp_path, base, counting)
    assert result.passed, messages(result)


def test_nothing_is_asked_of_what_is_computed_later(tmp_path: Path) -> None:
    base = SUM.replace(READ, free(WAYS["message"]).partition("&milliseconds, start, stop);\n")[2]
                       .partition("  cudaEventDestroy(start)")[0])  # fmt: skip
    assert "MPI_Isend" in base
    result = judge(tmp_path, base, base.replace("(all + 31) / 32, 32, 0", "4, 64, 0"))
    assert result.passed, messages(result)


def of_a_pool(text: str) -> str:
    """Allocate the output, and two buffers of its size, in each iteration on its stream."""
    names = ("out", "one", "two")
    taken = "".join(f"    cudaMallocAsync(&{n}, all * sizeof(float), stream);\n" for n in names)
    given = "".join(f"cudaFreeAsync({n}, stream);" for n in names)
    start = f"    if (iteration > 0) {{ {given} }}\n{taken}"
    return text.replace(ALLOCATE, "  float *one, *two;\n").replace(
        "    ncclAllGather(", f"{start}    ncclAllGather("
    )


def test_buffers_of_a_pool_take_each_others_places(tmp_path: Path) -> None:
    base = of_a_pool(FRAMED)
    refused(judge(tmp_path, base, when(LAST_ALONE, base)))
    result = judge(tmp_path, base, base.replace("(all + 31) / 32, 32, 0", "4, 64, 0"))
    assert result.passed, messages(result)


@pytest.mark.parametrize("first", ["anew", "once"])
def test_who_allocates_once_and_who_does_anew_may_follow_each_other(
    tmp_path: Path, first: str
) -> None:
    once, again = free(FRAMED), free(WAYS["allocated_anew"])
    base, other = (again, once) if first == "anew" else (once, again)
    result = judge(tmp_path, base, other)
    assert result.passed, messages(result)


GATHER = "    ncclAllGather(mine, gathered, kCount, ncclFloat, comm, stream);\n"
ROOM = "  float* other;\n  cudaMalloc(&other, all * sizeof(float));\n"


def restless() -> str:
    """Take the time while data is on its way; most calls are those of the set-up, timed as well."""
    text = re.sub(r"    if \(iteration == 1\) \{.*?\n    \}\n", "", free(FRAMED), flags=re.DOTALL)
    text = re.sub(r"\n  cudaEvent[^\n]*|\n  float milliseconds[^\n]*", "", text)
    calls = {
        "s": "  cudaMemsetAsync(gathered, 0, 64, stream);\n",
        "c": "  cudaMemcpyAsync(out, gathered, 64, cudaMemcpyDeviceToDevice, stream);\n",
    }
    clear = "".join(calls[one] for one in "sscscc")  # which repeats nothing
    take = "MPI_Wtime();\n"
    text = text.replace("  for (int iteration", f"{clear}  times += {take}  for (int iteration")
    text = text.replace("  MPI_Bcast(", f"  double times = -{take}  MPI_Bcast(")
    text = text.replace(
        "  cudaMalloc(&mine", f"  times += {take}  times -= {take}  cudaMalloc(&mine"
    )
    assert GATHER in text and text.count(KERNEL) == 1
    text = text.replace(KERNEL, "").replace(
        GATHER, f"    times -= {take}{GATHER}    times += {take}"
    )
    text = text.replace(
        "  cudaStreamSynchronize(stream);\n", f"{KERNEL}  cudaStreamSynchronize(stream);\n"
    )
    return text.replace(
        READ, WAYS["allreduce"].partition("/* after */\n")[2].partition(";\n")[0] + ";\n"
    )


def test_the_end_of_the_set_up_is_not_taken_for_that_of_what_is_timed(tmp_path: Path) -> None:
    base = restless()
    copying = HALVE.replace("0.5f * in[count - 1 - i]", "in[i]")
    by_a_kernel = GATHER.replace("gathered", "other") + (
        "    halve<<<4, 32, 0, stream>>>(other, gathered, all);\n"
    )
    other = base.replace(GATHER, by_a_kernel).replace("int main(", copying)
    other = other.replace(ALLOCATE, f"{ALLOCATE}{ROOM}")
    result = judge(tmp_path, base, other)
    assert result.passed, messages(result)


@pytest.mark.parametrize("where", ["in the last", "behind the last"])
def test_who_moves_data_behind_what_is_timed_is_found(tmp_path: Path, where: str) -> None:
    base = restless()
    late = base.replace(GATHER, f"    if (iteration == {LAST}) {GATHER.strip()}\n")
    if where == "behind the last":
        late = base.replace(GATHER, "").replace(KERNEL, f"{GATHER}{KERNEL}")
    result = judge(tmp_path, base, late)
    assert not result.passed
