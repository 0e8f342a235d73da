"""The sum of each row."""

import torch


def reference(x):
    return x.sum(-1)


def example_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(37, 129, generator=g),)
