"""Quantize rows to 8 bits, with a scale for each."""

import torch


def reference(x):
    scale = x.abs().amax(-1, keepdim=True).clamp(min=1e-8) / 127.0
    return torch.round(x / scale).clamp(-127, 127).to(torch.int8), scale


def example_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(17, 53, generator=g),)
