"""Running sums along rows."""

import torch


def reference(x):
    return x.cumsum(-1)


def example_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(19, 301, generator=g),)
