"""Running products along columns."""

import torch


def reference(x):
    return torch.cumprod(x, dim=0)


def example_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (1 + 0.1 * torch.randn(21, 13, generator=g),)
