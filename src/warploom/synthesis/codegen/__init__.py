"""CUDA for traced graphs by rules: fused, tiled, with parameters to tune. Needs no model."""

from warploom.synthesis.codegen.graph import Graph, Node, graph_from
from warploom.synthesis.codegen.parameters import TuningParameters
from warploom.synthesis.codegen.program import Generated, generate
from warploom.synthesis.codegen.refusal import BeyondRulesError

__all__ = [
    "BeyondRulesError",
    "Generated",
    "Graph",
    "Node",
    "TuningParameters",
    "generate",
    "graph_from",
]
