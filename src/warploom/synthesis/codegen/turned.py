"""Kernels of elements that are read across: a tile goes through shared memory, and turns there.

Neighbors of the output are far apart in an input whose dimensions stand in another order. Read
tile by tile, both are moved along their rows.
"""

from dataclasses import dataclass, field

from warploom.synthesis.codegen import ctypes_of
from warploom.synthesis.codegen.draft import KernelDraft
from warploom.synthesis.codegen.graph import Node
from warploom.synthesis.codegen.scope import Index, Scope, c_size, linear, product, split
from warploom.synthesis.codegen.text import Kernel, indented

_SIDE = 32
_THREADS = 256


@dataclass
class Turned:
    """The inputs whose rows go along another dimension than those of the output do.

    `names` are the index variables of the output; rows of these inputs go along `across`.
    """

    names: list[str]
    across: str = ""
    loads: dict[tuple[str, Index], tuple[str, Node, str]] = field(
        default_factory=dict[tuple[str, Index], tuple[str, Node, str]]
    )

    def element(self, node: Node, pointer: str, index: Index) -> str | None:
        """Return where an element lies in shared memory; None where it is read as usual."""
        real = [at for at, size in zip(index, node.sizes, strict=True) if size != "1"]
        if len(set(real)) < 2 or len(set(real)) < len(real) or not set(real) <= set(self.names):
            return None
        if real[-1] == self.names[-1] or self.names[-1] not in real:
            return None
        self.across = self.across or real[-1]
        if real[-1] != self.across:
            return None
        name = self.loads.setdefault((node.name, index), (f"tile{len(self.loads)}", node, pointer))
        return f"{name[0]}[lane][line + warp]"


class TurnedWriter:
    """Writes a kernel of which a block computes a tile of the output at a time."""

    def __init__(self, draft: KernelDraft) -> None:
        self.draft = draft
        self.names, self.sizes = draft.real()
        threads = draft.tuning.element_threads
        self.threads = threads if _SIDE % (threads // _SIDE) == 0 else _THREADS

    def make(self) -> Kernel | None:
        """Return the kernel; None where no input is read across."""
        draft, threads = self.draft, self.threads
        values = draft.values(draft.refuse)
        turned = values.turned = Turned(self.names)
        scope = Scope(frozenset(self.names))
        stores: list[str] = []
        for node in (draft.root, *draft.also):
            result = values.value(node, draft.index, scope)
            place = linear(draft.index, node.sizes)
            stores.append(
                f"{draft.pointer_to(node)}[{place}] = {ctypes_of.store(node.dtype, result)};"
            )
        if not turned.loads:
            return None
        across, down = self._tiles_along(turned.across), self._tiles_along(self.names[-1])
        others = [(n, s) for n, s in zip(self.names, self.sizes, strict=True)
                  if n not in (turned.across, self.names[-1])]  # fmt: skip
        count = f"({across}) * ({down})"
        rest: list[str] = []
        if others:
            count = f"{product(s for _, s in others)} * {count}"
            rest = ["const Index other = tile / (across * down);",
                    *split("other", [n for n, _ in others], [s for _, s in others])]  # fmt: skip
        lines = [
            *(f"__shared__ {ctypes_of.stored(node.dtype)} {name}[{_SIDE}][{_SIDE} + 1];"
              for name, node, _ in turned.loads.values()),
            f"const int lane = threadIdx.x % {_SIDE}, warp = threadIdx.x / {_SIDE};",
            f"const Index across = {across}, down = {down};",
            f"const Index tiles = {count};",
            "for (Index tile = blockIdx.x; tile < tiles; tile += gridDim.x) {",
            *indented(rest),
            f"  const Index left = tile / down % across * {_SIDE};",
            f"  const Index top = tile % down * {_SIDE};",
            "  // Along the rows of what is read.",
            *indented(self._lines(turned, "left + lane", "top + line + warp", [
                f"{name}[line + warp][lane] = {pointer}[{linear(index, node.sizes)}];"
                for (_, index), (name, node, pointer) in turned.loads.items()
            ])),
            "  __syncthreads();",
            "  // Along the rows of what is written.",
            *indented(self._lines(turned, "left + line + warp", "top + lane",
                                  [*scope.lines, *stores])),
            "  __syncthreads();",
            "}",
        ]  # fmt: skip
        text = draft.kernel(values, threads, lines)
        return draft.done("elements", text, values, count, f"blocks_for({count}, 1)", threads)

    def _tiles_along(self, name: str) -> str:
        size = c_size(self.sizes[self.names.index(name)])
        return f"({size} + {_SIDE - 1}) / {_SIDE}"

    def _lines(self, turned: Turned, across: str, down: str, body: list[str]) -> list[str]:
        """Return the loop in which the warps of a block share the lines of a tile out."""
        last = self.names[-1]
        bounds = [
            f"{name} < {c_size(self.sizes[self.names.index(name)])}"
            for name in (turned.across, last)
        ]
        return [
            "#pragma unroll",
            f"for (int line = 0; line < {_SIDE}; line += {self.threads // _SIDE}) {{",
            f"  const Index {turned.across} = {across}, {last} = {down};",
            f"  if ({' && '.join(bounds)}) {{",
            *indented(indented(body)),
            "  }",
            "}",
        ]
