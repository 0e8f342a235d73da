"""The parts of the analyzer; use `warploom.source.CUDAAnalyzer`."""
