"""Reductions of everything: blocks reduce parts of it, and one block then joins these."""

from warploom.synthesis.codegen import ctypes_of
from warploom.synthesis.codegen.draft import KernelDraft
from warploom.synthesis.codegen.graph import Node
from warploom.synthesis.codegen.groups import HELPERS, Wide
from warploom.synthesis.codegen.reductions import Reduction, reduction_of
from warploom.synthesis.codegen.row_writer import RowWriter
from warploom.synthesis.codegen.scope import Index, Scope
from warploom.synthesis.codegen.text import Kernel, global_text, indented
from warploom.synthesis.codegen.values import Values

_MOST_PARTS = 1024
_UNDER_WAY = 8  # groups of each thread


class WholeWriter:
    """Writes the two kernels that reduce a whole tensor to one number."""

    def __init__(self, draft: KernelDraft, node: Node, index: Index) -> None:
        self.draft = draft
        self.node = node
        self.index = index

    def make(self) -> Kernel | None:
        """Return the kernels; None where there is more than one reduction, or no single number."""
        source = self.draft.graph.node_of(self.node.args[0])
        assert source is not None
        kind = reduction_of(self.node, source)
        wide = Wide(1)
        made = self._parts(kind, wide)
        if made is None:
            return None
        width = wide.widest(self.draft.tuning.vector_bytes) if wide.pointers else 1
        made = self._parts(kind, Wide(width) if width > 1 else None)
        assert made is not None
        return self._joined(kind, *made, width)

    def _parts(self, kind: Reduction, wide: Wide | None) -> tuple[str, Values, str] | None:
        """Return the kernel of the parts, what it reads, and how many elements there are."""
        draft = self.draft
        writer = RowWriter(draft, frozenset(), wide)
        writer.first, writer.step, writer.under_way = "own", "everyone", _UNDER_WAY
        values = draft.values(writer.reached)
        writer.values = values
        result = writer.reached(self.node, self.index, writer.scope, "")
        if kind.places or writer.count != 1:
            return None
        lines = [
            "const long long everyone = static_cast<long long>(gridDim.x) * blockDim.x;",
            "const long long own = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;",
            *writer.lines,
            f"if (threadIdx.x == 0) parts[blockIdx.x] = {result};",
        ]
        if wide is not None and wide.width > 1 and wide.pointers:
            draft.helpers |= HELPERS
            lines = [wide.test, *draft.streamed(values, lines)]
        outs = [f"{kind.ctype}* __restrict__ parts"]
        arguments = draft.arguments(values, outs)
        text = global_text(f"{draft.name}_parts", arguments, draft.tuning.threads, lines)
        return text, values, writer.longest

    def _joined(
        self, kind: Reduction, parts: str, read: Values, longest: str, width: int
    ) -> Kernel:
        """Return both kernels: the second joins what the first has made."""
        draft, threads = self.draft, self.draft.tuning.threads

        def reached(node: Node, index: Index, scope: Scope, guard: str) -> str:
            del scope, guard
            if node is not self.node or index != self.index:
                raise AssertionError(f"{node.name} is reduced beside {self.node.name}")
            return "r0"

        values = draft.values(reached)
        scope = Scope(frozenset())
        result = values.value(draft.root, draft.index, scope)
        stored = ctypes_of.store(draft.root.dtype, result)
        lines = [
            f"{kind.ctype} s0 = {kind.first};",
            "for (int part = threadIdx.x; part < count; part += blockDim.x) {",
            f"  s0 = {kind.join.format(a='s0', b='parts[part]')};",
            "}",
            f"const {kind.ctype} r0 = {kind.helper}(s0);",
            "if (threadIdx.x == 0) {",
            *indented([*scope.lines, f"out[0] = {stored};"]),
            "}",
        ]
        outs = [
            f"const {kind.ctype}* __restrict__ parts", "const int count",
            f"{ctypes_of.stored(draft.root.dtype)}* __restrict__ out",
        ]  # fmt: skip
        joining = global_text(draft.name, draft.arguments(values, outs), threads, lines)
        name, count = f"parts_{draft.root.name}", f"count_{draft.root.name}"
        each = threads * width * draft.tuning.turns
        launch = [
            f"const int {count} = min(static_cast<int>(blocks_for({longest}, {each})), "
            f"{_MOST_PARTS});",
            f"{kind.ctype}* {name} = nullptr;",
            f"if (cudaMallocAsync(reinterpret_cast<void**>(&{name}), "
            f"{count} * sizeof({kind.ctype}), stream) != cudaSuccess) return 1;",
            f"{draft.name}_parts<<<{count}, {threads}, 0, stream>>>"
            f"({', '.join(draft.given(read, [name]))});",
            f"{draft.name}<<<1, {threads}, 0, stream>>>"
            f"({', '.join(draft.given(values, [name, count, draft.targets[draft.root.name]]))});",
            f"cudaFreeAsync({name}, stream);",
        ]
        reads = frozenset(read.reads) | frozenset(values.reads)
        text = f"{parts}\n{joining}"
        return Kernel("rows", draft.root.name, text, "\n  ".join(launch), draft.helpers, reads)
