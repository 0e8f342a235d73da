"""Small MPI + NCCL programs for the transform's tests, one per kind of communication."""

from dataclasses import dataclass

_FRAME = r"""#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>
@HEADERS@
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#ifndef COUNT
#define COUNT 37
#endif
#ifndef ROUNDS
#define ROUNDS 3
#endif

#define CUDA_CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) { \
  fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); exit(1); } } while (0)
#define NCCL_CHECK(call) do { ncclResult_t e = (call); if (e != ncclSuccess) { \
  fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, ncclGetErrorString(e)); exit(1); } } while (0)

using Value = @TYPE@;

// New input for each round, different on each rank; small enough that sums are exact.
__global__ void fill(Value* data, size_t n, unsigned seed, int rank, int round) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    unsigned z = (seed * 977u + rank * 131u + round * 31u + unsigned(i)) * 2654435761u;
    data[i] = static_cast<Value>(static_cast<int>((z >> 24) % @RANGE@) + @LEAST@);
  }
}

// Uses what arrived, so that what a round gets wrong shows at the end.
__global__ void consume(const Value* data, float* sum, size_t n) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    sum[i] = sum[i] * 0.5f + static_cast<float>(data[i]);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CUDA_CHECK(cudaSetDevice(rank));
  ncclUniqueId id;
  if (rank == 0) NCCL_CHECK(ncclGetUniqueId(&id));
  MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t comm;
  NCCL_CHECK(ncclCommInitRank(&comm, ranks, id, rank));

  const unsigned seed = argc > 1 ? atoi(argv[1]) : 1;
  const size_t count = COUNT;
  const size_t n = count * ranks;
  Value *send, *recv;
  float* sum;
  CUDA_CHECK(cudaMalloc(&send, n * sizeof(Value)));
  CUDA_CHECK(cudaMalloc(&recv, n * sizeof(Value)));
  CUDA_CHECK(cudaMalloc(&sum, n * sizeof(float)));
  cudaStream_t stream, other;
  CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CUDA_CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  CUDA_CHECK(cudaMemset(sum, 0, n * sizeof(float)));
  CUDA_CHECK(cudaMemset(recv, 0, n * sizeof(Value)));
  CUDA_CHECK(cudaDeviceSynchronize());
@SETUP@
  for (int round = 0; round < ROUNDS; ++round) {
    fill<<<2, 32, 0, stream>>>(send, n, seed, rank, round);
@BODY@
    consume<<<2, 32, 0, stream>>>(@RESULT@, sum, n);
    CUDA_CHECK(cudaGetLastError());
  }
  CUDA_CHECK(cudaStreamSynchronize(stream));
  CUDA_CHECK(cudaStreamSynchronize(other));
  std::vector<float> result(n);
  std::vector<Value> last(n);
  CUDA_CHECK(cudaMemcpy(result.data(), sum, n * sizeof(float), cudaMemcpyDeviceToHost));
  CUDA_CHECK(cudaMemcpy(last.data(), @RESULT@, n * sizeof(Value), cudaMemcpyDeviceToHost));
  if (rank == 0) printf("first %f\n", result[0]);
  CUDA_CHECK(cudaFree(send));
  CUDA_CHECK(cudaFree(recv));
  CUDA_CHECK(cudaFree(sum));
@TEARDOWN@
  CUDA_CHECK(cudaStreamDestroy(stream));
  CUDA_CHECK(cudaStreamDestroy(other));
  NCCL_CHECK(ncclCommDestroy(comm));
  MPI_Finalize();
  return 0;
}
"""


@dataclass(frozen=True)
class Sample:
    """A program's variable parts: element type, NCCL's name of it, and what it calls."""

    body: str
    type: str = "float"
    nccl: str = "ncclFloat"
    setup: str = ""
    teardown: str = ""
    headers: str = ""
    result: str = "recv"
    range: int = 9
    least: int = -4

    def text(self) -> str:
        """The program's text."""
        values = {
            "HEADERS": self.headers,
            "TYPE": self.type,
            "BODY": self.body.replace("TYPE", self.nccl),
            "SETUP": self.setup,
            "TEARDOWN": self.teardown,
            "RESULT": self.result,
            "RANGE": str(self.range),
            "LEAST": f"({self.least})",
        }
        text = _FRAME
        for key, value in values.items():
            text = text.replace(f"@{key}@", value)
        return text


def _call(arguments: str) -> str:
    return f"    NCCL_CHECK({arguments});"


