"""Add a bias to each row, then GELU."""

import torch


def reference(x, bias):
    return torch.nn.functional.gelu(x + bias)


def example_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(33, 65, generator=g), torch.randn(65, generator=g))
