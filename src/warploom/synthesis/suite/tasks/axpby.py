"""A weighted sum of two tensors."""

import torch


def reference(x, y):
    return 1.5 * x - 0.25 * y


def example_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(19, 37, generator=g), torch.randn(19, 37, generator=g))