_LAST = "(round + 1) % ranks"

COLLECTIVES = {
    "allgather": Sample(_call("ncclAllGather(send, recv, count, TYPE, comm, stream)")),
    "allgather_in_place": Sample(
        _call("ncclAllGather(recv + rank * count, recv, count, TYPE, comm, stream)").replace(
            "    NCCL",
            "    CUDA_CHECK(cudaMemcpyAsync(recv + rank * count, send, count * sizeof(Value), "
            "cudaMemcpyDeviceToDevice, stream));\n    NCCL",
        )
    ),
    "alltoall": Sample(_call("ncclAlltoAll(send, recv, count, TYPE, comm, stream)")),
    "broadcast": Sample(_call(f"ncclBroadcast(send, recv, n, TYPE, {_LAST}, comm, stream)")),
    "bcast": Sample(_call(f"ncclBcast(send, n, TYPE, {_LAST}, comm, stream)"), result="send"),
    "gather": Sample(_call(f"ncclGather(send, recv, count, TYPE, {_LAST}, comm, stream)")),
    "scatter": Sample(_call(f"ncclScatter(send, recv, count, TYPE, {_LAST}, comm, stream)")),
    "allreduce": Sample(_call("ncclAllReduce(send, recv, n, TYPE, ncclSum, comm, stream)")),
    "allreduce_in_place": Sample(
        _call("ncclAllReduce(send, send, n - 1, TYPE, ncclMax, comm, stream)"), result="send"
    ),
    "reducescatter": Sample(
        _call("ncclReduceScatter(send, recv, count, TYPE, ncclAvg, comm, stream)")
    ),
    "reducescatter_in_place": Sample(
        _call("ncclReduceScatter(send, send + rank * count, count, TYPE, ncclSum, comm, stream)"),
        result="send",
    ),
    "reduce": Sample(_call(f"ncclReduce(send, recv, n, TYPE, ncclMin, {_LAST}, comm, stream)")),
    "reduce_in_place": Sample(
        _call(f"ncclReduce(send, send, n, TYPE, ncclSum, {_LAST}, comm, stream)"), result="send"
    ),
}
"""One program for each collective, and for its in-place form."""

