"""Derives what a kernel must do from the trace of its reference."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from warploom.core.errors import BadInputError
from warploom.synthesis.codegen.collective_names import REDUCING
from warploom.synthesis.codegen.graph import Graph, Node, graph_from, renamed_arguments
from warploom.synthesis.codegen.reductions import dims_of
from warploom.synthesis.codegen.refusal import BeyondRulesError
from warploom.synthesis.codegen.values import PRODUCTS, REDUCTIONS, SCANS
from warploom.synthesis.correctness.compare import exactness_of, tolerance_for
from warploom.synthesis.correctness.expectations import agreement
from warploom.synthesis.interview.conditions import conditions_of
from warploom.synthesis.interview.several import (
    collective_of,
    divided,
    window_of,
    without_copies,
)
from warploom.synthesis.records import KernelSpec, PrecisionTolerance, SymbolArg, TensorArg
from warploom.synthesis.reference.client import ReferenceProcess
from warploom.synthesis.sizes import named_in, size_value

_CARRIERS = frozenset({"view", "_to_copy", "clone", "unsqueeze", "expand", "squeeze", "permute",
                       "slice", "where", "alias"})  # fmt: skip


@dataclass(frozen=True)
class Interview:
    """A specification, and the graph that it was derived from."""

    spec: KernelSpec
    graph: Graph
    torch: str


def interview(
    reference: ReferenceProcess, prompt: str, target: str, seeds: Sequence[int]
) -> Interview:
    """Trace the reference of a process and return what a kernel for it must do.

    Raises:
        SourceError: the reference breaks a rule or cannot be traced.
    """
    loaded = reference.load(seeds)
    trace = reference.trace()
    graph = named_graph(trace, loaded["inputs"])
    ranks = reference.ranks
    graph = without_copies(graph) if ranks > 1 else graph
    _check_sizes(graph)
    collective = collective_of(graph, ranks) if ranks > 1 else None
    tensors = [(at, e) for at, e in enumerate(loaded["inputs"]) if "shape" in e]
    inputs = _inputs(reference, graph, [at for at, _ in tensors])
    outputs = tuple(
        TensorArg(f"out{at}", graph.by_name[name].sizes, graph.by_name[name].dtype)
        for at, name in enumerate(graph.outputs)
    )
    shapes = [entry["shape"] for _, entry in tensors]
    symbols = tuple(
        SymbolArg(s.name, s.input, s.dim, shapes[s.input][s.dim], _multiple(graph, s.name))
        for s in graph.symbols
    )
    if collective is not None:
        symbols = divided(symbols, graph, collective, ranks)
    example = {symbol.name: symbol.example for symbol in symbols}
    lengths = list(dict.fromkeys(_reductions(graph)))
    longest = max(lengths, key=lambda length: size_value(length, example), default="1")
    text = f"max({', '.join(lengths)})" if len(lengths) > 1 else longest
    if collective is not None and collective.op in REDUCING:
        text = f"({text}*{ranks})"
    operations = tuple(dict.fromkeys(node.op for node in graph.nodes))
    tolerances = _tolerances(operations, inputs, outputs, text)
    spec = KernelSpec(
        name=_name(reference, prompt),
        prompt=prompt,
        target=target,
        inputs=inputs,
        outputs=outputs,
        symbols=symbols,
        tolerances=tolerances,
        operations=operations,
        calls=tuple(trace["calls"]),
        reduced=named_in(" ".join(lengths), [s.name for s in symbols]),
        longest=longest,
        constants={e["name"]: e["scalar"] for e in loaded["inputs"]
                   if isinstance(e.get("scalar"), int | float)},
        ranks=ranks,
        window="0" if collective is None else window_of(graph, collective),
        notes=(f"traced by PyTorch {loaded['torch']}",),
    )  # fmt: skip
    check_prompt(spec)
    conditions = conditions_of(
        example, graph.guards, lambda sizes: agreement(spec, sizes, reference)
    )
    spec = replace(spec, conditions=conditions)
    return Interview(spec, graph, loaded["torch"])


def _tolerances(
    operations: Sequence[str], inputs: Sequence[TensorArg], outputs: Sequence[TensorArg], text: str
) -> tuple[PrecisionTolerance, ...]:
    """Return the outputs' tolerances; `text` is the length of the longest reduction."""
    computed = "float64" if any(t.dtype == "float64" for t in inputs) else "float32"
    types = [tensor.dtype for tensor in inputs]
    return tuple(
        tolerance_for(t.dtype, computed, text, exactness_of(operations, types, t.dtype))
        for t in outputs
    )


def _inputs(
    reference: ReferenceProcess, graph: Graph, places: Sequence[int]
) -> tuple[TensorArg, ...]:
    """Return the inputs with the values that they may have; `places` are theirs among arguments."""
    indices = _indices(graph)
    pairs = list(zip(graph.inputs, places, strict=True))
    compared = _compared(graph)
    domains = reference.domains(
        {at: indices[n.name] for n, at in pairs if n.name in indices},
        {at: compared[n.name] for n, at in pairs if n.name in indices and n.name in compared},
    )
    found: list[TensorArg] = []
    for node, at in pairs:
        of = domains[str(at)]
        found.append(
            TensorArg(
                node.name, node.sizes, node.dtype, of["low"], of["high"], of["index_of"],
                tuple(of["besides"]),
            )
        )  # fmt: skip
    return tuple(found)


