"""Programs that read nothing back are judged by what their communications deliver."""

from pathlib import Path

import pytest

from warploom.source import CUDAAnalyzer
from warploom.source.units import ONLY_HERE
from warploom.transform import PreTransformPipeline, TransformConfig
from warploom.transform.seen_results import with_results_seen, without_results_seen

PROGRAM = """\
#include <mpi.h>
#include <nccl.h>

__global__ void fill(float* x, int n, int rank) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = rank * 100 + i;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  cudaSetDevice(rank);
  ncclUniqueId id;
  if (rank == 0) ncclGetUniqueId(&id);
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t comm;
  ncclCommInitRank(&comm, ranks, id, rank);
  const int n = 64;
  float *x, *y;
  cudaMalloc(&x, n * sizeof(float));
  cudaMalloc(&y, n * sizeof(float));
  fill<<<1, 32>>>(x, n, rank);
  ncclAllReduce(x, y, n, ncclFloat, ncclSum, comm, 0);
  ncclGroupStart();
  ncclSend(y, n, ncclFloat, (rank + 1) % ranks, comm, 0);  // around the ring
  ncclRecv(x, n, ncclFloat, (rank + ranks - 1) % ranks, comm, 0);
  ncclGroupEnd();
  cudaDeviceSynchronize();
  cudaFree(x);
  cudaFree(y);
  ncclCommDestroy(comm);
  MPI_Finalize();
}
"""


def seen(tmp_path: Path, text: str) -> str | None:
    path = tmp_path / "quiet.cu"
    path.write_text(text)
    return with_results_seen(text, CUDAAnalyzer(path).analyze())


def test_each_delivery_is_read_and_the_reads_go_again(tmp_path: Path) -> None:
    text = seen(tmp_path, PROGRAM)
    assert text is not None
    assert text.count("cudaMemcpyDeviceToHost") == 2
    assert "warploom_seen.data(), y," in text and "warploom_seen.data(), x," in text
    assert without_results_seen(text) == PROGRAM


def test_what_is_reduced_to_one_rank_is_read_there(tmp_path: Path) -> None:
    changed = PROGRAM.replace("ncclAllReduce(x, y, n, ncclFloat, ncclSum,",
                              "ncclReduce(x, y, n, ncclFloat, ncclSum, 1,")  # fmt: skip
    text = seen(tmp_path, changed)
    assert text is not None and "if (warploom_rank == (1)) {" in text


def test_the_ends_of_a_group_may_be_asked_for(tmp_path: Path) -> None:
    asked = PROGRAM
    for name in ("Start", "End"):
        call = f"  ncclGroup{name}();\n"
        asked = asked.replace(call, f"#if NCCL_MAJOR >= 2\n{call}#endif\n")
    text = seen(tmp_path, asked)
    assert text is not None and without_results_seen(text) == asked
    end = text.index("ncclGroupEnd")
    assert end < text.index("warploom_seen.data(), x,") < text.index("#endif", end)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("ncclFloat, ncclSum", "kType, ncclSum"),
        ("  ncclGroupEnd();\n", "  if (rank < 9) ncclGroupStart();\n  ncclGroupEnd();\n"),
        ("  ncclSend(y", "#ifdef SEND\n#endif\n  ncclSend(y"),
    ],
)
def test_where_nothing_can_be_added_nothing_is(old: str, new: str, tmp_path: Path) -> None:
    assert old in PROGRAM
    assert seen(tmp_path, PROGRAM.replace(old, new)) is None


def test_it_is_transformed_and_written_without_the_reads(tmp_path: Path) -> None:
    path = tmp_path / "quiet.cu"
    path.write_text(PROGRAM)
    config = TransformConfig(
        api_type="gin", shape={"ranks": 2}, seeds=1, nvcc=False, two_stage=False, backend="emulator"
    )
    result = PreTransformPipeline(config).run(path, tmp_path / "out")
    assert result.verified, [step.error for step in result.steps]
    assert result.program is not None and result.evaluation is not None
    written = result.program.read_text()
    assert ONLY_HERE not in written and "cudaMemcpyDeviceToHost" not in written
    assert "device_comm::launchAllReduce(x, y, n" in written
    assert {c.buffer for c in result.evaluation.comparisons} == {"x", "y"}
    assert [call.line for call in result.collectives] == [24, 26, 27]
    assert result.step("files").details["reason"] == "results were read back for the proof alone"
    assert ONLY_HERE not in result.stages[0].text


def test_so_is_a_program_whose_header_allocates(tmp_path: Path) -> None:
    (tmp_path / "memory.h").write_text(
        "#pragma once\n#include <cuda_runtime.h>\n"
        "inline void take(float** p, int n) { cudaMalloc(p, n * sizeof(float)); }\n"
        "inline void drop(float* p) { cudaFree(p); }\n"
    )
    text = PROGRAM.replace("#include <nccl.h>\n", '#include <nccl.h>\n#include "memory.h"\n')
    for name in "xy":
        text = text.replace(f"cudaMalloc(&{name}, n * sizeof(float));", f"take(&{name}, n);")
        text = text.replace(f"cudaFree({name});", f"drop({name});")
    path = tmp_path / "quiet.cu"
    path.write_text(text)
    config = TransformConfig(
        api_type="gin", shape={"ranks": 2}, seeds=1, nvcc=False, two_stage=False, backend="emulator"
    )
    result = PreTransformPipeline(config).run(path, tmp_path / "out")
    assert result.verified, [step.error for step in result.steps]
    assert result.step("files").details["reason"] == "results were read back for the proof alone"
    written = (tmp_path / "out" / "memory.h").read_text()
    assert written.count('#include "device_comm.cuh"') == 1