MESSAGES = {
    "ring": Sample(
        "    NCCL_CHECK(ncclGroupStart());\n"
        "    NCCL_CHECK(ncclSend(send, n, TYPE, (rank + 1) % ranks, comm, stream));\n"
        "    NCCL_CHECK(ncclRecv(recv, n, TYPE, (rank + ranks - 1) % ranks, comm, stream));\n"
        "    NCCL_CHECK(ncclGroupEnd());"
    ),
    "all_pairs": Sample(
        "    NCCL_CHECK(ncclGroupStart());\n"
        "    for (int peer = 0; peer < ranks; ++peer) {\n"
        "      NCCL_CHECK(ncclRecv(recv + peer * count, count, TYPE, peer, comm, stream));\n"
        "      NCCL_CHECK(ncclSend(send + peer * count, count, TYPE, peer, comm, stream));\n"
        "    }\n"
        "    NCCL_CHECK(ncclGroupEnd());"
    ),
    "two_messages_a_pair": Sample(
        "    if (rank < 2) {\n"
        "      NCCL_CHECK(ncclGroupStart());\n"
        "      NCCL_CHECK(ncclSend(send, count / 2, TYPE, 1 - rank, comm, stream));\n"
        "      NCCL_CHECK(ncclSend(send + count, count, TYPE, 1 - rank, comm, stream));\n"
        "      NCCL_CHECK(ncclRecv(recv + count, count / 2, TYPE, 1 - rank, comm, stream));\n"
        "      NCCL_CHECK(ncclRecv(recv, count, TYPE, 1 - rank, comm, stream));\n"
        "      NCCL_CHECK(ncclGroupEnd());\n"
        "    }"
    ),
    "groups_that_differ": Sample(
        "    if (rank == 0) {\n"
        "      NCCL_CHECK(ncclGroupStart());\n"
        "      for (int i = 0; i < 7; ++i) {\n"
        "        NCCL_CHECK(ncclSend(send + 5 * i, 5, TYPE, 1, comm, stream));\n"
        "      }\n"
        "      NCCL_CHECK(ncclGroupEnd());\n"
        "      for (int i = 0; i < 7; ++i) {\n"
        "        NCCL_CHECK(ncclRecv(recv + 5 * i, 5, TYPE, 1, comm, stream));\n"
        "      }\n"
        "    } else if (rank == 1) {\n"
        "      for (int i = 0; i < 7; ++i) {\n"
        "        NCCL_CHECK(ncclRecv(recv + 5 * i, 5, TYPE, 0, comm, stream));\n"
        "      }\n"
        "      NCCL_CHECK(ncclGroupStart());\n"
        "      for (int i = 0; i < 7; ++i) {\n"
        "        NCCL_CHECK(ncclSend(send + 5 * i, 5, TYPE, 0, comm, stream));\n"
        "      }\n"
        "      NCCL_CHECK(ncclGroupEnd());\n"
        "    }"
    ),
    "groups_and_sizes_that_differ": Sample(
        "    if (rank == 0) {\n"
        "      fill<<<8, 32, 0, stream>>>(wide, 3 * 9000, seed, rank, round);\n"
        "      NCCL_CHECK(ncclGroupStart());\n"
        "      for (int i = 0; i < 3; ++i) {\n"
        "        NCCL_CHECK(ncclSend(wide + i * 9000, sizes[i], TYPE, 1, comm, stream));\n"
        "      }\n"
        "      NCCL_CHECK(ncclGroupEnd());\n"
        "      for (int i = 0; i < 3; ++i) {\n"
        "        NCCL_CHECK(ncclRecv(wide + i * 9000, sizes[i], TYPE, 1, comm, stream));\n"
        "      }\n"
        "    } else if (rank == 1) {\n"
        "      for (int i = 0; i < 3; ++i) {\n"
        "        NCCL_CHECK(ncclRecv(wide + i * 9000, sizes[i], TYPE, 0, comm, stream));\n"
        "      }\n"
        "      consume<<<8, 32, 0, stream>>>(wide, more, 3 * 9000);\n"
        "      NCCL_CHECK(ncclGroupStart());\n"
        "      for (int i = 0; i < 3; ++i) {\n"
        "        NCCL_CHECK(ncclSend(wide + i * 9000, sizes[i], TYPE, 0, comm, stream));\n"
        "      }\n"
        "      NCCL_CHECK(ncclGroupEnd());\n"
        "    }",
        setup="  const size_t sizes[3] = {10, 9000, 4500};\n  Value* wide;\n  float* more;\n"
        "  CUDA_CHECK(cudaMalloc(&wide, 3 * 9000 * sizeof(Value)));\n"
        "  CUDA_CHECK(cudaMalloc(&more, 3 * 9000 * sizeof(float)));\n"
        "  CUDA_CHECK(cudaMemset(wide, 0, 3 * 9000 * sizeof(Value)));\n"
        "  CUDA_CHECK(cudaMemset(more, 0, 3 * 9000 * sizeof(float)));\n"
        "  CUDA_CHECK(cudaDeviceSynchronize());",
        teardown="  std::vector<float> rest(3 * 9000);\n"
        "  CUDA_CHECK(cudaMemcpy(rest.data(), more, 3 * 9000 * sizeof(float), "
        "cudaMemcpyDeviceToHost));\n"
        "  CUDA_CHECK(cudaFree(wide));\n  CUDA_CHECK(cudaFree(more));",
    ),
    "more_than_arguments_hold": Sample(
        "    if (rank < 2) {\n"
        "      NCCL_CHECK(ncclGroupStart());\n"
        "      for (int i = 0; i < 40; ++i) {\n"
        "        NCCL_CHECK(ncclSend(send + i, 1, TYPE, 1 - rank, comm, stream));\n"
        "        NCCL_CHECK(ncclRecv(recv + i, 1, TYPE, 1 - rank, comm, stream));\n"
        "      }\n"
        "      NCCL_CHECK(ncclGroupEnd());\n"
        "    }"
    ),
    "chain": Sample(
        "    if (rank > 0) NCCL_CHECK(ncclRecv(recv, n, TYPE, rank - 1, comm, stream));\n"
        "    if (rank + 1 < ranks) NCCL_CHECK(ncclSend(send, n, TYPE, rank + 1, comm, stream));"
    ),
}
"""Sends and receives, grouped and not, with ranks that take no part."""

