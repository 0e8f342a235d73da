"""A discrete Fourier transform (beyond the rules)."""

import torch


def reference(x):
    return torch.fft.rfft(x, dim=-1).abs()


def example_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(5, 32, generator=g),)
