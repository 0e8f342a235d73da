"""From a graph to one CUDA file: which nodes lie in memory, their kernels, and the entry point."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from warploom.synthesis.codegen import ctypes_of
from warploom.synthesis.codegen.collective_names import COLLECTIVES
from warploom.synthesis.codegen.collectives import PEERS
from warploom.synthesis.codegen.graph import Graph, Node, words_of_sizes
from warploom.synthesis.codegen.kernels import KernelMaker
from warploom.synthesis.codegen.parameters import TuningParameters
from warploom.synthesis.codegen.refusal import BeyondRulesError
from warploom.synthesis.codegen.scope import MaterializeError, product
from warploom.synthesis.codegen.text import NARROW, Kernel, narrow_lines

_MOST_KERNELS = 64
_OF_SIZES = {
    name: f"static __host__ __device__ long long {name}(long long a, long long b) {{\n"
    f"  return a {sign} b ? a : b;\n}}\n"
    for name, sign in (("larger_of", ">"), ("smaller_of", "<"))
}
_BLOCKS = """static unsigned blocks_for(long long count, long long each) {
  const long long blocks = (count + each - 1) / each;
  return static_cast<unsigned>(max(1LL, min(blocks, 65535LL)));
}
"""
_THREADS = """// Threads of a block for one of `rows`: one for each `each` elements, `most` at
// most. More where `again` bytes of it are read again, so that the rows under way stay in the cache
// of a multiprocessor, and where rows are too few to fill the GPU: up to the kernel's `limit`.
static unsigned threads_for(long long length, long long each, long long most, long long limit,
                            long long again, long long rows) {
  const long long warps = (length + 32 * each - 1) / (32 * each);
  const long long wanted = max(most, max(again / 64, 262144 / max(rows, 1LL)));
  const long long held = min(wanted, limit);
  return static_cast<unsigned>(32 * max(1LL, min(warps, held / 32)));
}
"""


@dataclass(frozen=True, slots=True)
class Generated:
    """CUDA text for a graph: `text` holds the kernels and `warploom_forward`, no includes."""

    text: str
    kernels: tuple[Kernel, ...]
    parameters: TuningParameters

    @property
    def forms(self) -> tuple[str, ...]:
        """What kinds of kernel there are: elements, rows, product, scan."""
        return tuple(kernel.form for kernel in self.kernels)


def generate(graph: Graph, tuning: TuningParameters | None = None) -> Generated:
    """Return kernels for a graph.

    Raises:
        BeyondRulesError: an operation has no code; the error names it and its line.
    """
    tuning = tuning or TuningParameters()
    for node in graph.by_name.values():
        if node.dtype and not ctypes_of.is_known(node.dtype):
            raise BeyondRulesError(f"{node.op} of the type {node.dtype}", line=node.line)
        if words_of_sizes(node) - {symbol.name for symbol in graph.symbols}:
            what = f"{node.op} with a number that only a tensor holds, as item() returns it"
            raise BeyondRulesError(what, line=node.line)
    outputs = {f"out{at}": graph.by_name[name] for at, name in enumerate(graph.outputs)}
    first: dict[str, str] = {}
    copies: dict[str, Node] = {}
    for buffer, node in outputs.items():
        if node.name in first or node.op == "input":
            copies[buffer] = node
        else:
            first[node.name] = buffer
    stored = dict(first)
    while True:
        try:
            kernels = _kernels(graph, stored, tuning)
            break
        except MaterializeError as wanted:
            if wanted.node.name in stored or len(stored) > _MOST_KERNELS:
                node = wanted.node
                raise BeyondRulesError(f"{node.op} where it stands", line=node.line) from None
            stored[wanted.node.name] = f"tmp_{wanted.node.name}"
    kernels = _joined(graph, stored, kernels, tuning)
    kernels += [_copy(graph, buffer, node, stored, tuning) for buffer, node in copies.items()]
    return Generated(_file(graph, stored, kernels, first), tuple(kernels), tuning)


def _kernels(graph: Graph, stored: Mapping[str, str], tuning: TuningParameters) -> list[Kernel]:
    made: list[Kernel] = []
    for name in sorted(stored, key=graph.order.__getitem__):
        node = graph.by_name[name]
        maker = KernelMaker(graph, dict(stored), node, f"kernel_{len(made)}_{node.op}", tuning)
        made.append(maker.make())
    return made


def _joined(
    graph: Graph, stored: Mapping[str, str], kernels: list[Kernel], tuning: TuningParameters
) -> list[Kernel]:
    """Let one kernel store several nodes where it can: what they need is read once then."""
    left = {kernel.root: kernel for kernel in kernels}
    for number, root in reversed(list(enumerate([kernel.root for kernel in kernels]))):
        also: tuple[Node, ...] = ()
        for other in reversed(list(left)):
            if root not in left or not _may_join(left[root], left[other], left.values()):
                continue
            wanted = (*also, graph.by_name[other])
            node = graph.by_name[root]
            name = f"kernel_{number}_{node.op}"
            maker = KernelMaker(graph, dict(stored), node, name, tuning, wanted)
            try:
                left[root] = maker.make()
            except MaterializeError:  # they stay apart
                continue
            also = wanted
            del left[other]
    return list(left.values())


def _may_join(kernel: Kernel, other: Kernel, kernels: Iterable[Kernel]) -> bool:
    """Whether a kernel may store what another one does: they share what they read.

    What the other one reads must be there by then, and nobody may read it before.
    """
    if other is kernel or kernel.form not in ("rows", "elements"):
        return False
    order = [one.root for one in kernels]
    readers = [one.root for one in kernels if other.root in one.reads]
    late = all(order.index(root) >= order.index(kernel.root) for root in readers)
    early = all(order.index(n) < order.index(kernel.root) for n in other.reads if n in order)
    shared = other.root in kernel.reads or bool(other.reads & kernel.reads)
    return late and early and shared and kernel.root not in other.reads


def _copy(
    graph: Graph, buffer: str, node: Node, stored: Mapping[str, str], tuning: TuningParameters
) -> Kernel:
    """Return the kernel for an output that is an input, or another output once more."""
    again = Node(f"{node.name}_{buffer}", "clone", ({"node": node.name},), {}, node.shape,
                 node.dtype, node.line)  # fmt: skip
    wider = Graph(graph.inputs, (*graph.nodes, again), graph.outputs, graph.symbols)
    buffers = {**stored, again.name: buffer}
    return KernelMaker(wider, buffers, again, f"kernel_copy_{buffer}", tuning).make()


def _file(
    graph: Graph, stored: Mapping[str, str], kernels: list[Kernel], outputs: Mapping[str, str]
) -> str:
    helpers = {name: text for kernel in kernels for name, text in kernel.helpers.items()}
    parts = [*helpers.values(), *(kernel.text for kernel in kernels), _BLOCKS]
    if any("threads_for(" in kernel.launch for kernel in kernels):
        parts.append(_THREADS)
    text = "\n".join([*parts, _entry(graph, stored, kernels, outputs)])
    sizes = [made for name, made in _OF_SIZES.items() if f"{name}(" in text]
    return "\n".join([*sizes, text])


def _entry(
    graph: Graph, stored: Mapping[str, str], kernels: list[Kernel], outputs: Mapping[str, str]
) -> str:
    lines = ["const cudaStream_t stream = static_cast<cudaStream_t>(stream_handle);"]
    if not graph.symbols:
        lines.append("(void)sizes;")
    lines += [f"const long long {s.name} = sizes[{at}];" for at, s in enumerate(graph.symbols)]
    for at, node in enumerate(graph.inputs):
        ctype = ctypes_of.stored(node.dtype)
        lines.append(f"const {ctype}* in_{node.name} = static_cast<const {ctype}*>(inputs[{at}]);")
        lines.append(f"(void)in_{node.name};")
    for at, name in enumerate(graph.outputs):
        ctype = ctypes_of.stored(graph.by_name[name].dtype)
        lines.append(f"{ctype}* out{at} = static_cast<{ctype}*>(outputs[{at}]);")
    scratch = [(name, buffer) for name, buffer in stored.items() if name not in outputs]
    for name, buffer in scratch:
        node = graph.by_name[name]
        ctype = ctypes_of.stored(node.dtype)
        size = f"({product(node.sizes)} + 1) * sizeof({ctype})"
        lines += [
            f"{ctype}* {buffer} = nullptr;",
            f"if (cudaMallocAsync(reinterpret_cast<void**>(&{buffer}), {size}, stream) != "
            "cudaSuccess) return 1;",
        ]
    if any(NARROW in kernel.launch for kernel in kernels):
        lines += narrow_lines(dict.fromkeys(product(n.sizes) for n in graph.by_name.values()))
    lines += [kernel.launch for kernel in kernels]
    lines += [f"cudaFreeAsync({buffer}, stream);" for _, buffer in scratch]
    lines.append("return cudaGetLastError() == cudaSuccess ? 0 : 2;")
    body = "\n".join(f"  {line}" for line in lines)
    several = any(node.op in COLLECTIVES for node in graph.nodes)
    more = f"const KernelRanks* {PEERS}, " if several else ""
    return (
        'extern "C" int warploom_forward(void* const* inputs, void* const* outputs,\n'
        f"                                const long long* sizes, {more}void* stream_handle) {{\n"
        f"{body}\n}}\n"
    )
