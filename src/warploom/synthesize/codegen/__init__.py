"""CUDA for traced graphs by rules: fused, tiled, with parameters to tune. Needs no model."""

from warploom.synthesize.codegen.graph import Graph, Node, graph_from
from warploom.synthesize.codegen.parameters import TuningParameters
from warploom.synthesize.codegen.program import Generated, generate
from warploom.synthesize.codegen.refusal import BeyondRulesError

__all__ = [
    "BeyondRulesError",
    "Generated",
    "Graph",
    "Node",
    "TuningParameters",
    "generate",
    "graph_from",
]
