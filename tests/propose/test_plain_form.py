"""Which programs get the plain form; what that cannot bear gets the general one."""

from pathlib import Path

import pytest

from warploom.core.records import Api
from warploom.propose import ProposalContext, Stage
from warploom.propose.rules import RulesProposer
from warploom.source import CUDAAnalyzer

EXAMPLES = Path(__file__).parents[2] / "examples"
MARK = ", plain form"

PROGRAM = """\
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  ncclUniqueId id;
  if (rank == 0) ncclGetUniqueId(&id);
  MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t comm;
  ncclCommInitRank(&comm, ranks, id, rank);
  float *data, *sum, *all;
  cudaMalloc(&data, 64 * sizeof(float));
  cudaMalloc(&sum, 64 * sizeof(float));
  cudaMalloc(&all, ranks * 64 * sizeof(float));
  cudaStream_t stream, other;
  cudaStreamCreate(&stream);
  cudaStreamCreate(&other);
  ncclAllReduce(data, sum, 64, ncclFloat, ncclMax, comm, stream);
  ncclAllGather(sum, all, 64, ncclFloat32, comm, stream);
  cudaStreamSynchronize(stream);
  cudaFree(data);
  cudaFree(sum);
  cudaFree(all);
  ncclCommDestroy(comm);
  MPI_Finalize();
}
"""
GATHER = "ncclAllGather(sum, all, 64, ncclFloat32, comm, stream)"

BEYOND = {
    "arithmetic": (GATHER, GATHER.replace("sum", "sum + 0 * rank")),
    "in_place": (GATHER, GATHER.replace("sum", "all + rank * 64")),
    "stream": (GATHER, GATHER.replace("stream", "other")),
    "call": (GATHER, "ncclBroadcast(sum, sum, 64, ncclFloat32, 0, comm, stream)"),
    "type": (GATHER, GATHER.replace("ncclFloat32", "sizeof(*sum) == 4 ? ncclFloat : ncclDouble")),
    "half": ("64, ncclFloat, ncclMax", "64, ncclFloat16, ncclMax"),
    "two_types": (
        GATHER,
        "ncclAllReduce(data, sum, 64, ncclInt32, ncclSum, comm, stream)",
    ),
    "operator": ("ncclMax", "argc > 1 ? ncclMax : ncclSum"),
    "size": ("cudaMalloc(&all, ranks * 64", "cudaMalloc(&all, (rank + ranks) * 64"),
    "finalize": ("  ncclCommDestroy", "  ncclCommFinalize(comm);\n  ncclCommDestroy"),
    "configured": ("ncclCommInitRank(&comm, ranks, id, rank)",
                   "ncclCommInitRankConfig(&comm, ranks, id, rank, nullptr)"),
    "grouped": ("  ncclCommInitRank(&comm, ranks, id, rank);\n  float",
                "  ncclGroupStart();\n  ncclCommInitRank(&comm, ranks, id, rank);\n"
                "  ncclGroupEnd();\n  float"),
    "nccl_memory": ("cudaMalloc(&data,", "ncclMemAlloc((void**)&data,"),
    "choice": ("  ncclAllReduce(data", "  if (argc > 1) data = sum;\n  ncclAllReduce(data"),
    "communicators": (
        "  float *data",
        "  ncclComm_t half;\n  ncclCommSplit(comm, rank % 2, rank, &half, nullptr);\n  float *data",
    ),
}  # fmt: skip


def proposed(
    path: Path, api: Api = Api.LSA, stage: Stage = Stage.DEVICE, attempt: int = 1, base: str = ""
) -> str | None:
    context = ProposalContext(
        text=path.read_text(), analysis=CUDAAnalyzer(path).analyze(), api=api, stage=stage,
        attempt=attempt, base=base,
    )  # fmt: skip
    made = RulesProposer().propose(context)
    return None if made is None else made.text


def written(folder: Path, text: str) -> Path:
    path = folder / "program.cu"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("name", "api", "most"),
    [
        ("moe", Api.GIN, 165), ("moe", Api.LSA, 180), ("attention", Api.GIN, 165),
        ("attention", Api.LSA, 180), ("allreduce_dp", Api.LSA, 200), ("allreduce_dp", Api.GIN, 210),
        ("gemm_allgather", Api.GIN, 165), ("gemm_allgather", Api.LSA, 180),
    ],
)  # fmt: skip
def test_examples_grow_by_a_short_layer(name: str, api: Api, most: int) -> None:
    path = EXAMPLES / name / f"{name}.cu"
    text = proposed(path, api)
    assert text is not None and MARK in text
    assert len(text.splitlines()) - len(path.read_text().splitlines()) < most


@pytest.mark.parametrize("api", list(Api))
def test_other_examples_get_the_general_form(api: Api) -> None:
    text = proposed(EXAMPLES / "kv_transfer" / "kv_transfer.cu", api)
    assert text is not None and MARK not in text and "kPlaceBits" in text


def test_the_program_of_these_tests_gets_the_plain_form(tmp_path: Path) -> None:
    text = proposed(written(tmp_path, PROGRAM))
    assert text is not None and MARK in text
    assert "return a < b ? b : a" in text  # ncclMax
    assert "allReduceKernel<float><<<blocksFor(count * sizeof(float)), kThreads, 0" in text
    assert "const size_t bytes = count * 4;" in text


@pytest.mark.parametrize("why", BEYOND)
def test_what_the_plain_form_cannot_bear_gets_the_general_one(tmp_path: Path, why: str) -> None:
    old, new = BEYOND[why]
    assert PROGRAM.count(old) == 1
    text = proposed(written(tmp_path, PROGRAM.replace(old, new)))
    assert text is not None and MARK not in text and "kPlaceBits" in text


def test_a_place_in_a_buffer_is_plain_where_it_does_not_name_the_rank(tmp_path: Path) -> None:
    path = written(tmp_path, PROGRAM.replace(GATHER, GATHER.replace("sum", "sum + ranks * 4")))
    text = proposed(path)
    assert text is not None and MARK in text


def test_the_general_form_comes_after_the_plain_one(tmp_path: Path) -> None:
    path = written(tmp_path, PROGRAM)
    second = proposed(path, attempt=2)
    assert second is not None and MARK not in second
    assert proposed(path, attempt=3) is None  # all memory is in windows already


@pytest.mark.parametrize("attempt", [1, 2])
def test_a_stage_keeps_the_form_of_the_one_before(tmp_path: Path, attempt: int) -> None:
    path = written(tmp_path, PROGRAM)
    base = proposed(path, stage=Stage.WINDOWS, attempt=attempt)
    assert base is not None and "launchAllReduce" not in base
    text = proposed(path, base=base)
    assert text is not None and (MARK in text) == (MARK in base) == (attempt == 1)
