"""Running sums that leave out the element itself."""

import torch


def reference(x):
    return x.cumsum(-1) - x


def example_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(7, 77, generator=g),)
