"""CUDA text as data: parse, analyze, evolve regions, edits."""
