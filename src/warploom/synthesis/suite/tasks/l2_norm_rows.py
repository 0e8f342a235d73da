"""Rows of unit length."""

import torch


def reference(x):
    return x / torch.sqrt((x * x).sum(-1, keepdim=True) + 1e-12)


def example_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(29, 71, generator=g),)
