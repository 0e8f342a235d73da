"""The place of the least of each column."""

import torch


def reference(x):
    return x.argmin(0)


def example_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(45, 19, generator=g),)