_JOIN = (
    "    CUDA_CHECK(cudaEventRecord(ready, {0}));\n"
    "    CUDA_CHECK(cudaStreamWaitEvent({1}, ready, 0));\n"
)
SHAPES = {
    "two_streams": Sample(
        _JOIN.format("stream", "other")
        + "    NCCL_CHECK(ncclAllGather(send, extra, count, TYPE, comm, other));\n"
        "    NCCL_CHECK(ncclAllReduce(send, recv, n, TYPE, ncclSum, comm, stream));\n"
        "    consume<<<1, 32, 0, other>>>(extra, more, n);\n"
        "    NCCL_CHECK(ncclAlltoAll(send, extra, count, TYPE, comm, other));\n"
        "    consume<<<1, 32, 0, other>>>(extra, more, n);\n" + _JOIN.format("other", "stream"),
        setup="  Value* extra;\n  float* more;\n  cudaEvent_t ready;\n"
        "  CUDA_CHECK(cudaMalloc(&extra, n * sizeof(Value)));\n"
        "  CUDA_CHECK(cudaMalloc(&more, n * sizeof(float)));\n"
        "  CUDA_CHECK(cudaMemset(more, 0, n * sizeof(float)));\n"
        "  CUDA_CHECK(cudaDeviceSynchronize());\n"
        "  CUDA_CHECK(cudaEventCreate(&ready));",
        teardown="  std::vector<float> rest(n);\n"
        "  CUDA_CHECK(cudaMemcpy(rest.data(), more, n * sizeof(float), cudaMemcpyDeviceToHost));\n"
        "  CUDA_CHECK(cudaFree(extra));\n  CUDA_CHECK(cudaFree(more));\n"
        "  CUDA_CHECK(cudaEventDestroy(ready));",
    ),
    "offsets_differ": Sample(
        _call("ncclAllGather(send + rank, part + 2 * rank, count, TYPE, comm, stream)")
        + "\n    CUDA_CHECK(cudaMemcpyAsync(recv, part + 2 * rank, n * sizeof(Value), "
        "cudaMemcpyDeviceToDevice, stream));",
        setup="  Value* part;\n"
        "  CUDA_CHECK(cudaMalloc(&part, (n + 2 * rank) * sizeof(Value)));  // differs by rank",
        teardown="  CUDA_CHECK(cudaFree(part));",
    ),
    "memory_in_the_loop": Sample(
        "    Value* scratch;\n"
        "    CUDA_CHECK(cudaMalloc(&scratch, n * sizeof(Value)));\n"
        + _call("ncclAllReduce(send, scratch, n, TYPE, ncclSum, comm, stream)")
        + "\n"
        + _call("ncclAlltoAll(scratch, recv, count, TYPE, comm, stream)")
        + "\n    CUDA_CHECK(cudaStreamSynchronize(stream));\n"
        "    CUDA_CHECK(cudaFree(scratch));",
    ),
    "vector_of_buffers": Sample(
        "    for (size_t i = 0; i < parts.size(); ++i) {\n"
        "      CUDA_CHECK(cudaMemcpyAsync(parts[i], send + i, count * sizeof(Value), "
        "cudaMemcpyDeviceToDevice, stream));\n"
        "    }\n"
        "    NCCL_CHECK(ncclGroupStart());\n"
        "    for (Value* part : parts) {\n"
        "      NCCL_CHECK(ncclAllReduce(part, part, count, TYPE, ncclSum, comm, stream));\n"
        "    }\n"
        "    NCCL_CHECK(ncclGroupEnd());\n"
        "    CUDA_CHECK(cudaMemcpyAsync(recv, parts[round], count * sizeof(Value), "
        "cudaMemcpyDeviceToDevice, stream));",
        setup="  std::vector<Value*> parts(3);\n"
        "  for (Value*& part : parts) CUDA_CHECK(cudaMalloc(&part, count * sizeof(Value)));",
        teardown="  for (Value* part : parts) CUDA_CHECK(cudaFree(part));",
    ),
    "root_only_buffer": Sample(
        _call("ncclGather(send, all, count, TYPE, 0, comm, stream)")
        + "\n    if (rank == 0) CUDA_CHECK(cudaMemcpyAsync(recv, all, n * sizeof(Value), "
        "cudaMemcpyDeviceToDevice, stream));",
        setup="  Value* all = nullptr;\n"
        "  if (rank == 0) CUDA_CHECK(cudaMalloc(&all, n * sizeof(Value)));",
        teardown="  if (all) CUDA_CHECK(cudaFree(all));",
    ),
    "freed_in_the_end": Sample(
        _call("ncclAllGather(send, late, count, TYPE, comm, stream)")
        + "\n    CUDA_CHECK(cudaMemcpyAsync(recv, late, n * sizeof(Value), "
        "cudaMemcpyDeviceToDevice, stream));",
        setup="  struct Holder {\n    Value* data = nullptr;\n"
        "    ~Holder() { CUDA_CHECK(cudaFree(data)); }\n  } holder;\n"
        "  CUDA_CHECK(cudaMalloc(&holder.data, n * sizeof(Value)));\n"
        "  Value* late = holder.data;",
    ),
    "run_time_type": Sample(
        _call("ncclAllReduce(send, recv, n, type, op, comm, stream)"),
        setup="  ncclDataType_t type = argc > 99 ? ncclInt32 : ncclFloat;\n"
        "  ncclRedOp_t op = argc > 99 ? ncclMax : ncclProd;",
        range=2,
        least=1,
    ),
}
"""Programs whose buffers, streams or arguments are not as plain as they could be."""

