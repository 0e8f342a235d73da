"""Kernels written and mended by language models: nothing that they say is believed."""

from warploom.synthesis.models.writer import ModelWriter, WrittenKernel

__all__ = ["ModelWriter", "WrittenKernel"]
