"""What the forms of a kernel share: the node that it fills, its parameters, its launch."""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from warploom.synthesis.codegen import ctypes_of
from warploom.synthesis.codegen.graph import Graph, Node
from warploom.synthesis.codegen.groups import ONCE, once
from warploom.synthesis.codegen.layouts import LAYOUTS
from warploom.synthesis.codegen.parameters import TuningParameters
from warploom.synthesis.codegen.scope import Index, MaterializeError, Scope
from warploom.synthesis.codegen.text import Kernel, global_text, launch_text
from warploom.synthesis.codegen.values import Reached, Values

_WORD = re.compile(r"\b[A-Za-z_]\w*")
_NOTHING: Mapping[str, str] = MappingProxyType({})


class KernelDraft:
    """A kernel that fills the buffer of `root`, and those of the nodes `also`."""

    def __init__(
        self,
        graph: Graph,
        buffers: dict[str, str],
        root: Node,
        name: str,
        tuning: TuningParameters,
        also: tuple[Node, ...] = (),
    ) -> None:
        self.graph = graph
        self.targets = buffers
        self.buffers = {n: b for n, b in buffers.items() if n not in {a.name for a in also}}
        self.root = root
        self.also = also
        self.name = name
        self.tuning = tuning
        self.helpers: dict[str, str] = {}
        self.index: Index = tuple(
            "0" if size == "1" else f"i{at}" for at, size in enumerate(root.sizes)
        )

    def values(self, reached: Reached) -> Values:
        """Return what computes values of nodes here; `reached` as `Values` has it."""
        return Values(self.graph, self.buffers, self.root, reached, LAYOUTS)

    def index_of(self, node: Node) -> Index:
        """Return the index at which a node is stored beside the root.

        Raises MaterializeError where their shapes do not go together.
        """
        pairs = list(zip(node.sizes, self.root.sizes, strict=False))
        if len(node.sizes) != len(self.root.sizes) or any(a not in ("1", b) for a, b in pairs):
            raise MaterializeError(node)
        return tuple(
            "0" if size == "1" else at for at, size in zip(self.index, node.sizes, strict=True)
        )

    def pointer_to(self, node: Node) -> str:
        """Return the name of the parameter that points to where a node is stored."""
        return "out" if node is self.root else f"out_{node.name}"

    def refuse(self, node: Node, index: Index, scope: Scope, guard: str) -> str:
        """Say that a reduction, a product or a scan must lie in memory."""
        del index, scope, guard
        raise MaterializeError(node)

    def real(self) -> tuple[list[str], list[str]]:
        """Return the index variables of the root and their sizes."""
        pairs = [(n, s) for n, s in zip(self.index, self.root.sizes, strict=True) if s != "1"]
        return [n for n, _ in pairs], [s for _, s in pairs]

    def kernel(
        self,
        values: Values,
        threads: int,
        lines: list[str],
        blocks: int = 1,
        *,
        narrows: bool = True,
        more: Sequence[str] = (),
    ) -> str:
        """Return the text of a kernel around its statements.

        `more` are parameters behind the others; the rest as `global_text` has it.
        """
        outs = [
            f"{ctypes_of.stored(node.dtype)}* __restrict__ {self.pointer_to(node)}"
            for node in (self.root, *self.also)
        ]
        arguments = [*self.arguments(values, outs), *more]
        return global_text(self.name, arguments, threads, lines, blocks, narrows=narrows)

    def streamed(self, values: Values, lines: list[str]) -> list[str]:
        """Return statements of one loop, with what only they read as a stream."""
        read = {values.pointer(node): node for node in values.reads.values()}
        made = once(lines, read, self.graph.uses)
        if made != lines:
            self.helpers |= ONCE
        return made

    def arguments(self, values: Values, outs: list[str]) -> list[str]:
        """Return the parameters of a kernel: what it reads, `outs`, and the sizes."""
        read = [
            f"const {ctypes_of.stored(node.dtype)}* __restrict__ {values.pointer(node)}"
            for node in values.reads.values()
        ]
        return [*read, *outs, *(f"const Index {s.name}" for s in self.graph.symbols)]

    def given(self, values: Values, outs: list[str]) -> list[str]:
        """Return what a kernel is launched with."""
        read = [values.pointer(node) for node in values.reads.values()]
        return [*read, *outs, *(s.name for s in self.graph.symbols)]

    def done(
        self, form: str, text: str, values: Values, count: str, blocks: str, threads: int | str,
        more: Mapping[str, str] = _NOTHING,
    ) -> Kernel:  # fmt: skip
        """Return the kernel with its launch.

        `more` is what the host finds out for parameters behind the others, in the kernel's words.
        """
        nodes = (self.root, *self.also)
        target = {self.pointer_to(node): self.targets[node.name] for node in nodes}
        found: list[str] = []
        given = self.given(values, list(target.values()))
        for name, expression in more.items():
            given.append(f"{name}_{self.root.name}")
            there = _WORD.sub(lambda word: target.get(word[0], word[0]), expression)
            found.append(f"const long long {given[-1]} = {there};")
        launch = launch_text(self.name, blocks, threads, given, text)
        if not blocks.startswith("blocks_for("):  # that is one at least, and its loops end at once
            launch = f"if ({count} > 0) {launch}"
        launch = "\n  ".join([*found, launch])
        return Kernel(form, self.root.name, text, launch, self.helpers, frozenset(values.reads))
