"""Scale and round to 8-bit floating point."""

import torch


def reference(x, scale):
    return (x * scale).to(torch.float8_e4m3fn)


def example_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(21, 35, generator=g), torch.rand(1, generator=g) + 0.5)
