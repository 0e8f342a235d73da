"""A transform must exchange data from the device: attacks with right results are played here."""

from pathlib import Path

import pytest

from warploom.core.records import Api, Timing
from warploom.evaluation import Evaluation, Workload, evaluate
from warploom.evaluation.transform_rule import TransformRule
from warploom.propose import ProposalContext, Stage
from warploom.propose.rules import RulesProposer
from warploom.source import CUDAAnalyzer

PROGRAM = r"""#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void fill(float* x, int n, int seed, int rank) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = (seed * 31 + rank * 17 + i) % 101;
}
//KERNELS
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks, seed = argc > 1 ? atoi(argv[1]) : 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  cudaSetDevice(rank);
  ncclUniqueId id;
  if (rank == 0) ncclGetUniqueId(&id);
  MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t comm;
  ncclCommInitRank(&comm, ranks, id, rank);
  const int n = 8192;
  float *mine, *all;
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaMalloc(&mine, n * sizeof(float));
  cudaMalloc(&all, n * ranks * sizeof(float));
  fill<<<32, 256, 0, stream>>>(mine, n, seed, rank);
  ncclAllGather(mine, all, n, ncclFloat, comm, stream);
  cudaStreamSynchronize(stream);
  std::vector<float> result(n * ranks);
  cudaMemcpy(result.data(), all, n * ranks * sizeof(float), cudaMemcpyDeviceToHost);
  cudaFree(mine);
  cudaFree(all);
  cudaStreamDestroy(stream);
  ncclCommDestroy(comm);
  MPI_Finalize();
  return 0;
}
"""
CALL = "  ncclAllGather(mine, all, n, ncclFloat, comm, stream);\n"
RECOMPUTE = (
    "  for (int r = 0; r < ranks; ++r) fill<<<32, 256, 0, stream>>>(all + r * n, n, seed, r);\n"
)
BY_POINTER = (
    "  decltype(&ncclAllGather) gather = &ncclAllGather;\n"
    "  gather(mine, all, n, ncclFloat, comm, stream);\n"
)
BY_MPI = """  cudaStreamSynchronize(stream);
  std::vector<float> a(n), b(n * ranks);
  cudaMemcpy(a.data(), mine, n * sizeof(float), cudaMemcpyDeviceToHost);
  MPI_Allgather(a.data(), n, MPI_FLOAT, b.data(), n, MPI_FLOAT, MPI_COMM_WORLD);
  cudaMemcpy(all, b.data(), n * ranks * sizeof(float), cudaMemcpyHostToDevice);
"""
BY_PEER_COPY = """  cudaStreamSynchronize(stream);
  std::vector<float*> places(ranks);
  MPI_Allgather(&mine, sizeof(float*), MPI_BYTE, places.data(), sizeof(float*), MPI_BYTE,
                MPI_COMM_WORLD);
  for (int r = 0; r < ranks; ++r)
    cudaMemcpy@(all + r * n, @places[r], @n * sizeof(float)#);
  MPI_Barrier(MPI_COMM_WORLD);
"""
PEER = BY_PEER_COPY.replace("cudaMemcpy@", "cudaMemcpyPeer").replace("@places", "rank, places")
PEER = PEER.replace("@n", "r, n").replace("#", "")
DEFAULT_COPY = BY_PEER_COPY.replace("@", "").replace("#", ", cudaMemcpyDeviceToDevice")


@pytest.fixture(scope="module")
def workload(tmp_path_factory: pytest.TempPathFactory) -> Workload:
    program = tmp_path_factory.mktemp("rule") / "gather.cu"
    program.write_text(PROGRAM)
    return Workload.from_program(program, ranks=2, args=("{seed}",), seeds=1)


def rewritten(workload: Workload, api: Api) -> str:
    """What the rules make of the program."""
    report = CUDAAnalyzer(workload.program).analyze()
    made = RulesProposer().propose(ProposalContext(PROGRAM, report, api, Stage.DEVICE))
    assert made is not None
    return made.text


