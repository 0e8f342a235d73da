"""The sum of everything."""

import torch


def reference(x):
    return x.sum()


def example_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(31, 57, generator=g),)