TYPES = {
    "ncclInt8": Sample("", "int8_t", "ncclInt8"),
    "ncclUint8": Sample("", "uint8_t", "ncclUint8", least=0),
    "ncclInt32": Sample("", "int32_t", "ncclInt32"),
    "ncclUint32": Sample("", "uint32_t", "ncclUint32", least=0),
    "ncclInt64": Sample("", "int64_t", "ncclInt64"),
    "ncclUint64": Sample("", "uint64_t", "ncclUint64", least=0),
    "ncclFloat16": Sample("", "__half", "ncclFloat16", headers="#include <cuda_fp16.h>"),
    "ncclFloat64": Sample("", "double", "ncclFloat64"),
    "ncclBfloat16": Sample("", "__nv_bfloat16", "ncclBfloat16", headers="#include <cuda_bf16.h>"),
}
"""Element types; `with_body` gives them something to do."""

_REDUCE_ALL = "\n".join(
    f"    NCCL_CHECK(ncclAllReduce(send, recv, n, TYPE, {op}, comm, stream));\n"
    "    consume<<<2, 32, 0, stream>>>(recv, sum, n);"
    for op in ("ncclSum", "ncclProd", "ncclMax", "ncclMin", "ncclAvg")
)


def reductions_of(name: str) -> str:
    """The text of a program that reduces one type by every operator."""
    kind = TYPES[name]
    return Sample(
        _REDUCE_ALL, kind.type, kind.nccl, headers=kind.headers, range=4, least=kind.least // 4
    ).text()


ALL = {**COLLECTIVES, **MESSAGES, **SHAPES}


def combined(samples: dict[str, Sample]) -> str:
    """The text of one program that does everything that `samples` do, one after the other."""
    steps: list[str] = []
    for name, sample in samples.items():
        steps.append(f"    // {name}\n    fill<<<2, 32, 0, stream>>>(send, n, seed, rank, round);")
        steps.append(sample.body)
        steps.append(f"    consume<<<2, 32, 0, stream>>>({sample.result}, sum, n);")
    return Sample(
        "\n".join(steps),
        setup="\n".join(s.setup for s in samples.values() if s.setup),
        teardown="\n".join(s.teardown for s in samples.values() if s.teardown),
    ).text()


CASES = """\
#include <cstdio>
#include <cstdlib>
#include <mpi.h>
#include <nccl.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  cudaSetDevice(rank);
  ncclUniqueId id;
  if (rank == 0) ncclGetUniqueId(&id);
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t comm;
  ncclCommInitRank(&comm, size, id, rank);
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  const int n = 256;
  for (int test = 0; test < 4; ++test) {
    float host[n], *in, *out;
    for (int i = 0; i < n; ++i) host[i] = i + rank + atoi(argv[1]) % 97;
    cudaMalloc(&in, sizeof host);
    cudaMalloc(&out, sizeof host);
    cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
    cudaMemset(out, 0, sizeof host);
    for (int rep = 0; rep < 3; ++rep) {
      double t = MPI_Wtime();
      ncclAllReduce(in, out, n, ncclFloat, ncclSum, comm, stream);
      cudaStreamSynchronize(stream);
      t = MPI_Wtime() - t;
      if (rank == 0) printf("%g\\n", t);
    }
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    cudaFree(in);
    cudaFree(out);
  }
  ncclCommDestroy(comm);
  cudaStreamDestroy(stream);
  MPI_Finalize();
  return 0;
}
"""
"""For each of several cases it allocates, times, reads back and frees."""