def judged(text: str, workload: Workload, folder: Path, api: Api | None = Api.GIN) -> Evaluation:
    path = folder / "gather.cu"
    path.write_text(text)
    rule = TransformRule(api, untrusted=True)
    return evaluate(path, workload, rule=rule, nvcc=False, seeds=1, timings=(Timing.EAGER,))


def kinds(result: Evaluation) -> set[str]:
    return {item.finding.kind for item in result.findings if item.finding.severity == "error"}


@pytest.mark.parametrize("api", list(Api))
def test_a_transform_passes(api: Api, workload: Workload, tmp_path: Path) -> None:
    result = judged(rewritten(workload, api), workload, tmp_path, api)
    assert result.verified, result.findings


def test_the_other_api_is_not_what_was_asked_for(workload: Workload, tmp_path: Path) -> None:
    result = judged(rewritten(workload, Api.LSA), workload, tmp_path, Api.GIN)
    assert kinds(result) == {"no_device_communication"}


@pytest.mark.parametrize(
    ("instead", "expected"),
    [
        (CALL, {"host_collective", "no_device_communication"}),
        (RECOMPUTE, {"no_device_communication"}),
        (PEER, {"host_communication", "no_device_communication"}),
        (BY_POINTER, {"forbidden_call", "no_device_communication"}),
        ("  system(\"true\");\n" + RECOMPUTE, {"forbidden_call", "no_device_communication"}),
        ("  { FILE* f = fopen(\"/proc/self/mem\", \"w\"); (void)f; }\n" + RECOMPUTE,
         {"forbidden_call", "no_device_communication"}),
    ],
    ids=["host-call", "recomputed", "peer-copy", "by-pointer", "process", "file"],
)  # fmt: skip
def test_level_0_sees(instead: str, expected: set[str], workload: Workload, tmp_path: Path) -> None:
    result = judged(PROGRAM.replace(CALL, instead), workload, tmp_path)
    assert result.level_reached == 0
    assert kinds(result) == expected


# Kernels that mention the device API and are never run, or move next to nothing.
DECOY = """#include <nccl_device.h>
__global__ void decoy(ncclDevComm comm, ncclWindow_t w) {
  ncclGin gin(comm, 0);
  gin.flush(ncclCoopCta());
}
"""


@pytest.mark.parametrize(
    ("instead", "expected"),
    [
        (RECOMPUTE, {"no_device_communication", "communication_unused"}),
        (BY_MPI, {"host_communication", "no_device_communication"}),
        (DEFAULT_COPY, {"foreign_memory"}),  # a pointer of another process means nothing here
    ],
    ids=["recomputed", "by-mpi", "by-peer-copy"],
)
def test_level_2_counts(
    instead: str, expected: set[str], workload: Workload, tmp_path: Path
) -> None:
    text = PROGRAM.replace(CALL, instead).replace("//KERNELS\n", DECOY)
    result = judged(text, workload, tmp_path)
    assert result.level_reached == 2
    assert kinds(result) >= expected, result.findings
    assert not result.passed


def test_a_token_is_not_communication(workload: Workload, tmp_path: Path) -> None:
    """The rules' program, cut down to a few bytes, with the results computed on every rank."""
    text = rewritten(workload, Api.GIN)
    call = next(line for line in text.splitlines() if "::launchAllGather(" in line)
    small = call.replace(", n, ", ", 8, ")
    assert small != call
    result = judged(text.replace(call, small + "\n" + RECOMPUTE), workload, tmp_path)
    assert kinds(result) == {"no_device_communication", "communication_unused"}
    (finding,) = [i.finding for i in result.findings if i.finding.kind == "no_device_communication"]
    assert "kernels moved" in finding.message and "delivered 65536 before" in finding.message


@pytest.mark.parametrize(
    ("instead", "expected"), [(BY_MPI, set()), (RECOMPUTE, {"communication_unused"})]
)
def test_without_the_rule_any_way_between_ranks_will_do(
    instead: str, expected: set[str], workload: Workload, tmp_path: Path
) -> None:
    path = tmp_path / "gather.cu"
    path.write_text(PROGRAM.replace(CALL, instead))
    result = evaluate(path, workload, nvcc=False, seeds=1, timings=(Timing.EAGER,))
    assert kinds(result) - {"extra_result"} == expected, result.findings
