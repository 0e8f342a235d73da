"""The variance of each row."""

import torch


def reference(x):
    return x.var(-1)


def example_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(21, 67, generator=g),)
