"""Kernels written and mended by language models: nothing that they say is believed."""

from warploom.synthesize.models.writer import ModelWriter, WrittenKernel

__all__ = ["ModelWriter", "WrittenKernel"]
