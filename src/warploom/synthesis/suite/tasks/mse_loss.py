"""The mean squared error of two tensors."""

import torch


def reference(x, y):
    return ((x - y) ** 2).mean()


def example_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(33, 29, generator=g), torch.randn(33, 29, generator=g))
