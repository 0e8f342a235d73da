"""Right kernels of several ranks made wrong in one place: acceptance must find each.

Each is a change of the text that the rules generate for a reference of
`tests/synthesis/references/collectives.py`.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RankMutant:
    """One wrong kernel: the first `old` in the generated text of `task` becomes `new`."""

    task: str
    what: str
    old: str
    new: str
    ranks: int = 2

    @property
    def name(self) -> str:
        """A name for tests."""
        return f"{self.task}-{self.what.replace(' ', '-')}"

    def apply(self, text: str) -> str:
        """Return the wrong text.

        Raises:
            ValueError: the text has no such place: the mutant would be no mutant.
        """
        if self.old not in text:
            raise ValueError(f"the kernel of {self.task} must hold {self.old!r}, but does not")
        return text.replace(self.old, self.new, 1)


def _of(task: str, *changes: tuple[str, str, str], ranks: int = 2) -> tuple[RankMutant, ...]:
    return tuple(RankMutant(task, what, old, new, ranks) for what, old, new in changes)


RANK_MUTANTS = (
    *_of(
        "all_reduce",
        ("no wait for the others", "  meet(comm);\n", ""),
        ("no barrier at the end", "  meet(comm);  // the others have read this window\n", ""),
        ("its own input only", "total + value", "total + in_x[i]"),
        ("one peer for all", "window_of<float>(window, from)", "window_of<float>(window, 0)"),
        ("last rank left out", "from < comm.nRanks", "from < comm.nRanks - 1"),
        ("a barrier that only releases", "memory_order_acq_rel", "memory_order_release"),
        ("a barrier that only acquires", "memory_order_acq_rel", "memory_order_acquire"),
        ("one barrier for all blocks", "ncclTeamTagLsa(), blockIdx.x)", "ncclTeamTagLsa(), 0)"),
        ("some threads at the barrier", "  meet(comm);\n",
         "  if (threadIdx.x < 32) meet(comm);\n"),
        ("one rank at the barrier", "  meet(comm);\n", "  if (comm.rank == 0) meet(comm);\n"),
        ("elements of another block", "mine[i] = in_x[i];",
         "mine[count - 1 - i] = in_x[count - 1 - i];"),
        ("behind the window", "mine[i] = in_x[i];", "mine[i] = mine[2 * count + 8] = in_x[i];"),
        ("one element left out of the window", "i < count;", "i < count - 1;"),
    ),
    *_of("all_reduce", ("two ranks of four", "from < comm.nRanks", "from < 2"), ranks=4),
    *_of(
        "all_gather",
        ("shards off by one element", "out[from * count + i]",
         "out[from * count + (i + 1) % count]"),
        ("shards in another order", "out[from * count + i]",
         "out[(from + 1) % comm.nRanks * count + i]"),
        ("its own shard only", "window_of<float>(window, from)[i]", "in_x[i]"),
    ),
    *_of(
        "reduce_scatter",
        ("shard of another rank", "[comm.rank * count + i]",
         "[(comm.rank + 1) % comm.nRanks * count + i]"),
        ("shards off by one element", "mine[to * count + i] = ", "mine[to * count + i + to] = "),
    ),
    *_of(
        "all_to_all",
        ("part of another rank", "[comm.rank * count + i]", "[from * count + i]"),
        ("parts in another order", "out[from * count + i]",
         "out[(comm.nRanks - 1 - from) * count + i]"),
    ),
    *_of(
        "broadcast",
        ("from another rank", "window_of<float>(window, 1)", "window_of<float>(window, 0)"),
        ("each its own", "window_of<float>(window, 1)", "window_of<float>(window, comm.rank)"),
    ),
)  # fmt: skip
"""All of them."""

PUSHED = """static __device__ void meet(const ncclDevComm& comm) {
  ncclLsaBarrierSession<ncclCoopCta> barrier(ncclCoopCta(), comm, ncclTeamTagLsa(), blockIdx.x);
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
}

static __global__ void push(const float* in, float* out, const long long count,
                            const ncclWindow_t window, const ncclDevComm comm) {
  meet(comm);  // all have called
  for (int other = 0; other < comm.nRanks; ++other) {
    float* there = static_cast<float*>(ncclGetLsaPointer(window, 0, other)) + comm.rank * count;
    for (long long i = threadIdx.x; i < count; i += blockDim.x) there[i] = in[i];
  }
  meet(comm);
  const float* here = static_cast<const float*>(ncclGetLocalPointer(window, 0));
  for (long long i = threadIdx.x; i < count; i += blockDim.x) {
    float total = here[i];
    for (int other = 1; other < comm.nRanks; ++other) total += here[other * count + i];
    out[i] = total;
  }
}

extern "C" int warploom_forward(void* const* inputs, void* const* outputs,
                                const long long* sizes, const KernelRanks* peers,
                                void* stream_handle) {
  const cudaStream_t stream = static_cast<cudaStream_t>(stream_handle);
  const long long count = sizes[0] * sizes[1];
  if (count > 0)
    push<<<1, 256, 0, stream>>>(static_cast<const float*>(inputs[0]),
                                static_cast<float*>(outputs[0]), count, peers->window,
                                peers->comm);
  return cudaGetLastError() == cudaSuccess ? 0 : 2;
}
"""
"""An all-reduce of two ranks in another form: each writes to the others' windows."""