def _check_sizes(graph: Graph) -> None:
    """Refuse sizes that depend on the values of tensors.

    Raises:
        BeyondRulesError: names the operation and its line.
    """
    for node in graph.nodes:
        if any(re.search(r"\b[a-z]*u\d+\b", size) for size in node.sizes):
            raise BeyondRulesError(
                f"{node.op}, whose size depends on the values of its input", line=node.line
            )


def named_graph(trace: Mapping[str, Any], entries: Sequence[Mapping[str, Any]]) -> Graph:
    """Return the traced graph, its inputs called as the reference calls them."""
    graph = graph_from(trace)
    tensors = [entry["name"] for entry in entries if "shape" in entry]
    names = {node.name: name for node, name in zip(graph.inputs, tensors, strict=True)}

    def name_of(name: str) -> str:
        return names.get(name, f"n_{name}")

    def again(node: Node) -> Node:
        args, kwargs = renamed_arguments(node.args, node.kwargs, name_of)
        return replace(node, name=name_of(node.name), args=args, kwargs=kwargs)

    return Graph(
        tuple(map(again, graph.inputs)), tuple(map(again, graph.nodes)),
        tuple(map(name_of, graph.outputs)), graph.symbols, graph.guards,
    )  # fmt: skip


def _indices(graph: Graph) -> dict[str, str]:
    """Return the integer inputs that are indices, each with the size that it counts below."""
    found: dict[str, str] = {}

    def mark(argument: Any, size: str) -> None:
        node = graph.node_of(argument)
        if node is None:
            return
        if node.op == "input":
            if node.dtype in ("int32", "int64"):
                found.setdefault(node.name, size)
        elif node.op in _CARRIERS:
            for inner in node.args:
                mark(inner, size)

    for node in graph.nodes:
        source = graph.node_of(node.args[0]) if node.args else None
        if source is None:
            continue
        if node.op == "embedding":
            mark(node.args[1], source.sizes[0])
        elif node.op == "gather":
            mark(node.args[2], source.sizes[int(node.args[1]) % len(source.sizes)])
        elif node.op == "index":
            for dim, item in enumerate(node.args[1]):
                mark(item, source.sizes[dim])
    return found


def _compared(graph: Graph) -> dict[str, list[int]]:
    """Return the negative numbers that inputs are compared with: places that count nothing."""
    found: dict[str, list[int]] = {}
    for node in graph.nodes:
        source = graph.node_of(node.args[0]) if node.op in ("eq", "ne") else None
        word = node.args[1] if len(node.args) > 1 else None
        if source is not None and source.op == "input" and type(word) is int and word < 0:
            known = found.setdefault(source.name, [])
            known += [word] if word not in known else []
    return found


def _multiple(graph: Graph, symbol: str) -> int:
    """Return the least number that all divisors of a size divide."""
    texts = (size for node in graph.nodes for size in node.sizes)
    own = [text for text in texts if named_in(text, [symbol])]
    return math.lcm(*(int(found) for text in own for found in re.findall(r"//(\d+)", text)))


def _reductions(graph: Graph) -> Iterator[str]:
    """Yield the length of each reduction, scan and product, as text."""
    for node in graph.nodes:
        source = graph.node_of(node.args[0]) if node.args else None
        if source is None or not source.sizes:
            continue
        if node.op in REDUCTIONS:
            yield "*".join(source.sizes[d] for d in dims_of(node, len(source.sizes))) or "1"
        elif node.op in SCANS:
            yield source.sizes[int(node.args[1])]
        elif node.op in PRODUCTS:
            yield source.sizes[-1]


def _name(reference: ReferenceProcess, prompt: str) -> str:
    words = reference.name or reference.file.stem or prompt
    return re.sub(r"\W+", "_", words).strip("_").lower() or "kernel"


_TYPES = {
    "fp16": "float16", "float16": "float16", "bf16": "bfloat16", "bfloat16": "bfloat16",
    "fp64": "float64", "float64": "float64", "int8": "int8", "fp8": "float8_e4m3fn",
}  # fmt: skip


def check_prompt(spec: KernelSpec) -> None:
    """Refuse a prompt that asks for a type which the reference has nowhere.

    Raises:
        BadInputError: the prompt contradicts the reference.
    """
    types = {tensor.dtype for tensor in (*spec.inputs, *spec.outputs)}
    for word in re.findall(r"[a-z]+\d+", spec.prompt.lower()):
        wanted = _TYPES.get(word)
        if wanted is not None and wanted not in types:
            raise BadInputError(
                f"the prompt asks for {word}, but the reference computes with "
                f"{', '.join(sorted(types))}",
                hint="what is right is what the reference does: change it, or the prompt",
            )
