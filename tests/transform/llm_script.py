"""A small host-driven program, and what a model would say on the way to its transform."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from warploom.core.records import Api
from warploom.propose import ProposalContext, Stage
from warploom.propose.rules import RulesProposer
from warploom.source import CUDAAnalyzer
from warploom.source.patches import apply_diff_patch

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
  const int n = 256;
  float *mine, *all;
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaMalloc(&mine, n * sizeof(float));
  cudaMalloc(&all, n * ranks * sizeof(float));
  fill<<<1, 256, 0, stream>>>(mine, n, seed, rank);
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
WAIT = "  gin.increaseSignalShadow(dataSignal(wire, peer), count);\n"
WORKLOAD = """name = "gather"
program = "gather.cu"
ranks = 2
seeds = 1
args = ["{seed}"]
api = ["gin"]
"""


def write_workload(folder: Path) -> Path:
    """Write the program and its workload; returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "gather.cu").write_text(PROGRAM)
    (folder / "workload.toml").write_text(WORKLOAD)
    return folder


@cache
def right(stage: Stage = Stage.DEVICE) -> str:
    """What the rules make of the program, edited as a model might."""
    with TemporaryDirectory() as folder:
        analysis = CUDAAnalyzer(write_workload(Path(folder)) / "gather.cu").analyze()
    made = RulesProposer(plain=False).propose(ProposalContext(PROGRAM, analysis, Api.GIN, stage))
    assert made is not None
    return made.text.replace("int main(", "// Communicates from the device.\nint main(")


def versions() -> list[str]:
    """The programs that `replies` come to, one after the other."""
    first, *edits, last = replies()
    texts = [_unfenced(first)]
    for reply in edits:
        made = apply_diff_patch(texts[-1], reply, free=True)
        assert made.applied, made.error
        texts.append(made.text)
    return [*texts, _unfenced(last)]


def _unfenced(reply: str) -> str:
    return reply.split("```cuda\n")[1].rsplit("```", 1)[0]


def fenced(text: str) -> str:
    """A reply that holds a whole program."""
    return f"Here is the program.\n\n```cuda\n{text}```\n"


def edit(search: str, replace: str) -> str:
    """A reply that edits the program that was shown."""
    return f"<<<<<<< SEARCH\n{search}=======\n{replace}>>>>>>> REPLACE\n"


def replies() -> list[str]:
    """Build error, wrong result, missing wait, right: each but the first mends the one before."""
    text = right()
    call = next(line for line in text.splitlines() if "::launchAllGather(" in line)
    broken = text.replace(WAIT, "").replace(call, call.replace(", stream)", ", stram)"))
    assert WAIT in text and "stram" in broken
    wrong = call.replace("mine,", "mine + 1,").replace(", n,", ", n - 1,")
    return [
        fenced(broken),
        "A misspelt name.\n" + edit(call.replace(", stream)", ", stram)") + "\n", wrong + "\n"),
        "The whole block has to be sent.\n" + edit(wrong + "\n", call + "\n"),
        fenced(text),
    ]
