"""CUDA text as data: parse, analyze, evolve regions, edits."""

from warploom.source.analyzer import CUDAAnalyzer
from warploom.source.edits import TextEdit, apply_edits, unified_diff
from warploom.source.report import AnalysisReport
from warploom.source.syntax import SourceFile, load_source, parse_source

__all__ = [
    "AnalysisReport",
    "CUDAAnalyzer",
    "SourceFile",
    "TextEdit",
    "apply_edits",
    "load_source",
    "parse_source",
    "unified_diff",
]
