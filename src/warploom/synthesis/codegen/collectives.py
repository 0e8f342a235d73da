"""Kernels that communicate: one collective of one tensor, over memory that all ranks reach (LSA).

Each block copies its elements of the operand to this rank's window, meets the blocks of its number
on the other ranks, reads its elements from all windows, and meets them once more: none of them may
write its window for the next call while another reads it.
"""

from dataclasses import dataclass

from warploom.synthesis.codegen import ctypes_of
from warploom.synthesis.codegen.collective_names import (
    IN_PARTS,
    MOVING,
    REDUCING,
    base_of,
)
from warploom.synthesis.codegen.draft import KernelDraft
from warploom.synthesis.codegen.graph import Node
from warploom.synthesis.codegen.refusal import BeyondRulesError
from warploom.synthesis.codegen.scope import MaterializeError, product
from warploom.synthesis.codegen.text import Kernel, global_text, indented, loop_lines

PEERS = "peers"
"""What the entry point calls the argument about the other ranks (`correctness/frame_ranks.py`)."""

_HELPERS = """// The elements of `rank`'s window that this rank may read.
template <typename Element>
static __device__ const Element* window_of(ncclWindow_t window, int rank) {
  return static_cast<const Element*>(ncclGetLsaPointer(window, 0, rank));
}

static __device__ void meet(const ncclDevComm& comm) {
  ncclLsaBarrierSession<ncclCoopCta> barrier(ncclCoopCta(), comm, ncclTeamTagLsa(), blockIdx.x);
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
}
"""


@dataclass(frozen=True, slots=True)
class CollectiveWriter:
    """Writes the kernel of a node that is a collective."""

    draft: KernelDraft

    def make(self) -> Kernel:
        """Return the kernel; its operand must lie in memory.

        Raises:
            MaterializeError: the operand does not yet.
        """
        draft, node = self.draft, self.draft.root
        source = draft.graph.node_of(node.args[0])
        assert source is not None
        if node.op in REDUCING and source.dtype == "bool":
            raise BeyondRulesError(f"{node.op} of truth values", line=node.line)
        if source.op != "input" and source.name not in draft.buffers:
            raise MaterializeError(source)
        ctype = ctypes_of.stored(node.dtype)
        pointer = draft.buffers.get(source.name, f"in_{source.name}")
        arguments = [
            f"const {ctype}* __restrict__ {pointer}", f"{ctype}* __restrict__ out",
            "const long long count", "const ncclWindow_t window", "const ncclDevComm comm",
        ]  # fmt: skip
        text = global_text(draft.name, arguments, draft.tuning.threads, self._lines(pointer))
        count, threads = self._count(source), draft.tuning.threads
        blocks = f"min(blocks_for({count}, {threads}), static_cast<unsigned>({PEERS}->barriers))"
        given = [pointer, draft.targets[node.name], count, f"{PEERS}->window", f"{PEERS}->comm"]
        launch = (
            f"if ({count} > 0) {draft.name}<<<{blocks}, {threads}, 0, stream>>>"
            f"({', '.join(given)});"
        )
        helpers = {"collective": _HELPERS}
        return Kernel("collective", node.name, text, launch, helpers, frozenset({source.name}))

    def _count(self, source: Node) -> str:
        """Return how many elements a part has: what a rank has for each, or all of it."""
        smaller = self.draft.root if self.draft.root.op in REDUCING else source
        count = product(smaller.sizes)
        return f"({count} / {PEERS}->ranks)" if self.draft.root.op == "all_to_all" else count

    def _lines(self, pointer: str) -> list[str]:
        node = self.draft.root
        base, ctype = base_of(node.op), ctypes_of.stored(node.dtype)
        first = "static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x"
        step = "static_cast<long long>(gridDim.x) * blockDim.x"
        put = [f"mine[i] = {pointer}[i];"]
        if node.op in IN_PARTS:
            put = [
                "for (int to = 0; to < comm.nRanks; ++to) "
                f"mine[to * count + i] = {pointer}[to * count + i];"
            ]
        staging = loop_lines("i", first, "count", step, put)
        if base == "broadcast":
            root = int(node.args[1])
            staging = [f"if (comm.rank == {root}) {{", *indented(staging), "}"]
        return [
            f"{ctype}* const mine = static_cast<{ctype}*>(ncclGetLocalPointer(window, 0));",
            *staging,
            "meet(comm);",
            *loop_lines("i", first, "count", step, self._taken(node, ctype)),
            "meet(comm);  // the others have read this window",
        ]

    def _taken(self, node: Node, ctype: str) -> list[str]:
        """Return what is done with the elements at place `i` of the ranks."""
        base = base_of(node.op)
        if base == "broadcast":
            return [f"out[i] = window_of<{ctype}>(window, {int(node.args[1])})[i];"]
        at = "comm.rank * count + i" if node.op in IN_PARTS else "i"
        if node.op in MOVING:
            return [
                "for (int from = 0; from < comm.nRanks; ++from)",
                f"  out[from * count + i] = window_of<{ctype}>(window, from)[{at}];",
            ]
        computed = ctypes_of.computed(node.dtype)
        value = f"window_of<{ctype}>(window, {{rank}})[{at}]"
        loaded = ctypes_of.load(node.dtype, value.format(rank="from"))
        start = ctypes_of.load(node.dtype, value.format(rank="0"))
        kind = node.op.rpartition("_")[2]
        combined = {
            "sum": "total + value", "max": "total < value ? value : total",
            "min": "value < total ? value : total",
        }[kind]  # fmt: skip
        return [
            f"{computed} total = {start};",
            "for (int from = 1; from < comm.nRanks; ++from) {",
            f"  const {computed} value = {loaded};",
            f"  total = static_cast<{computed}>({combined});",
            "}",
            f"out[i] = {ctypes_of.store(node.dtype, 'total')};",
        ]
